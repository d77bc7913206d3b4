#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "onefold/event.h"
#include "onefold/formats/json.h"
#include "onefold/store.h"

namespace onefold {

/// What a field of an event's data must be. No number passes through a double, but for `real`.
enum class FieldType {
  int64,      ///< An integer token within 64 bits; 1.0 and 1e3 are refused. Bound as an integer.
  text,       ///< A JSON string without U+0000, which not every database can hold (B11).
  decimal,    ///< A number token, or a string that holds one; bound as its exact text.
  real,       ///< "double" in configuration: a finite number.
  boolean,    ///< true or false.
  timestamp,  ///< RFC 3339; bound as UTC text "2026-11-30T14:00:00Z", with a fraction if there is
              ///< one.
  uuid,       ///< Bound as lower-case text.
  bytes,      ///< Base64 text; bound as bytes.
  json,       ///< Any value; bound as its text, as it stands in the event.
};
/// The name in configuration ("int64", "double", "bool", ...), and back.
const char* to_string(FieldType type) noexcept;
std::optional<FieldType> field_type_from(std::string_view name) noexcept;

/// The value at `pointer`, typed. Absent if it is missing or null. Throws `Error` of kind
/// `permanent`, naming the pointer, what was expected and what is there, never the value itself.
std::optional<Value> extract(const JsonValue& data, std::string_view pointer, FieldType type);

/// Typed access to an event's data for handlers in C++:
///
///     Fields fields{event};
///     context.sql().execute("...", {{"amount", fields.int64("/amount")}});
///
/// A field that is missing, mistyped or out of range throws `Error` of kind `permanent`: the event
/// is dead with the pointer named.
class Fields {
 public:
  explicit Fields(const Event& event);
  ~Fields();
  std::int64_t int64(std::string_view pointer) const;
  std::string text(std::string_view pointer) const;
  /// Any type, as SQL wants it.
  Value value(std::string_view pointer, FieldType type) const;
  /// The same, or NULL if the field is missing or null.
  Value optional_value(std::string_view pointer, FieldType type) const;

 private:
  JsonDocument document_;
};

}  // namespace onefold
