#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/formats/json.h"
#include "onefold/formats/structural_index.h"

namespace onefold {

/// A part of the parser's memory.
struct JsonPiece {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

/// Children follow their container directly, so that only siblings need a link.
struct JsonNode {
  JsonPiece raw;
  JsonPiece text;  ///< A string's content.
  JsonPiece name;
  std::uint32_t next = 0;  ///< 0 for the last: the root is nobody's sibling.
  JsonKind kind = JsonKind::null;
  bool has_children = false;
};

/// One walk over the tokens of a text builds its nodes. Nothing is recursive, and nothing is
/// skipped, so that what was accepted is valid to its last byte.
class JsonParser {
 public:
  explicit JsonParser(JsonLimits limits) : limits_{limits} {}
  bool parse(std::string_view text);
  const std::string& defect() const noexcept { return defect_; }
  const JsonNode& node(std::uint32_t index) const noexcept { return nodes_[index]; }
  std::string_view view(JsonPiece piece) const noexcept {
    return {buffer_.get() + piece.begin, piece.size};
  }

 private:
  /// A container that is not closed yet.
  struct Open {
    std::uint32_t node = 0;
    std::uint32_t last_child = 0;
    bool object = false;
  };

  bool fail(std::string_view code, std::string_view why, std::size_t at);
  void copy(std::string_view text);
  bool check(StructuralIndex::Finding finding);
  std::uint32_t take();
  std::string_view token(std::uint32_t at) const;
  bool read_next();
  bool read_value(std::uint32_t at);
  bool read_scalar(std::uint32_t at, std::string_view text);
  bool read_string(std::uint32_t at, JsonPiece& content);
  JsonNode& append(JsonKind kind, std::uint32_t at);
  bool begin(std::uint32_t at, bool object);
  bool close(std::uint32_t at);
  bool has_duplicate(std::uint32_t object);

  JsonLimits limits_;
  StructuralIndex index_;
  std::string defect_;
  std::vector<JsonNode> nodes_;
  std::unique_ptr<char[]> buffer_;  ///< The text, its padding, and strings without their escapes.
  std::size_t capacity_ = 0;
  std::uint32_t text_size_ = 0;
  std::uint32_t unescaped_end_ = 0;
  std::span<const std::uint32_t> starts_;
  std::size_t cursor_ = 0;
  std::vector<Open> open_;
  JsonPiece name_;  ///< Of the value that comes next.
  std::vector<std::string_view> names_;
};

}  // namespace onefold
