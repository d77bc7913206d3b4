#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What may stand in a configuration: the one table from which the readers take defaults and
/// ranges, `onefold config schema` its answers, and docs/configuration.md its tables.
namespace onefold {

/// What a key holds.
enum class KeyKind {
  text,
  secret,   ///< A text that may hold a password; has the twins NAME_file and NAME_env.
  integer,  ///< Between `least` and `most`.
  number,   ///< The same, also with a fraction.
  boolean,
  choice,       ///< One of `choices`.
  size,         ///< A text such as "1MiB", between `least` and `most` bytes.
  duration,     ///< A text such as "30s", between `least` and `most` milliseconds.
  pointer,      ///< A JSON Pointer into the event's data.
  rule,         ///< A JSON Pointer or a constant, see `IdentityRule`.
  pointers,     ///< An array of JSON Pointers.
  texts,        ///< One string, or an array of strings: at least one.
  words,        ///< An array of some of `choices`; it may be empty.
  keys,         ///< What must happen once: "event", rules, or a list of these.
  counts,       ///< Rows that statements change: counts and "any".
  result,       ///< A table from names to parameters and columns.
  table,        ///< A table with a schema of its own.
  named,        ///< A table from names to tables, all with one schema.
  table_array,  ///< An array of tables, all with one schema.
};

/// The databases that a key is for; others refuse it.
enum class StoreKinds { all, servers, postgres };

struct KeySchema {
  std::string name;
  KeyKind kind = KeyKind::text;
  std::string meaning = {};  ///< A sentence, in Markdown.
  std::string example = {};  ///< Lines of TOML that set the key.
  bool required = false;
  std::string otherwise = {};  ///< What is taken if it is absent, as TOML; empty: nothing.
  std::vector<std::string> choices = {};
  std::int64_t least = 0;
  std::int64_t most = 0;
  StoreKinds stores = StoreKinds::all;
};

struct TableSchema {
  std::string path;  ///< "", "store", "source.*", "consumer.*.handler", ...; `*` is any name.
  std::string title;
  std::vector<KeySchema> keys;
  /// The key; null if there is none of this name.
  const KeySchema* find(std::string_view name) const noexcept;
};

/// The part of it about consumers.
std::vector<TableSchema> consumer_schema();
/// All tables, from the outside in.
const std::vector<TableSchema>& config_schema();
/// The one at a path, which must exist.
const TableSchema& table_schema(std::string_view path);

/// Whether an environment variable can stand in for the value: it is one text, number or word.
bool is_scalar(KeyKind kind) noexcept;

}  // namespace onefold
