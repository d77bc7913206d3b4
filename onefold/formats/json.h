#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace onefold {

struct JsonLimits {
  std::size_t depth_max = 64;           ///< Nested arrays and objects; 1,000 at most.
  std::size_t number_bytes_max = 1024;  ///< Of one number token.
};

enum class JsonKind { null, boolean, number, string, array, object };
const char* to_string(JsonKind kind) noexcept;

class JsonDocument;

/// A place in a parsed document. A light view: valid until the document parses again.
class JsonValue {
 public:
  JsonKind kind() const noexcept;
  /// The bytes of the value as they stand in the text. Number tokens are exactly these: no number
  /// ever passes through a double.
  std::string_view raw() const noexcept;
  /// A string's content, unescaped. Only for strings.
  std::string_view text() const noexcept;
  /// The name of this member in its object, unescaped; empty elsewhere.
  std::string_view name() const noexcept;
  bool is_true() const noexcept;

  /// First child and next sibling, in the order of the text.
  std::optional<JsonValue> first() const noexcept;
  std::optional<JsonValue> next() const noexcept;
  /// The member of an object; absent if it has none or this is no object.
  std::optional<JsonValue> member(std::string_view name) const noexcept;
  /// The value at a JSON Pointer (RFC 6901); the empty pointer is this value. `pointer` must have
  /// passed `pointer_defect`.
  std::optional<JsonValue> at(std::string_view pointer) const noexcept;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index)
      : document_{document}, index_{index} {}
  const JsonDocument* document_;
  std::uint32_t index_;
};

/// One strict RFC 8259 text, parsed once and kept as a flat list of nodes. Reusable: parsing again
/// keeps the memory. Used by one thread.
///
/// Refused, because two parsers may disagree about them: duplicate member names, invalid UTF-8,
/// lone surrogates, anything after the value, nesting or numbers beyond the limits.
class JsonDocument {
 public:
  explicit JsonDocument(JsonLimits limits = {});
  ~JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;

  /// Copies and parses `text`. Returns false if it is not acceptable; `defect` then says why, as
  /// "CODE: why", with one of the codes BAD_JSON, BAD_UTF8, BAD_ESCAPE, DUPLICATE_KEY, TOO_DEEP,
  /// NUMBER_TOO_LONG.
  bool parse(std::string_view text);
  const std::string& defect() const noexcept;
  /// Only after a successful `parse`.
  JsonValue root() const noexcept;

 private:
  friend class JsonValue;
  struct State;
  std::unique_ptr<State> state_;
};

/// Why a text is no JSON Pointer; empty if it is one.
std::string pointer_defect(std::string_view pointer);

}  // namespace onefold
