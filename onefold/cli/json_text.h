#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "onefold/event.h"

/// Our own output for programs. Events are never parsed or written with this library.
namespace onefold::cli {

using Json = nlohmann::ordered_json;

bool is_utf8(std::string_view text);
/// RFC 4648, with padding.
std::string encode_base64(std::string_view bytes);

/// Text that is not UTF-8 is shown with its bad bytes replaced: JSON cannot hold them.
Json json_text(std::string_view text);
/// Null if absent.
Json json_time(const std::optional<Timestamp>& time);
/// {"source", "incarnation", "partition", "at", "next"}; offsets are text, as they have 128 bits.
Json json_position(const Position& position);

/// Ends with a line break.
std::string dumped(const Json& json);

/// "123", or "high-low" beyond 64 bits.
std::string offset_text(const Offset& offset);
std::string hex_text(const std::array<std::uint8_t, 16>& bytes);

}  // namespace onefold::cli
