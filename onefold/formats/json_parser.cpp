#include "onefold/formats/json_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "onefold/formats/json_token.h"

namespace onefold {
namespace {

/// Offsets are 32 bits wide, and unescaped strings stand behind the text.
constexpr std::size_t text_bytes_max = 1U << 30;

/// Up to here comparing all pairs of names costs less than sorting them.
constexpr std::size_t pairs_compared_max = 16;

std::string_view trimmed(const char* begin, const char* end) {
  while (end > begin && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t'))
    --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Where the last string of a text begins.
std::size_t last_opening_quote(std::string_view text) {
  std::size_t opening = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      inside = !inside;
      if (inside) opening = at;
    }
  }
  return opening;
}

}  // namespace

bool JsonParser::parse(std::string_view text) {
  defect_.clear();
  nodes_.clear();
  open_.clear();
  if (text.size() > text_bytes_max) return fail("BAD_JSON", "more than 1 GiB of text", 0);
  copy(text);
  if (!check(index_.read({buffer_.get(), text.size()}))) return false;
  starts_ = index_.starts();
  cursor_ = 0;
  name_ = {};
  if (!read_value(take())) return false;
  while (!open_.empty()) {
    if (!read_next()) return false;
  }
  if (cursor_ < starts_.size()) return fail("BAD_JSON", "something after the value", take());
  return true;
}

bool JsonParser::fail(std::string_view code, std::string_view why, std::size_t at) {
  defect_ = fmt::format("{}: {} at byte {}", code, why, at);
  return false;
}

/// Unescaping never lengthens, so that twice the text is room enough and nothing moves later.
void JsonParser::copy(std::string_view text) {
  const std::size_t needed = 2 * text.size() + StructuralIndex::padding_bytes;
  if (capacity_ < needed) {
    capacity_ = std::max(needed, 2 * capacity_);
    buffer_.reset(new char[capacity_]);
  }
  if (!text.empty()) std::memcpy(buffer_.get(), text.data(), text.size());
  std::memset(buffer_.get() + text.size(), 0, StructuralIndex::padding_bytes);
  text_size_ = static_cast<std::uint32_t>(text.size());
  unescaped_end_ = text_size_ + static_cast<std::uint32_t>(StructuralIndex::padding_bytes);
}

bool JsonParser::check(StructuralIndex::Finding finding) {
  using Finding = StructuralIndex::Finding;
  switch (finding) {
    case Finding::fine:
      return true;
    case Finding::empty:
      defect_ = "BAD_JSON: there is no value";
      return false;
    case Finding::bad_utf8:
      defect_ = "BAD_UTF8: the text is not valid UTF-8";
      return false;
    case Finding::unclosed_string:
      return fail("BAD_JSON", "no quote closes the string",
                  last_opening_quote({buffer_.get(), text_size_}));
    case Finding::control_character:
      defect_ = "BAD_JSON: a string holds a control character that is not escaped";
      return false;
  }
  return false;
}

/// The start of the next token; behind the last one, the padding's zero byte.
std::uint32_t JsonParser::take() {
  return cursor_ < starts_.size() ? starts_[cursor_++] : text_size_;
}

/// The token that was taken last and starts at `at`.
std::string_view JsonParser::token(std::uint32_t at) const {
  const std::uint32_t end = cursor_ < starts_.size() ? starts_[cursor_] : text_size_;
  return trimmed(buffer_.get() + at, buffer_.get() + end);
}

/// Reads what follows in the innermost open container: its end, or one more child.
bool JsonParser::read_next() {
  Open& container = open_.back();
  std::uint32_t at = take();
  if (buffer_[at] == (container.object ? '}' : ']')) return close(at);
  if (container.last_child != 0) {
    if (buffer_[at] != ',') return fail("BAD_JSON", "a comma or a closing bracket is missing", at);
    at = take();
  }
  if (container.object) {
    if (!read_string(at, name_)) return false;
    const std::uint32_t colon = take();
    if (buffer_[colon] != ':') return fail("BAD_JSON", "a colon is missing", colon);
    at = take();
  }
  return read_value(at);
}

bool JsonParser::read_value(std::uint32_t at) {
  switch (buffer_[at]) {
    case '{':
      return begin(at, true);
    case '[':
      return begin(at, false);
    case '"': {
      JsonNode& node = append(JsonKind::string, at);
      node.raw.size = static_cast<std::uint32_t>(token(at).size());
      return read_string(at, node.text);
    }
    default:
      return read_scalar(at, token(at));
  }
}

bool JsonParser::read_scalar(std::uint32_t at, std::string_view text) {
  JsonKind kind = JsonKind::number;
  if (text == "true" || text == "false") {
    kind = JsonKind::boolean;
  } else if (text == "null") {
    kind = JsonKind::null;
  } else {
    if (text.size() > limits_.number_bytes_max) {
      return fail("NUMBER_TOO_LONG",
                  fmt::format("a token of more than {} bytes", limits_.number_bytes_max), at);
    }
    if (!is_json_number(text)) return fail("BAD_JSON", "this is no JSON value", at);
  }
  append(kind, at).raw.size = static_cast<std::uint32_t>(text.size());
  return true;
}

bool JsonParser::read_string(std::uint32_t at, JsonPiece& content) {
  const std::string_view quoted = token(at);
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"')
    return fail("BAD_JSON", "a string is missing", at);
  content = {at + 1, static_cast<std::uint32_t>(quoted.size() - 2)};
  const std::string_view escaped = view(content);
  if (std::memchr(escaped.data(), '\\', escaped.size()) == nullptr) return true;
  const std::size_t size = unescape(escaped, buffer_.get() + unescaped_end_);
  if (size == bad_escape)
    return fail("BAD_ESCAPE", "an unknown escape or a lone surrogate in the string", at);
  content = {unescaped_end_, static_cast<std::uint32_t>(size)};
  unescaped_end_ += content.size;
  return true;
}

JsonNode& JsonParser::append(JsonKind kind, std::uint32_t at) {
  const auto self = static_cast<std::uint32_t>(nodes_.size());
  if (!open_.empty()) {
    Open& parent = open_.back();
    if (parent.last_child != 0) nodes_[parent.last_child].next = self;
    parent.last_child = self;
  }
  JsonNode& node = nodes_.emplace_back();
  node.raw.begin = at;
  node.name = std::exchange(name_, {});
  node.kind = kind;
  return node;
}

bool JsonParser::begin(std::uint32_t at, bool object) {
  if (open_.size() >= limits_.depth_max) {
    return fail("TOO_DEEP", fmt::format("nested more than {} deep", limits_.depth_max), at);
  }
  append(object ? JsonKind::object : JsonKind::array, at);
  open_.push_back({static_cast<std::uint32_t>(nodes_.size() - 1), 0, object});
  return true;
}

bool JsonParser::close(std::uint32_t at) {
  const Open container = open_.back();
  open_.pop_back();
  JsonNode& node = nodes_[container.node];
  node.raw.size = at + 1 - node.raw.begin;
  node.has_children = container.last_child != 0;
  if (container.object && container.last_child != container.node + 1 &&
      has_duplicate(container.node)) {
    return fail("DUPLICATE_KEY", "a member name occurs twice in the object", node.raw.begin);
  }
  return true;
}

bool JsonParser::has_duplicate(std::uint32_t object) {
  if (!nodes_[object].has_children) return false;
  names_.clear();
  for (std::uint32_t child = object + 1; child != 0; child = nodes_[child].next)
    names_.push_back(view(nodes_[child].name));
  if (names_.size() > pairs_compared_max) {
    std::sort(names_.begin(), names_.end());
    return std::adjacent_find(names_.begin(), names_.end()) != names_.end();
  }
  for (auto one = names_.begin(); one != names_.end(); ++one) {
    if (std::find(names_.begin(), one, *one) != one) return true;
  }
  return false;
}

}  // namespace onefold
