// The one file that compiles the TOML parser.
#define TOML_IMPLEMENTATION

#include "onefold/daemon/toml_reader.h"

#include <algorithm>
#include <utility>

#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t name_bytes_max = 64;

std::string quoted(std::string_view text) {
  return "\"" + printable(text) + "\"";
}

std::string listed(std::initializer_list<std::string> choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : " or ") + quoted(choice);
  return list;
}

}  // namespace

ConfigPlace place_of(const toml::source_region& region) noexcept {
  return {region.begin.line, region.begin.column};
}

void ConfigProblems::add(const toml::source_region& region, std::string text, std::string hint) {
  add(place_of(region), std::move(text), std::move(hint));
}

void ConfigProblems::add(const ConfigPlace& place, std::string text, std::string hint) {
  problems_.push_back({place, std::move(text), std::move(hint)});
}

std::vector<ConfigProblem> ConfigProblems::take() {
  std::ranges::stable_sort(problems_, {}, &ConfigProblem::place);
  return std::exchange(problems_, {});
}

TableReader::TableReader(const toml::table& table, std::string label, ConfigProblems& problems)
    : table_{table}, label_{std::move(label)}, problems_{problems} {}

const toml::node* TableReader::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return table_.get(key);
}

const toml::node* TableReader::require(std::string_view key, std::string_view example) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    problem_here(label_ + " needs the key " + quoted(key), "for example: " + std::string{example});
  }
  return node;
}

std::optional<std::string> TableReader::text(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* string = node->as_string()) return string->get();
  wrong_type(key, "a string", *node);
  return std::nullopt;
}

std::optional<std::string> TableReader::require_text(std::string_view key,
                                                     std::string_view example) {
  return require(key, example) == nullptr ? std::nullopt : text(key);
}

std::int64_t TableReader::integer(std::string_view key, std::int64_t otherwise, std::int64_t min,
                                  std::int64_t max) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  const auto* number = node->as_integer();
  if (number == nullptr) {
    wrong_type(key, "an integer", *node);
    return otherwise;
  }
  if (number->get() < min || number->get() > max) {
    problem(key, quoted(key) + " must be between " + std::to_string(min) + " and " +
                     std::to_string(max) + ", not " + std::to_string(number->get()));
    return otherwise;
  }
  return number->get();
}

bool TableReader::boolean(std::string_view key, bool otherwise) {
  const toml::node* node = find(key);
  if (node == nullptr) return otherwise;
  if (const auto* value = node->as_boolean()) return value->get();
  wrong_type(key, "true or false", *node);
  return otherwise;
}

std::size_t TableReader::choice(std::string_view key, std::initializer_list<std::string> choices,
                                std::size_t otherwise) {
  const auto value = text(key);
  if (!value) return otherwise;
  const auto* found = std::ranges::find(choices, *value);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  const auto guess = nearest(*value, std::span{choices.begin(), choices.size()});
  problem(key, quoted(key) + " must be " + listed(choices) + ", not " + quoted(*value),
          guess ? "did you mean " + quoted(*guess) + "?" : "");
  return otherwise;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (const auto* found = node->as_table()) return found;
  wrong_type(key, "a table", *node);
  return nullptr;
}

std::vector<PlacedText> TableReader::require_texts(std::string_view key, std::string_view example) {
  const toml::node* node = require(key, example);
  if (node == nullptr) return {};
  if (const auto* single = node->as_string()) return {{single->get(), place_of(node->source())}};
  const auto* array = node->as_array();
  if (array == nullptr) {
    wrong_type(key, "a string or an array of strings", *node);
    return {};
  }
  if (array->empty()) problem(key, quoted(key) + " must not be empty");
  std::vector<PlacedText> texts;
  for (const toml::node& element : *array) {
    if (const auto* string = element.as_string()) {
      texts.push_back({string->get(), place_of(element.source())});
    } else {
      problems_.add(element.source(),
                    quoted(key) + " must hold strings only, not " + std::string{describe(element)});
      texts.push_back({"", {}});
    }
  }
  return texts;
}

void TableReader::refuse(std::string_view key, std::string_view why) {
  if (find(key) != nullptr) {
    problem(key, quoted(key) + " cannot be used in " + label_ + ": " + std::string{why});
  }
}

void TableReader::problem(std::string_view key, std::string text, std::string hint) {
  const toml::node* node = table_.get(key);
  problems_.add(node == nullptr ? table_.source() : node->source(), std::move(text),
                std::move(hint));
}

void TableReader::problem_here(std::string text, std::string hint) {
  problems_.add(table_.source(), std::move(text), std::move(hint));
}

void TableReader::finish() {
  for (const auto& [key, node] : table_) {
    if (std::ranges::find(known_, key.str()) != known_.end()) continue;
    problems_.add(key.source(), "unknown key " + quoted(key.str()) + " in " + label_,
                  nearest_hint(key.str(), known_, "keys"));
  }
}

void TableReader::wrong_type(std::string_view key, std::string_view wanted,
                             const toml::node& found) {
  problem(key, quoted(key) + " must be " + std::string{wanted} + ", not " +
                   std::string{describe(found)});
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
      return "a number with a fraction";
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
                ConfigProblems& problems) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= name_bytes_max) return;
  problems.add(place, "the " + std::string{what} + " " + quoted(name) + " is not usable",
               "use 1 to 64 of a-z, 0-9, _ and -; names become part of stored keys");
}

}  // namespace onefold
