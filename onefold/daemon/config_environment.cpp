#include "onefold/daemon/config_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/daemon/config_schema.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::string_view prefix = "ONEFOLD__";

/// A reference that has been taken apart: `${name:-word}`.
struct Reference {
  std::string name = {};
  char how = '\0';  ///< '-' or '?' after a colon; NUL for the name alone.
  std::string word = {};
  std::size_t end = 0;  ///< Behind its closing brace.
};

bool in_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/// Absent if what stands at `begin`, behind "${", is none.
std::optional<Reference> read_reference(std::string_view text, std::size_t begin) {
  const std::size_t close = text.find('}', begin);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(begin, close - begin);
  const auto name_end =
      static_cast<std::size_t>(std::ranges::find_if_not(inside, in_name) - inside.begin());
  Reference found{.name = std::string{inside.substr(0, name_end)}, .end = close + 1};
  if (name_end == 0 || std::isdigit(static_cast<unsigned char>(inside.front())) != 0) {
    return std::nullopt;
  }
  const std::string_view rest = inside.substr(name_end);
  if (rest.empty()) return found;
  if (!rest.starts_with(":-") && !rest.starts_with(":?")) return std::nullopt;
  found.how = rest[1];
  found.word = rest.substr(2);
  return found;
}

/// Interpolates one string.
class Interpolation {
 public:
  Interpolation(toml::value<std::string>& value, ConfigReading& reading)
      : value_{value}, reading_{reading} {}

  void run() {
    const std::string text = value_.get();
    std::string made;
    std::size_t at = 0;
    bool whole = false;
    while (at < text.size()) {
      const std::size_t dollar = std::min(text.find('$', at), text.size());
      made.append(text, at, dollar - at);
      if (dollar == text.size()) break;
      const char following = dollar + 1 < text.size() ? text[dollar + 1] : '\0';
      if (following != '{') {
        made += '$';
        at = dollar + (following == '$' ? 2 : 1);
        continue;
      }
      const auto reference = read_reference(text, dollar + 2);
      if (!reference) return malformed();
      const auto replacement = resolve(*reference);
      if (!replacement) return reading_.set_unknown(value_);
      made += *replacement;
      at = reference->end;
      whole = dollar == 0 && at == text.size();
    }
    value_ = std::move(made);
    if (whole) reading_.set_whole(value_);
  }

 private:
  void malformed() {
    reading_.problem(value_, "${ begins a reference to a variable, and what follows is none",
                     "write ${NAME}, ${NAME:-a default} or ${NAME:?a message}; $${ stands for ${");
    reading_.set_unknown(value_);
  }

  std::optional<std::string> resolve(const Reference& reference) {
    if (!reading_.options().environment) {
      return reference.how == '-' ? std::optional{reference.word} : std::nullopt;
    }
    const Environment& environment = *reading_.options().environment;
    const auto found = environment.find(reference.name);
    const bool given = found != environment.end();
    // As in a shell: behind a colon, an empty value is none.
    if (given && (reference.how == '\0' || !found->second.empty())) return found->second;
    if (reference.how == '-') return reference.word;
    const std::string subject =
        "the environment variable " + reference.name + (given ? " is empty" : " is not set");
    if (reference.how == '?') {
      reading_.problem(value_, subject + ": " + printable(reference.word, 300),
                       "set it, and start again");
    } else {
      reading_.problem(value_, subject,
                       "set it, or give a default: ${" + reference.name + ":-default}");
    }
    return std::nullopt;
  }

  toml::value<std::string>& value_;
  ConfigReading& reading_;
};

void interpolate_node(toml::node& node, ConfigReading& reading);

/// Statements stand as they are. A reference in one of them is a mistake that must be told.
void check_statements(const toml::node& node, ConfigReading& reading) {
  if (const auto* array = node.as_array()) {
    for (const toml::node& each : *array) check_statements(each, reading);
  }
  const auto* text = node.as_string();
  if (text == nullptr || text->get().find("${") == std::string::npos) return;
  reading.problem(
      node, "a statement must not change with the environment, and this has a ${ in it",
      "take the value from the event as a parameter, :name, or write the statement out");
}

void interpolate_table(toml::table& table, ConfigReading& reading) {
  for (auto&& [key, node] : table) interpolate_node(node, reading);
}

void interpolate_handler(toml::table& handler, ConfigReading& reading) {
  for (auto&& [key, node] : handler) {
    if (key.str() == "sql") {
      check_statements(node, reading);
    } else {
      interpolate_node(node, reading);
    }
  }
}

void interpolate_node(toml::node& node, ConfigReading& reading) {
  if (auto* text = node.as_string()) {
    // What a variable has put there stands as it is.
    if (text->get().find('$') == std::string::npos || reading.whole(node)) return;
    Interpolation{*text, reading}.run();
  } else if (auto* array = node.as_array()) {
    for (toml::node& each : *array) interpolate_node(each, reading);
  } else if (auto* table = node.as_table()) {
    interpolate_table(*table, reading);
  }
}

/// As it stands in a variable: upper-case, and with `_` for what a variable cannot hold.
std::string variable_part(std::string_view name) {
  std::string part{name};
  std::ranges::transform(part, part.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return part;
}

/// A key that a variable can set.
struct Target {
  std::vector<std::string> tables;  ///< From the outside in.
  const TableSchema* schema = nullptr;
  const KeySchema* key = nullptr;
  std::string variable;
};

void add_targets(const TableSchema& schema, const std::vector<std::string>& tables,
                 std::vector<Target>& targets) {
  for (const KeySchema& key : schema.keys) {
    if (!is_scalar(key.kind) || key.name == "config_version") continue;
    std::string variable{prefix};
    for (const std::string& table : tables) variable += variable_part(table) + "__";
    targets.push_back({tables, &schema, &key, variable + variable_part(key.name)});
  }
}

std::vector<std::string> names_in(const toml::table& root, std::string_view section) {
  std::vector<std::string> names;
  const toml::table* tables = root[section].as_table();
  if (tables == nullptr) return names;
  for (const auto& [key, node] : *tables) {
    if (node.is_table()) names.emplace_back(key.str());
  }
  return names;
}

std::vector<Target> targets_of(const toml::table& root) {
  std::vector<Target> targets;
  add_targets(table_schema(""), {}, targets);
  add_targets(table_schema("store"), {"store"}, targets);
  for (const std::string& name : names_in(root, "source")) {
    add_targets(table_schema("source.*"), {"source", name}, targets);
    add_targets(table_schema("source.*.identity"), {"source", name, "identity"}, targets);
  }
  for (const std::string& name : names_in(root, "consumer")) {
    add_targets(table_schema("consumer.*"), {"consumer", name}, targets);
    for (const std::string part : {"retry", "breaker", "order"}) {
      add_targets(table_schema("consumer.*." + part), {"consumer", name, part}, targets);
    }
  }
  return targets;
}

/// The table at a path, made on the way where there is none; null where something else stands.
toml::table* table_at(toml::table& root, const std::vector<std::string>& path,
                      const std::string& variable, ConfigReading& reading) {
  toml::table* table = &root;
  for (const std::string& name : path) {
    toml::node* next = table->get(name);
    if (next == nullptr) {
      next = &table->insert(name, toml::table{}).first->second;
      reading.set_by(*next, variable);
    }
    table = next->as_table();
    if (table == nullptr) return nullptr;
  }
  return table;
}

/// A secret can be given in three ways: the one of the environment replaces those of the files.
void make_way(toml::table& table, const Target& target, const ConfigReading& reading) {
  for (const KeySchema& key : target.schema->keys) {
    if (key.kind != KeyKind::secret || !target.key->name.starts_with(key.name)) continue;
    for (const char* ending : {"", "_file", "_env"}) {
      const toml::node* node = table.get(key.name + ending);
      if (node != nullptr && !reading.whole(*node)) table.erase(key.name + ending);
    }
  }
}

void set(toml::table& root, const Target& target, const std::string& value,
         ConfigReading& reading) {
  toml::table* table = table_at(root, target.tables, target.variable, reading);
  if (table == nullptr) return;  // The reader reports what stands there.
  make_way(*table, target, reading);
  toml::node& node = table->insert_or_assign(target.key->name, value).first->second;
  reading.set_by(node, target.variable);
}

void override_key(toml::table& root, const std::vector<Target>& targets,
                  const std::string& variable, const std::string& value, ConfigReading& reading) {
  const ConfigPlace place{"environment variable " + printable(variable), 0, 0};
  std::vector<const Target*> meant;
  for (const Target& target : targets) {
    if (target.variable == variable) meant.push_back(&target);
  }
  if (meant.size() > 1) {
    reading.problem(place,
                    "it stands for " + meant[0]->tables.back() + "." + meant[0]->key->name +
                        " and for " + meant[1]->tables.back() + "." + meant[1]->key->name,
                    "rename one of them: - and _ are the same in a variable");
  } else if (meant.empty()) {
    std::vector<std::string> names;
    for (const Target& target : targets) names.push_back(target.variable);
    reading.problem(place, "there is no such key to set", nearest_hint(variable, names, "names"));
  } else {
    set(root, *meant.front(), value, reading);
  }
}

void interpolate_in_consumer(std::string_view key, toml::node& node, ConfigReading& reading) {
  if (key == "handler" && node.is_array()) {
    for (toml::node& handler : *node.as_array()) {
      if (handler.is_table()) interpolate_handler(*handler.as_table(), reading);
    }
  } else if (key == "invariant" && node.is_table()) {
    for (auto&& [name, invariant] : *node.as_table()) {
      if (invariant.is_table()) interpolate_handler(*invariant.as_table(), reading);
    }
  } else {
    interpolate_node(node, reading);
  }
}

}  // namespace

void interpolate(toml::table& root, ConfigReading& reading) {
  for (auto&& [section, tables] : root) {
    if (section.str() != "consumer" || !tables.is_table()) {
      interpolate_node(tables, reading);
      continue;
    }
    for (auto&& [name, consumer] : *tables.as_table()) {
      if (!consumer.is_table()) continue;
      for (auto&& [key, node] : *consumer.as_table()) {
        interpolate_in_consumer(key.str(), node, reading);
      }
    }
  }
}

void override_keys(toml::table& root, ConfigReading& reading) {
  if (!reading.options().environment) return;
  std::optional<std::vector<Target>> targets;
  for (const auto& [variable, value] : *reading.options().environment) {
    if (!variable.starts_with(prefix)) continue;
    if (!targets) targets = targets_of(root);
    override_key(root, *targets, variable, value, reading);
  }
}

Environment process_environment() {
  Environment all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text{*each};
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

}  // namespace onefold
