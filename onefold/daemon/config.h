#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/daemon/secret.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/fields.h"

namespace onefold {

/// A place in a configuration. Lines and columns count from 1; 0 means the file as a whole.
struct ConfigPlace {
  std::string file = {};  ///< As it was named, or an environment variable; empty: all of it.
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const ConfigPlace&) const = default;
};

/// "onefold.toml:12:3", or the file alone as a whole; `otherwise` is for a place without a file.
std::string to_string(const ConfigPlace& place, const std::string& otherwise);

/// Something a person has to change before the program can start.
struct ConfigProblem {
  ConfigPlace place;
  std::string text;
  std::string hint;  ///< What to do about it; may be empty.
};

/// A named parameter of a handler's statements, taken from the event's data.
struct ParameterConfig {
  std::string name = {};
  std::string at = {};  ///< JSON Pointer.
  FieldType type = FieldType::text;
  bool required = true;  ///< Otherwise missing or null becomes SQL NULL.
};

struct StatementConfig {
  std::string sql;
  std::vector<std::string> parameters;  ///< Those that it uses, without the colon.
  std::optional<std::int64_t> expect_rows;
  ConfigPlace place;
  /// The names of the columns that it returns with RETURNING; empty for one without a name.
  std::vector<std::string> returning = {};
};

/// One member of the JSON object that is kept as evidence of a handler's effect.
struct ResultField {
  std::string name = {};
  std::string parameter = {};              ///< Without the colon; empty: a column.
  std::optional<std::size_t> column = {};  ///< In the row of the last statement.
};

/// A handler written in SQL. All its statements run in order, in the event's transaction.
struct HandlerConfig {
  std::string name;
  std::string type;
  int version = 1;
  std::string entity;  ///< JSON Pointer, recorded as evidence.
  std::vector<ParameterConfig> parameters;
  std::vector<StatementConfig> statements;
  std::vector<KeySpec> keys = {};  ///< Empty: those of the consumer.
  std::vector<ResultField> result = {};
  std::optional<RetryPolicy> retry = {};  ///< Absent: that of the consumer.
  bool times_without_zone = false;  ///< MariaDB: a DATETIME has none, and refuses the Z of UTC.
};

/// A SELECT that returns no row as long as the business tables are right. Asked by `lab` alone.
struct InvariantConfig {
  std::string name;
  std::string sql;
  ConfigPlace place;
};

struct ConsumerConfig {
  std::string name;
  std::vector<std::string> sources;
  std::size_t batch_max = 500;
  RetryPolicy retry = {};
  BreakerRule breaker = {};
  int crashes_max = 3;
  std::optional<OrderRule> order = {};
  Unsupported unsupported = Unsupported::dead_letter;
  std::optional<ClaimMode> claim = {};  ///< Absent: "auto".
  std::vector<HandlerConfig> handlers;
  std::vector<KeySpec> keys = {};  ///< Empty: the event itself.
  Scope scope = Scope::consumer;
  FingerprintRule fingerprint = {};
  std::vector<InvariantConfig> invariants = {};  ///< In the order of their names.
};

enum class SourceKind { file, standard_input };
enum class SourceFormat { cloudevents, json };

struct SourceConfig {
  std::string name;
  SourceKind kind = SourceKind::file;
  std::string path;  ///< Already relative to the working directory, not to the configuration.
  SourceFormat format = SourceFormat::cloudevents;
  IdentityRule identity;  ///< For `SourceFormat::json`.
  std::string id_prefix;
  bool follow = false;
  DecodeLimits limits = {};
};

/// The rest of [store]. For database servers; SQLite has none of it.
struct ServerConfig {
  std::chrono::milliseconds connect_timeout{};
  std::chrono::milliseconds statement_timeout{};
  std::chrono::milliseconds lock_timeout{};
  std::chrono::milliseconds idle_timeout{};
  std::chrono::milliseconds network_timeout{};
  bool accept_relaxed_durability = false;
  std::string schema = "onefold";  ///< PostgreSQL.
  bool pgbouncer = false;          ///< PostgreSQL.
};

struct Config {
  std::string path;          ///< Of the first file or folder, as given.
  std::string state_folder;  ///< Relative to the working directory; empty: not said.
  Secret store_url;          ///< As written; empty only if it is unknown without the environment.
  std::string store_folder;  ///< Where its relative path starts.
  ServerConfig server;
  std::map<std::string, SourceConfig> sources;
  std::vector<ConsumerConfig> consumers;  ///< In the order of their names.
};

/// One key with what is in force for it, for people.
struct EffectiveKey {
  std::string table;          ///< As it is written: "", "[store]", "[[consumer.billing.handler]]".
  std::string name;           ///< "batch_max"
  std::string value;          ///< As TOML. Passwords are "***".
  std::string origin;         ///< "onefold.toml:12:3", "environment variable ...", "default".
  bool begins_table = false;  ///< The first key of its table.
};

/// A configuration, or all that is wrong with it.
struct LoadedConfig {
  Config config;                             ///< Usable only if there is no problem.
  std::vector<ConfigProblem> problems;       ///< In the order of the files.
  bool permission_denied = false;            ///< A file exists, but may not be read.
  std::vector<EffectiveKey> effective = {};  ///< In the order in which a file would have them.
};

inline constexpr std::int64_t config_version = 1;
inline constexpr std::size_t config_bytes_max = 1 << 20;

/// What a configuration must have for what is to be done with it.
enum class ConfigUse {
  apply,  ///< Everything: a store, sources and consumers.
  look,   ///< A store. The consumers may be programs of their own, so that none stands here.
};

/// Variables of the environment.
using Environment = std::map<std::string, std::string>;
/// Those of this process.
Environment process_environment();

struct ConfigReadingOptions {
  ConfigUse use = ConfigUse::apply;
  /// Absent: neither variables nor files of secrets are looked at. What depends on them is unknown,
  /// and no problem.
  std::optional<Environment> environment = Environment{};
};

/// Reads and checks a configuration, from files and folders. Of a folder, every file `*.toml` is
/// read, in the order of their bytes. Looks at no database, and at no other file but those that
/// hold secrets.
///
/// Unknown keys, values out of range, references to what does not exist and statements that cannot
/// work are problems; all of them are found in one run, only a syntax error ends the search. Paths
/// are relative to the folder of the file in which they stand.
///
/// Values are taken from, in this order: `ONEFOLD__...` variables, the files (where `${NAME}` in a
/// string stands for a variable), defaults.
LoadedConfig load_config(const std::vector<std::string>& paths,
                         const ConfigReadingOptions& options);
/// One file or folder, with the environment of this process.
LoadedConfig load_config(const std::string& path, ConfigUse use = ConfigUse::apply);
/// The same for text that has been read already. `path` is used in messages and for relative paths.
LoadedConfig parse_config(std::string_view text, const std::string& path,
                          const ConfigReadingOptions& options);
/// With an empty environment.
LoadedConfig parse_config(std::string_view text, const std::string& path,
                          ConfigUse use = ConfigUse::apply);

/// The parameters that every statement can use without a definition.
const std::vector<std::string>& builtin_parameters();

}  // namespace onefold
