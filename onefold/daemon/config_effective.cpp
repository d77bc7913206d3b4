// What is in force, for `onefold config show`: the values of the files and the environment, and the
// defaults that the schema has for the rest.

#include <array>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <string>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::string_view unknown_value = "\"(from the environment)\"";

/// Characters that nobody sees, or that reorder what stands around them: of C1, and of Unicode's
/// general punctuation, directions and separators.
bool is_hidden(unsigned code) {
  return (code >= 0x80 && code <= 0x9F) || code == 0xAD || code == 0x061C ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

/// Escapes hidden characters of a basic string, which is UTF-8.
std::string without_hidden(std::string_view text) {
  std::string out;
  const auto bits = [&](std::size_t at) { return static_cast<unsigned char>(text[at]) & 0x3FU; };
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t size = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned code = first;
    if (size == 2 && at + 1 < text.size()) code = (first & 0x1FU) << 6U | bits(at + 1);
    if (size == 3 && at + 2 < text.size()) {
      code = (first & 0x0FU) << 12U | bits(at + 1) << 6U | bits(at + 2);
    }
    if (code == 0x7F || (size > 1 && is_hidden(code))) {
      std::ostringstream escaped;
      escaped << "\\u" << std::hex << std::uppercase << std::setw(4) << std::setfill('0') << code;
      out += escaped.str();
    } else {
      out += text.substr(at, size);
    }
    at += size;
  }
  return out;
}

/// As it must be written so that reading it again puts nothing of the environment in.
std::string without_references(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '$' ? std::string{"$$"} : std::string{c};
  return out;
}

/// A basic string: what it cannot hold, and what nobody would see in it, is escaped.
std::string toml_string(std::string_view text) {
  std::ostringstream out;
  out << toml::toml_formatter{toml::value<std::string>{text},
                              toml::format_flags::allow_unicode_strings};
  return without_hidden(out.str());
}

std::string toml_key(std::string_view name) {
  const bool bare =
      !name.empty() &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
          name.npos;
  return bare ? std::string{name} : toml_string(name);
}

class Effective {
 public:
  explicit Effective(const ConfigReading& reading) : reading_{reading} {}

  /// The keys of one table; those that are tables with a schema come after them.
  void add(const toml::table& table, const TableSchema& schema, const std::string& label) {
    const std::size_t before = keys_.size();
    for (const KeySchema& key : schema.keys) {
      const toml::node* node = table.get(key.name);
      if (node != nullptr && key.kind != KeyKind::table_array && !is_outer(schema, key)) {
        keys_.push_back({label, key.name, value(*node, key), origin(*node)});
      } else if (node == nullptr && !key.otherwise.empty() && is_for_store(key)) {
        keys_.push_back({label, key.name, key.otherwise, "default"});
      }
    }
    if (keys_.size() > before) keys_[before].begins_table = true;
  }

  void add_all(const toml::table& root) {
    add(root, table_schema(""), {});
    if (const auto* store = root["store"].as_table()) add(*store, table_schema("store"), "[store]");
    each(root, "source", [&](const toml::table& table, const std::string& name) {
      add(table, table_schema("source.*"), "[source." + name + "]");
    });
    each(root, "consumer", [&](const toml::table& table, const std::string& name) {
      add(table, table_schema("consumer.*"), "[consumer." + name + "]");
      add_part(table, name, "retry");
      add_part(table, name, "breaker");
      if (table.contains("order")) add_part(table, name, "order");
      const toml::array* handlers = table["handler"].as_array();
      for (std::size_t i = 0; handlers != nullptr && i < handlers->size(); ++i) {
        if (const auto* handler = (*handlers)[i].as_table()) {
          add(*handler, table_schema("consumer.*.handler"), "[[consumer." + name + ".handler]]");
        }
      }
      each(table, "invariant", [&](const toml::table& invariant, const std::string& its_name) {
        add(invariant, table_schema("consumer.*.invariant.*"),
            "[consumer." + name + ".invariant." + its_name + "]");
      });
    });
  }

  std::vector<EffectiveKey> take() { return std::move(keys_); }

 private:
  bool is_for_store(const KeySchema& key) const {
    const SqlDialect dialect = reading_.dialect();
    return key.stores == StoreKinds::all || dialect == SqlDialect::postgres ||
           (key.stores == StoreKinds::servers && dialect != SqlDialect::sqlite);
  }

  /// What holds although nothing of it may stand in the file.
  void add_part(const toml::table& consumer, const std::string& name, const std::string& part) {
    const toml::table none;
    const toml::table* given = consumer[part].as_table();
    add(given != nullptr ? *given : none, table_schema("consumer.*." + part),
        "[consumer." + name + "." + part + "]");
  }

  /// The tables that have a heading of their own.
  static bool is_outer(const TableSchema& schema, const KeySchema& key) {
    return (schema.path.empty() && key.kind != KeyKind::integer) || key.name == "invariant" ||
           (schema.path == "consumer.*" && key.kind == KeyKind::table);
  }

  template <typename Work>
  static void each(const toml::table& root, std::string_view section, Work work) {
    const toml::table* tables = root[section].as_table();
    if (tables == nullptr) return;
    for (const auto& [key, node] : *tables) {
      if (const auto* table = node.as_table()) work(*table, std::string{key.str()});
    }
  }

  std::string value(const toml::node& node, const KeySchema& key) const {
    const auto* text = node.as_string();
    if (text == nullptr || reading_.unknown(node)) return inlined(node, key.name != "sql");
    if (key.kind == KeyKind::secret) return string_value(masked_url(text->get()), true);
    // A URL in the place of a name may hold a password.
    if (key.name.starts_with("url_") && may_be_url(text->get())) return toml_string("***");
    // A variable that fills a number or a truth has been read as one.
    const bool typed =
        key.kind == KeyKind::integer || key.kind == KeyKind::number || key.kind == KeyKind::boolean;
    return typed ? text->get() : string_value(text->get(), key.name != "sql");
  }

  /// Statements are not interpolated: a `$` of theirs stands for itself.
  static std::string string_value(const std::string& text, bool interpolated) {
    return toml_string(interpolated ? without_references(text) : text);
  }

  /// On one line, so that it can be followed by its origin.
  std::string inlined(const toml::node& node, bool interpolated) const {
    if (reading_.unknown(node)) return std::string{unknown_value};
    if (const auto* text = node.as_string()) return string_value(text->get(), interpolated);
    if (const auto* array = node.as_array()) {
      std::string all;
      for (const toml::node& each : *array)
        all += (all.empty() ? "" : ", ") + inlined(each, interpolated);
      return "[" + all + "]";
    }
    if (const auto* table = node.as_table()) {
      std::string all;
      for (const auto& [name, each] : *table) {
        all +=
            (all.empty() ? " " : ", ") + toml_key(name.str()) + " = " + inlined(each, interpolated);
      }
      return "{" + all + (all.empty() ? "}" : " }");
    }
    // As somebody would write it: the library's own text for 0.2 is 0.20000000000000001.
    if (const auto* number = node.as_floating_point()) return shortest(number->get());
    std::ostringstream out;
    out << toml::toml_formatter{node};
    return out.str();
  }

  static std::string shortest(double number) {
    std::array<char, 32> text{};
    const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
    return {text.data(), written.ptr};
  }

  std::string origin(const toml::node& node) const { return to_string(reading_.place(node), {}); }

  const ConfigReading& reading_;
  std::vector<EffectiveKey> keys_;
};

}  // namespace

std::vector<EffectiveKey> effective_keys(const toml::table& root, const ConfigReading& reading) {
  Effective effective{reading};
  effective.add_all(root);
  return effective.take();
}

}  // namespace onefold
