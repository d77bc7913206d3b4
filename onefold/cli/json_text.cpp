#include "onefold/cli/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

/// ASCII, up to the tilde.
bool is_plain(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x7F;
}

/// Characters that are not ASCII stand only within strings, so that they can be escaped there after
/// the fact.
std::string escaped(std::string text) {
  if (std::ranges::all_of(text, is_plain)) return text;
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const std::string_view character = std::string_view{text}.substr(at, size);
    const std::string shown = is_plain(text[at]) ? std::string{} : printable(character);
    // The library has escaped what needs it below 0x7F; line breaks between members are notation.
    safe += shown.starts_with("\\u") ? std::string_view{shown} : character;
    at += size;
  }
  return safe;
}

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

bool is_utf8(std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) return true;  // The most part of all texts.
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto byte = i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U;
      group = group << 8U | byte;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? digits[group >> (18U - 6U * i) & 63U] : '=';
    }
  }
  return text;
}

Json json_text(std::string_view text) {
  return is_utf8(text) ? Json(text) : Json(printable(text, 4 * text.size() + 1));
}

Json json_time(const std::optional<Timestamp>& time) {
  return time ? Json(format_rfc3339(*time)) : Json(nullptr);
}

Json json_position(const Position& position) {
  Json json;
  json["source"] = json_text(position.partition->source);
  json["incarnation"] = json_text(position.partition->incarnation);
  json["partition"] = json_text(position.partition->name);
  json["at"] = offset_text(position.at);
  json["next"] = offset_text(position.next);
  return json;
}

std::string dumped(const Json& json) {
  return escaped(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string dumped_line(const Json& json) {
  return dumped_text(json) + "\n";
}

std::string dumped_text(const Json& json) {
  return escaped(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string offset_text(const Offset& offset) {
  return (offset.high == 0 ? "" : std::to_string(offset.high) + "-") + std::to_string(offset.low);
}

std::string hex_text(const std::array<std::uint8_t, 16>& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string key_text(const Key& key) {
  return std::to_string(key.scope) + ":" + hex_text(key.bytes);
}

std::optional<Key> key_from(std::string_view text) {
  Key key;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() != colon + 1 + 2 * key.bytes.size()) return {};
  const auto number = std::from_chars(text.data(), text.data() + colon, key.scope);
  if (number.ec != std::errc{} || number.ptr != text.data() + colon) return {};
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    const auto high = hex_digit(text[colon + 1 + 2 * i]);
    const auto low = hex_digit(text[colon + 2 + 2 * i]);
    if (!high || !low) return {};
    key.bytes[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return key;
}

}  // namespace onefold::cli
