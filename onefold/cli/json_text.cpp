#include "onefold/cli/json_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "onefold/formats/text.h"

namespace onefold::cli {

bool is_utf8(std::string_view text) {
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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

}  // namespace onefold::cli
