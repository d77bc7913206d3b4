#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

/// The grammar of single JSON tokens (RFC 8259, sections 6 and 7).
namespace onefold {

/// Whether a text is exactly one JSON number.
bool is_json_number(std::string_view token) noexcept;

/// Whether a text is an integer as JSON writes it: no fraction, no exponent, no leading zero.
bool is_json_integer(std::string_view token) noexcept;

/// The value of an integer token; absent if it does not fit.
template <typename Integer>
std::optional<Integer> integer_from(std::string_view token) noexcept {
  Integer number = 0;
  if (!is_json_integer(token)) return {};
  if (std::from_chars(token.data(), token.data() + token.size(), number).ec != std::errc{})
    return {};
  return number;
}

/// Writes the content of a string (without its quotes) to `out`, which has room for as many bytes.
/// Returns the number of bytes written, or `bad_escape`: an unknown escape or a lone surrogate.
std::size_t unescape(std::string_view escaped, char* out) noexcept;
inline constexpr std::size_t bad_escape = static_cast<std::size_t>(-1);

}  // namespace onefold
