#include "onefold/formats/json.h"

#include <algorithm>
#include <cassert>

#include "onefold/formats/json_parser.h"
#include "onefold/formats/json_token.h"

namespace onefold {
namespace {

/// Recursion over a document's nodes must be safe for everybody.
constexpr std::size_t depth_limit = 1000;

JsonLimits capped(JsonLimits limits) {
  limits.depth_max = std::min(limits.depth_max, depth_limit);
  return limits;
}

/// The first reference token of a pointer that starts with '/'; the rest stays in `pointer`.
std::string_view take_reference(std::string_view& pointer) {
  pointer.remove_prefix(1);
  const std::string_view token = pointer.substr(0, pointer.find('/'));
  pointer.remove_prefix(token.size());
  return token;
}

/// Compares a name with a reference token in which "~0" stands for '~' and "~1" for '/'.
bool refers_to(std::string_view token, std::string_view name) {
  if (token.find('~') == std::string_view::npos) return token == name;
  for (const char character : name) {
    if (token.empty()) return false;
    char wanted = token.front();
    token.remove_prefix(1);
    if (wanted == '~') {
      if (token.empty()) return false;
      wanted = token.front() == '0' ? '~' : '/';
      token.remove_prefix(1);
    }
    if (wanted != character) return false;
  }
  return token.empty();
}

/// An array index has no sign and no leading zero; absent for "-", which is behind the end.
std::optional<std::size_t> array_index(std::string_view token) {
  if (token.size() > 9 || !is_json_integer(token) || token.front() == '-') return {};
  std::size_t index = 0;
  for (const char character : token) index = index * 10 + static_cast<std::size_t>(character - '0');
  return index;
}

}  // namespace

const char* to_string(JsonKind kind) noexcept {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return "a boolean";
    case JsonKind::number:
      return "a number";
    case JsonKind::string:
      return "a string";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
  }
  return "?";
}

struct JsonDocument::State {
  explicit State(JsonLimits limits) : parser{limits} {}
  JsonParser parser;
};

JsonDocument::JsonDocument(JsonLimits limits) : state_{std::make_unique<State>(capped(limits))} {}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

bool JsonDocument::parse(std::string_view text) {
  return state_->parser.parse(text);
}
const std::string& JsonDocument::defect() const noexcept {
  return state_->parser.defect();
}

JsonValue JsonDocument::root() const noexcept {
  assert(state_->parser.defect().empty());
  return JsonValue{this, 0};
}

JsonKind JsonValue::kind() const noexcept {
  return document_->state_->parser.node(index_).kind;
}

std::string_view JsonValue::raw() const noexcept {
  return document_->state_->parser.view(document_->state_->parser.node(index_).raw);
}

std::string_view JsonValue::text() const noexcept {
  assert(kind() == JsonKind::string);
  return document_->state_->parser.view(document_->state_->parser.node(index_).text);
}

std::string_view JsonValue::name() const noexcept {
  return document_->state_->parser.view(document_->state_->parser.node(index_).name);
}

bool JsonValue::is_true() const noexcept {
  return kind() == JsonKind::boolean && raw() == "true";
}

std::optional<JsonValue> JsonValue::first() const noexcept {
  const JsonNode& node = document_->state_->parser.node(index_);
  if (!node.has_children) return {};
  return JsonValue{document_, index_ + 1};
}

std::optional<JsonValue> JsonValue::next() const noexcept {
  const std::uint32_t next = document_->state_->parser.node(index_).next;
  if (next == 0) return {};
  return JsonValue{document_, next};
}

std::optional<JsonValue> JsonValue::member(std::string_view name) const noexcept {
  if (kind() != JsonKind::object) return {};
  auto child = first();
  while (child && child->name() != name) child = child->next();
  return child;
}

std::optional<JsonValue> JsonValue::at(std::string_view pointer) const noexcept {
  std::optional<JsonValue> place = *this;
  while (place && !pointer.empty()) {
    const std::string_view token = take_reference(pointer);
    const bool in_object = place->kind() == JsonKind::object;
    auto index = array_index(token);
    if (!in_object && (place->kind() != JsonKind::array || !index)) return {};
    place = place->first();
    while (place && (in_object ? !refers_to(token, place->name()) : (*index)-- != 0))
      place = place->next();
  }
  return place;
}

std::string pointer_defect(std::string_view pointer) {
  if (pointer.empty()) return {};
  if (pointer.front() != '/')
    return "a JSON Pointer is empty or starts with '/', for example \"/account_id\"";
  for (std::size_t at = pointer.find('~'); at != std::string_view::npos;
       at = pointer.find('~', at + 1)) {
    if (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))
      return "in a JSON Pointer '~' is written \"~0\" and '/' in a name \"~1\"";
  }
  return {};
}

}  // namespace onefold
