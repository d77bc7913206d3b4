#include "onefold/formats/stored_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "onefold/error.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t scope_bytes = 4;
constexpr std::size_t key_bytes = 16;

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", c);
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  }
  return json += '"';
}

/// The text as a JSON string; absent if it is not UTF-8.
std::optional<std::string> quoted_utf8(std::string_view text, JsonDocument& document) {
  std::string json = quoted(text);
  if (!document.parse(json)) return {};
  return json;
}

std::string text_or_hex(std::string_view text, JsonDocument& document) {
  if (auto json = quoted_utf8(text, document)) return *std::move(json);
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return R"({"hex":")" + hex + "\"}";
}

[[noreturn]] void refuse() {
  throw Error{ErrorKind::bad_configuration,
              "a row of onefold_deferred holds a list that Onefold has not written; "
              "restore the table from a backup if it was edited"};
}

JsonValue parse_list(JsonDocument& document, std::string_view json) {
  if (!document.parse(json) || document.root().kind() != JsonKind::array) refuse();
  return document.root();
}

std::string text_of(const std::optional<JsonValue>& value) {
  if (value && value->kind() == JsonKind::string) return std::string{value->text()};
  const auto hex = value ? value->member("hex") : std::nullopt;
  if (!hex || hex->kind() != JsonKind::string || hex->text().size() % 2 != 0) refuse();
  std::string text;
  for (std::string_view rest = hex->text(); !rest.empty(); rest.remove_prefix(2)) {
    unsigned char byte = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + 2, byte, 16);
    if (read.ptr != rest.data() + 2) refuse();
    text += static_cast<char>(byte);
  }
  return text;
}

}  // namespace

std::string json_of_headers(const Headers& headers) {
  JsonDocument document;
  std::string json = "[";
  for (const auto& [name, value] : headers) {
    if (json.size() > 1) json += ',';
    json += '[' + text_or_hex(name, document) + ',' + text_or_hex(value, document) + ']';
  }
  return json += ']';
}

Headers headers_from(std::string_view json) {
  JsonDocument document;
  Headers headers;
  for (auto each = parse_list(document, json).first(); each; each = each->next()) {
    const auto name = each->first();
    headers.emplace_back(text_of(name), text_of(name ? name->next() : std::nullopt));
  }
  return headers;
}

std::string json_of_errors(std::span<const std::string> errors) {
  JsonDocument document;
  std::string json = "[";
  for (const std::string& error : errors) {
    if (json.size() > 1) json += ',';
    const auto exact = quoted_utf8(error, document);
    json += exact ? *exact : quoted(printable(error, std::string::npos));
  }
  return json += ']';
}

std::vector<std::string> errors_from(std::string_view json) {
  JsonDocument document;
  std::vector<std::string> errors;
  for (auto each = parse_list(document, json).first(); each; each = each->next()) {
    if (each->kind() != JsonKind::string) refuse();
    errors.emplace_back(each->text());
  }
  return errors;
}

std::vector<std::uint8_t> bytes_of_keys(std::span<const Key> keys) {
  std::vector<std::uint8_t> bytes;
  for (const Key& key : keys) {
    const auto scope = static_cast<std::uint32_t>(key.scope);
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(scope >> shift));
    bytes.insert(bytes.end(), key.bytes.begin(), key.bytes.end());
  }
  return bytes;
}

std::vector<Key> keys_from(std::span<const std::uint8_t> bytes) {
  std::vector<Key> keys;
  for (; bytes.size() >= scope_bytes + key_bytes; bytes = bytes.subspan(scope_bytes + key_bytes)) {
    std::uint32_t scope = 0;
    for (const std::uint8_t byte : bytes.first(scope_bytes)) scope = scope << 8U | byte;
    Key key{.scope = static_cast<std::int32_t>(scope)};
    std::ranges::copy(bytes.subspan(scope_bytes, key_bytes), key.bytes.begin());
    keys.push_back(key);
  }
  return keys;
}

}  // namespace onefold
