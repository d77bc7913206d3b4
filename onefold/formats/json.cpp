#include "onefold/formats/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "onefold/formats/json_token.h"
#include "onefold/formats/structural_index.h"

namespace onefold {
namespace {

/// Offsets are 32 bits wide, and unescaped strings stand behind the text.
constexpr std::size_t text_bytes_max = 1U << 30;

/// Recursion over a document's nodes must be safe for everybody.
constexpr std::size_t depth_limit = 1000;

/// Up to here comparing all pairs of names costs less than sorting them.
constexpr std::size_t pairs_compared_max = 16;

struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

/// Children follow their container directly, so that only siblings need a link.
struct Node {
  Piece raw;
  Piece text;  ///< Of a container: `size` tells whether it has children.
  Piece name;
  std::uint32_t next = 0;  ///< 0 for the last: the root is nobody's sibling.
  JsonKind kind = JsonKind::null;
};

/// A container that is not closed yet.
struct Open {
  std::uint32_t node = 0;
  std::uint32_t last_child = 0;
  bool object = false;
};

std::string_view trimmed(const char* begin, const char* end) {
  while (end > begin && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t'))
    --end;
  return {begin, static_cast<std::size_t>(end - begin)};
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

/// The parser: one walk over the tokens builds the nodes. Nothing is recursive, and nothing is
/// skipped, so that what was accepted is valid to its last byte.
struct JsonDocument::State {
  JsonLimits limits;
  StructuralIndex index;
  std::string defect;
  std::vector<Node> nodes;

  std::string_view view(Piece piece) const { return {buffer.get() + piece.begin, piece.size}; }

  bool parse(std::string_view text) {
    defect.clear();
    nodes.clear();
    open.clear();
    if (text.size() > text_bytes_max) return fail("BAD_JSON", "more than 1 GiB of text", 0);
    copy(text);
    if (!check(index.read({buffer.get(), text.size()}))) return false;
    starts = index.starts();
    cursor = 0;
    name = {};
    if (!read_value(take())) return false;
    while (!open.empty()) {
      if (!read_next()) return false;
    }
    if (cursor < starts.size()) return fail("BAD_JSON", "something after the value", take());
    return true;
  }

 private:
  std::unique_ptr<char[]> buffer;  ///< The text, its padding, and strings without their escapes.
  std::size_t capacity = 0;
  std::uint32_t text_size = 0;
  std::uint32_t unescaped_end = 0;
  std::span<const std::uint32_t> starts;
  std::size_t cursor = 0;
  std::vector<Open> open;
  Piece name;  ///< Of the value that comes next.
  std::vector<std::string_view> names;

  bool fail(std::string_view code, std::string_view why, std::size_t at) {
    defect = fmt::format("{}: {} at byte {}", code, why, at);
    return false;
  }

  /// Unescaping never lengthens, so that twice the text is room enough and nothing moves later.
  void copy(std::string_view text) {
    const std::size_t needed = 2 * text.size() + StructuralIndex::padding_bytes;
    if (capacity < needed) {
      capacity = std::max(needed, 2 * capacity);
      buffer.reset(new char[capacity]);
    }
    if (!text.empty()) std::memcpy(buffer.get(), text.data(), text.size());
    std::memset(buffer.get() + text.size(), 0, StructuralIndex::padding_bytes);
    text_size = static_cast<std::uint32_t>(text.size());
    unescaped_end = text_size + static_cast<std::uint32_t>(StructuralIndex::padding_bytes);
  }

  bool check(StructuralIndex::Finding finding) {
    using Finding = StructuralIndex::Finding;
    switch (finding) {
      case Finding::fine:
        return true;
      case Finding::empty:
        defect = "BAD_JSON: there is no value";
        return false;
      case Finding::bad_utf8:
        defect = "BAD_UTF8: the text is not valid UTF-8";
        return false;
      case Finding::unclosed_string:
        defect = "BAD_JSON: a string does not end";
        return false;
      case Finding::control_character:
        defect = "BAD_JSON: a string holds a control character that is not escaped";
        return false;
    }
    return false;
  }

  /// The start of the next token; behind the last one, the padding's zero byte.
  std::uint32_t take() { return cursor < starts.size() ? starts[cursor++] : text_size; }

  /// The token that was taken last and starts at `at`.
  std::string_view token(std::uint32_t at) const {
    const std::uint32_t end = cursor < starts.size() ? starts[cursor] : text_size;
    return trimmed(buffer.get() + at, buffer.get() + end);
  }

  /// Reads what follows in the innermost open container: its end, or one more child.
  bool read_next() {
    Open& container = open.back();
    std::uint32_t at = take();
    if (buffer[at] == (container.object ? '}' : ']')) return close(at);
    if (container.last_child != 0) {
      if (buffer[at] != ',') return fail("BAD_JSON", "a comma or a closing bracket is missing", at);
      at = take();
    }
    if (container.object) {
      if (!read_string(at, name)) return false;
      const std::uint32_t colon = take();
      if (buffer[colon] != ':') return fail("BAD_JSON", "a colon is missing", colon);
      at = take();
    }
    return read_value(at);
  }

  bool read_value(std::uint32_t at) {
    switch (buffer[at]) {
      case '{':
        return begin(at, true);
      case '[':
        return begin(at, false);
      case '"': {
        Node& node = append(JsonKind::string, at);
        node.raw.size = static_cast<std::uint32_t>(token(at).size());
        return read_string(at, node.text);
      }
      default:
        return read_scalar(at, token(at));
    }
  }

  bool read_scalar(std::uint32_t at, std::string_view text) {
    JsonKind kind = JsonKind::number;
    if (text == "true" || text == "false") {
      kind = JsonKind::boolean;
    } else if (text == "null") {
      kind = JsonKind::null;
    } else {
      if (text.size() > limits.number_bytes_max) {
        return fail("NUMBER_TOO_LONG",
                    fmt::format("a token of more than {} bytes", limits.number_bytes_max), at);
      }
      if (!is_json_number(text)) return fail("BAD_JSON", "this is no JSON value", at);
    }
    append(kind, at).raw.size = static_cast<std::uint32_t>(text.size());
    return true;
  }

  bool read_string(std::uint32_t at, Piece& content) {
    const std::string_view quoted = token(at);
    if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"')
      return fail("BAD_JSON", "a string is missing", at);
    content = {at + 1, static_cast<std::uint32_t>(quoted.size() - 2)};
    const std::string_view escaped = view(content);
    if (std::memchr(escaped.data(), '\\', escaped.size()) == nullptr) return true;
    const std::size_t size = unescape(escaped, buffer.get() + unescaped_end);
    if (size == bad_escape)
      return fail("BAD_ESCAPE", "an unknown escape or a lone surrogate in the string", at);
    content = {unescaped_end, static_cast<std::uint32_t>(size)};
    unescaped_end += content.size;
    return true;
  }

  Node& append(JsonKind kind, std::uint32_t at) {
    const auto self = static_cast<std::uint32_t>(nodes.size());
    if (!open.empty()) {
      Open& parent = open.back();
      if (parent.last_child != 0) nodes[parent.last_child].next = self;
      parent.last_child = self;
    }
    Node& node = nodes.emplace_back();
    node.raw.begin = at;
    node.name = std::exchange(name, {});
    node.kind = kind;
    return node;
  }

  bool begin(std::uint32_t at, bool object) {
    if (open.size() >= limits.depth_max) {
      return fail("TOO_DEEP", fmt::format("nested more than {} deep", limits.depth_max), at);
    }
    append(object ? JsonKind::object : JsonKind::array, at);
    open.push_back({static_cast<std::uint32_t>(nodes.size() - 1), 0, object});
    return true;
  }

  bool close(std::uint32_t at) {
    const Open container = open.back();
    open.pop_back();
    Node& node = nodes[container.node];
    node.raw.size = at + 1 - node.raw.begin;
    node.text.size = container.last_child != 0 ? 1 : 0;
    if (container.object && container.last_child != container.node + 1 &&
        has_duplicate(container.node)) {
      return fail("DUPLICATE_KEY", "a member name occurs twice in the object", node.raw.begin);
    }
    return true;
  }

  bool has_duplicate(std::uint32_t object) {
    if (nodes[object].text.size == 0) return false;
    names.clear();
    for (std::uint32_t child = object + 1; child != 0; child = nodes[child].next)
      names.push_back(view(nodes[child].name));
    if (names.size() > pairs_compared_max) {
      std::sort(names.begin(), names.end());
      return std::adjacent_find(names.begin(), names.end()) != names.end();
    }
    for (auto one = names.begin(); one != names.end(); ++one) {
      if (std::find(names.begin(), one, *one) != one) return true;
    }
    return false;
  }
};

JsonDocument::JsonDocument(JsonLimits limits) : state_{std::make_unique<State>()} {
  limits.depth_max = std::min(limits.depth_max, depth_limit);
  state_->limits = limits;
}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

bool JsonDocument::parse(std::string_view text) {
  return state_->parse(text);
}
const std::string& JsonDocument::defect() const noexcept {
  return state_->defect;
}

JsonValue JsonDocument::root() const noexcept {
  assert(!state_->nodes.empty() && state_->defect.empty());
  return JsonValue{this, 0};
}

JsonKind JsonValue::kind() const noexcept {
  return document_->state_->nodes[index_].kind;
}

std::string_view JsonValue::raw() const noexcept {
  return document_->state_->view(document_->state_->nodes[index_].raw);
}

std::string_view JsonValue::text() const noexcept {
  assert(kind() == JsonKind::string);
  return document_->state_->view(document_->state_->nodes[index_].text);
}

std::string_view JsonValue::name() const noexcept {
  return document_->state_->view(document_->state_->nodes[index_].name);
}

bool JsonValue::is_true() const noexcept {
  return kind() == JsonKind::boolean && raw() == "true";
}

std::optional<JsonValue> JsonValue::first() const noexcept {
  const Node& node = document_->state_->nodes[index_];
  if (node.kind < JsonKind::array || node.text.size == 0) return {};
  return JsonValue{document_, index_ + 1};
}

std::optional<JsonValue> JsonValue::next() const noexcept {
  const std::uint32_t next = document_->state_->nodes[index_].next;
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
