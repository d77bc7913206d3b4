#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

/// Text forms that the standards fix: RFC 3339 times, RFC 4648 base64, and safe display.
namespace onefold {

/// RFC 3339: any offset, lower-case t and z, a fraction of any length (cut to microseconds), a leap
/// second read as the last microsecond of its minute. Absent if it is not one, or out of range.
std::optional<Timestamp> parse_rfc3339(std::string_view text) noexcept;
/// "2026-11-30T14:00:00Z"; with a fraction of 6 digits if it has one.
std::string format_rfc3339(Timestamp time);

/// Strict: padding required, no white space, no stray bits.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

/// For terminals and logs: control characters, invalid UTF-8 and direction overrides become \u00XX
/// or \xXX; more than `bytes_max` is cut and marked with "…".
std::string printable(std::string_view text, std::size_t bytes_max = 200);
/// On one line: white space, however much of it, becomes one blank, and none at the ends.
std::string single_spaced(std::string_view text);

}  // namespace onefold
