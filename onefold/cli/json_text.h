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
/// RFC 4648, with padding. The reverse is in formats/text.h.
std::string encode_base64(std::string_view bytes);

/// Text that is not UTF-8 is shown with its bad bytes replaced: JSON cannot hold them.
Json json_text(std::string_view text);
/// Null if absent.
Json json_time(const std::optional<Timestamp>& time);
/// {"source", "incarnation", "partition", "at", "next"}; offsets are text, as they have 128 bits.
Json json_position(const Position& position);

/// Several lines, indented; ends with a line break. What a terminal could take for a command, such
/// as U+009B or the marks that turn text around, is escaped: JSON reads it as the same text.
std::string dumped(const Json& json);
/// The same on one line.
std::string dumped_line(const Json& json);
/// Without the line break.
std::string dumped_text(const Json& json);

/// "123", or "high-low" beyond 64 bits.
std::string offset_text(const Offset& offset);
std::string hex_text(const std::array<std::uint8_t, 16>& bytes);

/// "3:0193ab…": the scope's number and the key's bytes, as people and programs name an inbox row.
std::string key_text(const Key& key);
/// The reverse; absent if the text is none.
std::optional<Key> key_from(std::string_view text);

}  // namespace onefold::cli
