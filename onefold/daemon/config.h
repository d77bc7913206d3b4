#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/fields.h"

namespace onefold {

/// A place in a configuration file. Lines and columns count from 1; 0 means the file as a whole.
struct ConfigPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const ConfigPlace&) const = default;
};

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
};

/// A handler written in SQL. All its statements run in order, in the event's transaction.
struct HandlerConfig {
  std::string name;
  std::string type;
  int version = 1;
  std::string entity;
  std::vector<ParameterConfig> parameters;
  std::vector<StatementConfig> statements;
};

struct ConsumerConfig {
  std::string name;
  std::vector<std::string> sources;
  std::size_t batch_max = 500;
  int attempts_max = 3;
  Unsupported unsupported = Unsupported::dead_letter;
  bool claim_first = false;
  std::vector<HandlerConfig> handlers;
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
};

struct Config {
  std::string path;       ///< Of the file, as given.
  std::string store_url;  ///< As written.
  std::map<std::string, SourceConfig> sources;
  std::vector<ConsumerConfig> consumers;  ///< In the order of the file.
};

/// A configuration, or all that is wrong with it.
struct LoadedConfig {
  Config config;                        ///< Usable only if there is no problem.
  std::vector<ConfigProblem> problems;  ///< In the order of the file.
  bool permission_denied = false;       ///< The file exists, but may not be read.
};

inline constexpr std::int64_t config_version = 1;
inline constexpr std::size_t config_bytes_max = 1 << 20;

/// What a configuration must have for what is to be done with it.
enum class ConfigUse {
  apply,  ///< Everything: a store, sources and consumers.
  look,   ///< A store. The consumers may be programs of their own, so that none stands here.
};

/// Reads and checks a configuration file; looks at no other file and at no database.
///
/// Unknown keys, values out of range, references to what does not exist and statements that cannot
/// work are problems; all of them are found in one run, only a syntax error ends the search. Paths
/// are relative to the folder of the configuration file.
LoadedConfig load_config(const std::string& path, ConfigUse use = ConfigUse::apply);
/// The same for text that has been read already. `path` is used in messages and for relative paths.
LoadedConfig parse_config(std::string_view text, const std::string& path,
                          ConfigUse use = ConfigUse::apply);

/// "onefold.toml:12:3", or the path alone for the file as a whole.
std::string to_string(const ConfigPlace& place, const std::string& path);

/// The parameters that every statement can use without a definition.
const std::vector<std::string>& builtin_parameters();

}  // namespace onefold
