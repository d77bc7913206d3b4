#include "onefold/daemon/toml_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

#include "onefold/daemon/nearest.h"
#include "onefold/daemon/quantity.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t name_bytes_max = 64;

std::string in_quotes(std::string_view text) {
  return "\"" + printable(text) + "\"";
}

std::string listed(const std::vector<std::string>& choices) {
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) list += i + 1 == choices.size() ? " or " : ", ";
    list += in_quotes(choices[i]);
  }
  return list;
}

std::string for_example(const KeySchema& schema) {
  return "for example: " + schema.example;
}

/// A default is TOML, checked by the tests of the schema.
std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A default that is a string, without its quotes.
std::string_view unquoted(std::string_view text) {
  return text.size() < 2 ? text : text.substr(1, text.size() - 2);
}

/// The tables that have a key of this name: somebody may have put it at the wrong level.
std::string table_with(std::string_view key) {
  std::string titles;
  for (const TableSchema& table : config_schema()) {
    if (table.find(key) == nullptr) continue;
    titles += (titles.empty() ? "" : " or ") + table.title;
  }
  return titles;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

TableReader::TableReader(const toml::table& table, const TableSchema& schema, std::string label,
                         ConfigReading& reading)
    : table_{table}, schema_{schema}, label_{std::move(label)}, reading_{reading} {
  report_unknown_keys();
}

void TableReader::report_unknown_keys() const {
  std::vector<std::string> names;
  for (const KeySchema& key : schema_.keys) names.push_back(key.name);
  for (const auto& [key, node] : table_) {
    if (schema_.find(key.str()) != nullptr) continue;
    const std::string elsewhere = table_with(key.str());
    reading_.problem(
        key, "unknown key " + in_quotes(key.str()) + " in " + label_,
        elsewhere.empty() ? nearest_hint(key.str(), names, "keys") : "it belongs in " + elsewhere);
  }
}

const KeySchema& TableReader::schema(std::string_view key) const {
  const KeySchema* found = schema_.find(key);
  if (found == nullptr) {
    throw std::logic_error{"the schema of " + schema_.title + " has no key " + std::string{key}};
  }
  return *found;
}

const toml::node* TableReader::find(std::string_view key) const {
  return table_.get(schema(key).name);
}

const toml::node* TableReader::require(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) {
    problem_here(label_ + " needs the key " + in_quotes(key), for_example(schema(key)));
  }
  return node;
}

const toml::node* TableReader::known(std::string_view key) const {
  const toml::node* node = find(key);
  return node == nullptr || reading_.unknown(*node) ? nullptr : node;
}

std::optional<std::string> TableReader::text(std::string_view key) const {
  const toml::node* node = known(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* string = node->as_string()) return string->get();
  wrong_type(key, "a string", *node);
  return std::nullopt;
}

std::optional<std::string> TableReader::require_text(std::string_view key) const {
  return require(key) == nullptr ? std::nullopt : text(key);
}

std::int64_t TableReader::integer(std::string_view key) const {
  const KeySchema& wanted = schema(key);
  const std::int64_t otherwise = number_of(wanted.otherwise);
  const toml::node* node = known(key);
  if (node == nullptr) return otherwise;
  std::optional<std::int64_t> number = node->value_exact<std::int64_t>();
  if (!number && reading_.whole(*node)) number = number_in<std::int64_t>(node->value_or(""));
  if (!number) {
    wrong_type(key, "an integer", *node);
    return otherwise;
  }
  if (*number < wanted.least || *number > wanted.most) {
    problem(key,
            in_quotes(key) + " must be between " + std::to_string(wanted.least) + " and " +
                std::to_string(wanted.most) + ", not " + std::to_string(*number),
            for_example(wanted));
    return otherwise;
  }
  return *number;
}

double TableReader::number(std::string_view key) const {
  const KeySchema& wanted = schema(key);
  const double otherwise = number_in<double>(wanted.otherwise).value_or(0);
  const toml::node* node = known(key);
  if (node == nullptr) return otherwise;
  std::optional<double> value;
  if (node->is_number()) value = node->value<double>();
  if (!value && reading_.whole(*node)) value = number_in<double>(node->value_or(""));
  if (!value) {
    wrong_type(key, "a number", *node);
    return otherwise;
  }
  // Neither can be said of what is not a number.
  if (*value >= static_cast<double>(wanted.least) && *value <= static_cast<double>(wanted.most)) {
    return *value;
  }
  problem(key,
          in_quotes(key) + " must be between " + std::to_string(wanted.least) + " and " +
              std::to_string(wanted.most),
          for_example(wanted));
  return otherwise;
}

bool TableReader::boolean(std::string_view key) const {
  const bool otherwise = schema(key).otherwise == "true";
  const toml::node* node = known(key);
  if (node == nullptr) return otherwise;
  if (const auto* value = node->as_boolean()) return value->get();
  if (reading_.whole(*node)) {
    const std::string_view text = node->value_or("");
    if (text == "true" || text == "false") return text == "true";
  }
  wrong_type(key, "true or false", *node);
  return otherwise;
}

std::size_t TableReader::choice(std::string_view key) const {
  const std::vector<std::string>& choices = schema(key).choices;
  const auto place = [&](std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find(choices, text) - choices.begin());
  };
  const std::size_t otherwise = place(unquoted(schema(key).otherwise));
  const auto value = text(key);
  if (!value) return otherwise;
  if (place(*value) != choices.size()) return place(*value);
  const auto guess = nearest(*value, choices);
  problem(key, in_quotes(key) + " must be " + listed(choices) + ", not " + in_quotes(*value),
          guess ? "did you mean " + in_quotes(*guess) + "?" : for_example(schema(key)));
  return otherwise;
}

const std::vector<std::string>& TableReader::choices(std::string_view key) const {
  return schema(key).choices;
}

struct TableReader::Quantity {
  std::optional<std::int64_t> (*from)(std::string_view text) noexcept;
  std::string (*text)(std::int64_t value);
  std::string_view wanted;
};

std::int64_t TableReader::size(std::string_view key) const {
  return quantity(
      key, {size_from, size_text, "a size: a number with one of the units B, KiB, MiB, KB, MB"});
}

std::int64_t TableReader::duration(std::string_view key) const {
  return quantity(key, {duration_from, duration_text,
                        "a duration: a number with one of the units ms, s, m, h"});
}

std::int64_t TableReader::quantity(std::string_view key, const Quantity& kind) const {
  const KeySchema& wanted = schema(key);
  const std::int64_t otherwise = kind.from(unquoted(wanted.otherwise)).value_or(0);
  const toml::node* node = known(key);
  if (node == nullptr) return otherwise;
  const auto* text = node->as_string();
  const auto value = text == nullptr ? std::nullopt : kind.from(text->get());
  if (!value) {
    problem(key, in_quotes(key) + " must be " + std::string{kind.wanted}, for_example(wanted));
  } else if (*value < wanted.least || *value > wanted.most) {
    problem(key,
            in_quotes(key) + " must be between " + kind.text(wanted.least) + " and " +
                kind.text(wanted.most) + ", not " + kind.text(*value),
            for_example(wanted));
  } else {
    return *value;
  }
  return otherwise;
}

const toml::table* TableReader::table(std::string_view key) const {
  const toml::node* node = known(key);
  if (node == nullptr) return nullptr;
  if (const auto* found = node->as_table()) return found;
  wrong_type(key, "a table", *node);
  return nullptr;
}

PlacedText TableReader::element(std::string_view key, const toml::node& node) const {
  const ConfigPlace place = reading_.place(node);
  if (const auto* string = node.as_string()) {
    return {string->get(), place, !reading_.unknown(node)};
  }
  reading_.problem(node,
                   in_quotes(key) + " must hold strings only, not " + std::string{describe(node)},
                   for_example(schema(key)));
  return {"", place, false};
}

std::vector<PlacedText> TableReader::require_texts(std::string_view key) const {
  const toml::node* node = require(key);
  if (node == nullptr) return {};
  if (node->is_string()) return {element(key, *node)};
  const auto* array = node->as_array();
  if (array == nullptr) {
    wrong_type(key, "a string or an array of strings", *node);
    return {};
  }
  if (array->empty()) problem(key, in_quotes(key) + " must not be empty", for_example(schema(key)));
  std::vector<PlacedText> texts;
  for (const toml::node& each : *array) texts.push_back(element(key, each));
  return texts;
}

std::optional<std::vector<std::string>> TableReader::words(std::string_view key) const {
  const toml::node* node = known(key);
  if (node == nullptr) return std::nullopt;
  const auto* array = node->as_array();
  if (array == nullptr) {
    wrong_type(key, "an array of strings", *node);
    return std::nullopt;
  }
  const std::vector<std::string>& choices = schema(key).choices;
  std::vector<std::string> found;
  for (const toml::node& each : *array) {
    PlacedText text = element(key, each);
    if (!text.usable) continue;
    if (std::ranges::find(choices, text.text) != choices.end()) {
      found.push_back(std::move(text.text));
      continue;
    }
    const auto guess = nearest(text.text, choices);
    reading_.problem(each,
                     in_quotes(key) + " knows " + listed(choices) + ", not " + in_quotes(text.text),
                     guess ? "did you mean " + in_quotes(*guess) + "?" : for_example(schema(key)));
  }
  return found;
}

std::vector<std::string> TableReader::pointers(std::string_view key) const {
  const toml::node* node = known(key);
  if (node == nullptr) return {};
  const auto* array = node->as_array();
  if (array == nullptr) {
    wrong_type(key, "an array of JSON Pointers", *node);
    return {};
  }
  std::vector<std::string> found;
  for (const toml::node& each : *array) {
    PlacedText text = element(key, each);
    if (text.usable && check_pointer(text.text, text.place, reading_)) {
      found.push_back(std::move(text.text));
    }
  }
  return found;
}

std::string TableReader::pointer(std::string_view key) const {
  const auto value = text(key);
  if (!value || !check_pointer(*value, reading_.place(*find(key)), reading_)) return {};
  return *value;
}

void TableReader::refuse(std::string_view key, std::string_view why) const {
  if (find(key) != nullptr) {
    problem(key, in_quotes(key) + " cannot be used in " + label_ + ": " + std::string{why},
            "remove it");
  }
}

void TableReader::problem(std::string_view key, std::string text, std::string hint) const {
  const toml::node* node = table_.get(key);
  reading_.problem(node == nullptr ? table_ : *node, std::move(text), std::move(hint));
}

void TableReader::problem_here(std::string text, std::string hint) const {
  reading_.problem(table_, std::move(text), std::move(hint));
}

std::string TableReader::folder(std::string_view key) const {
  const toml::node* node = table_.get(key);
  const auto& path =
      node != nullptr && node->source().path ? node->source().path : table_.source().path;
  return path ? std::filesystem::path{*path}.parent_path().string() : reading_.folder();
}

void TableReader::wrong_type(std::string_view key, std::string_view wanted,
                             const toml::node& found) const {
  // What a variable holds is not shown: it may be the wrong variable, and a secret.
  problem(key,
          in_quotes(key) + " must be " + std::string{wanted} + ", not " +
              (reading_.whole(found) ? "what the environment says" : std::string{describe(found)}),
          for_example(schema(key)));
}

std::string_view describe(const toml::node& node) noexcept {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction or an exponent";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

void check_name(std::string_view name, std::string_view what, const ConfigPlace& place,
                ConfigReading& reading) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= name_bytes_max) return;
  reading.problem(place, "the " + std::string{what} + " " + in_quotes(name) + " is not usable",
                  "use 1 to 64 of a-z, 0-9, _ and -; names become part of stored keys");
}

bool check_pointer(const std::string& pointer, const ConfigPlace& place, ConfigReading& reading) {
  const std::string defect = pointer_defect(pointer);
  if (defect.empty()) return true;
  reading.problem(place, in_quotes(pointer) + " is no JSON Pointer: " + defect,
                  R"(it begins with a slash and points into the event's data, like "/order/id")");
  return false;
}

std::string relative_to(const std::string& folder, const std::string& path) {
  if (folder.empty()) return path;
  // An absolute path replaces the folder.
  return (std::filesystem::path{folder} / path).string();
}

}  // namespace onefold
