#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Sizes and durations as they are written in a configuration.
namespace onefold {

inline constexpr std::int64_t kibibyte = 1024;
inline constexpr std::int64_t mebibyte = 1024 * kibibyte;
inline constexpr std::int64_t minute_milliseconds = 60'000;

/// The bytes of "1MiB": digits and one of B, KiB, MiB, KB (1000), MB. Absent if it is no size.
std::optional<std::int64_t> size_from(std::string_view text) noexcept;
/// The reverse, with the largest unit of 1024 that divides it.
std::string size_text(std::int64_t bytes);

/// The milliseconds of "30s": digits and one of ms, s, m, h. Absent if it is no duration.
std::optional<std::int64_t> duration_from(std::string_view text) noexcept;
/// The reverse, with the largest unit that divides it.
std::string duration_text(std::int64_t milliseconds);

}  // namespace onefold
