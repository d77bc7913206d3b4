#include "onefold/formats/fields.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/json_token.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::array<std::pair<FieldType, const char*>, 9> type_names{{
    {FieldType::int64, "int64"},
    {FieldType::text, "text"},
    {FieldType::decimal, "decimal"},
    {FieldType::real, "double"},
    {FieldType::boolean, "bool"},
    {FieldType::timestamp, "timestamp"},
    {FieldType::uuid, "uuid"},
    {FieldType::bytes, "bytes"},
    {FieldType::json, "json"},
}};

/// The range is named to those only who missed nothing else.
const char* expectation(FieldType type, JsonKind there) {
  switch (type) {
    case FieldType::int64:
      return there == JsonKind::number ? "an integer within 64 bits" : "an integer";
    case FieldType::text:
      return there == JsonKind::string ? "a string without U+0000" : "a string";
    case FieldType::decimal:
      return "a number, or a string that holds one";
    case FieldType::real:
      return there == JsonKind::number ? "a number that a double can hold" : "a number";
    case FieldType::boolean:
      return "true or false";
    case FieldType::timestamp:
      return "a string with an RFC 3339 time";
    case FieldType::uuid:
      return "a string with a UUID";
    case FieldType::bytes:
      return "a string with base64";
    case FieldType::json:
      return "a value";
  }
  return "?";
}

[[noreturn]] void refuse(std::string_view pointer, std::string_view wanted,
                         std::string_view there) {
  throw Error{ErrorKind::permanent, fmt::format("The field {} must be {}, but it is {}.",
                                                pointer.empty() ? "\"\"" : pointer, wanted, there)};
}

/// Says why a value does not fit by its kind only: the value may be secret.
std::string misfit(const JsonValue& value, FieldType type) {
  const bool number = value.kind() == JsonKind::number;
  if (number && type == FieldType::int64 && !is_json_integer(value.raw()))
    return "a number with a fraction or an exponent";
  if (number && (type == FieldType::int64 || type == FieldType::real)) return "out of range";
  if (value.kind() != JsonKind::string) return to_string(value.kind());
  switch (type) {
    case FieldType::text:
      return "a string that holds one";
    case FieldType::decimal:
    case FieldType::timestamp:
    case FieldType::uuid:
    case FieldType::bytes:
      return "a string that holds none";
    default:
      return "a string";
  }
}

/// Infinities and numbers too small to tell from zero are no doubles.
std::optional<Value> double_from(std::string_view token) {
  double number = 0;
  if (std::from_chars(token.data(), token.data() + token.size(), number).ec != std::errc{})
    return {};
  return Value{number};
}

std::optional<Value> uuid_from(std::string_view text) {
  if (text.size() != 36) return {};
  std::string uuid{text};
  for (std::size_t index = 0; index < uuid.size(); ++index) {
    char& character = uuid[index];
    if (character >= 'A' && character <= 'F') character = static_cast<char>(character | 0x20);
    const bool dash = index == 8 || index == 13 || index == 18 || index == 23;
    const bool digit =
        (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f');
    if (dash ? character != '-' : !digit) return {};
  }
  return Value{std::move(uuid)};
}

std::optional<Value> from_string(std::string_view text, FieldType type) {
  switch (type) {
    case FieldType::text:
      // One verdict on all databases: PostgreSQL has no U+0000 in its texts (B11).
      if (text.find('\0') != std::string_view::npos) return {};
      return Value{std::string{text}};
    case FieldType::decimal:
      if (!is_json_number(text)) return {};
      return Value{std::string{text}};
    case FieldType::timestamp: {
      const auto time = parse_rfc3339(text);
      if (!time) return {};
      return Value{format_rfc3339(*time)};
    }
    case FieldType::uuid:
      return uuid_from(text);
    case FieldType::bytes: {
      auto bytes = decode_base64(text);
      if (!bytes) return {};
      return Value{std::move(*bytes)};
    }
    default:
      return {};
  }
}

std::optional<Value> from_number(std::string_view token, FieldType type) {
  switch (type) {
    case FieldType::int64:
      return integer_from<std::int64_t>(token);
    case FieldType::real:
      return double_from(token);
    case FieldType::decimal:
      return Value{std::string{token}};
    default:
      return {};
  }
}

std::optional<Value> convert(const JsonValue& value, FieldType type) {
  if (type == FieldType::json) return Value{std::string{value.raw()}};
  switch (value.kind()) {
    case JsonKind::boolean:
      return type == FieldType::boolean ? std::optional{Value{value.is_true()}} : std::nullopt;
    case JsonKind::number:
      return from_number(value.raw(), type);
    case JsonKind::string:
      return from_string(value.text(), type);
    default:
      return {};
  }
}

}  // namespace

const char* to_string(FieldType type) noexcept {
  for (const auto& [known, name] : type_names) {
    if (known == type) return name;
  }
  return "?";
}

std::optional<FieldType> field_type_from(std::string_view name) noexcept {
  for (const auto& [type, known] : type_names) {
    if (known == name) return type;
  }
  return {};
}

std::optional<Value> extract(const JsonValue& data, std::string_view pointer, FieldType type) {
  const auto field = data.at(pointer);
  if (!field || field->kind() == JsonKind::null) return {};
  auto value = convert(*field, type);
  if (!value) refuse(pointer, expectation(type, field->kind()), misfit(*field, type));
  return value;
}

Fields::Fields(const Event& event) {
  if (event.data && !is_json(event.content_type)) {
    throw Error{ErrorKind::permanent,
                "The event's data has no fields: its content type is not JSON."};
  }
  // Absent data has no fields, just as null has none.
  if (!document_.parse(event.data ? std::string_view{*event.data} : "null")) {
    throw Error{ErrorKind::permanent,
                "The event's data has no fields: it is not valid JSON. " + document_.defect()};
  }
}

Fields::~Fields() = default;

std::int64_t Fields::int64(std::string_view pointer) const {
  return std::get<std::int64_t>(value(pointer, FieldType::int64));
}

std::string Fields::text(std::string_view pointer) const {
  return std::get<std::string>(value(pointer, FieldType::text));
}

Value Fields::value(std::string_view pointer, FieldType type) const {
  auto value = extract(document_.root(), pointer, type);
  if (!value) refuse(pointer, expectation(type, JsonKind::null), "missing or null");
  return std::move(*value);
}

Value Fields::optional_value(std::string_view pointer, FieldType type) const {
  return extract(document_.root(), pointer, type).value_or(Value{});
}

}  // namespace onefold
