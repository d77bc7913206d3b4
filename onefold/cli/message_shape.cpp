#include "onefold/cli/message_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace onefold::cli {
namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
/// Also what is no ASCII: a letter of some alphabet.
bool is_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Each `measure` says how many bytes at the beginning of a text are of its kind; 0: none.
std::size_t hex_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_hex) - text.begin());
}

std::size_t measure_uuid(std::string_view text) {
  constexpr std::array<std::size_t, 5> groups{8, 4, 4, 4, 12};
  std::size_t at = 0;
  for (const std::size_t size : groups) {
    if (at > 0) {
      if (at >= text.size() || text[at] != '-') return 0;
      ++at;
    }
    if (hex_digits(text.substr(at)) != size) return 0;
    at += size;
  }
  return at < text.size() && is_word(text[at]) ? 0 : at;
}

std::size_t measure_hex(std::string_view text) {
  constexpr std::size_t least = 8;
  const bool marked = text.starts_with("0x") || text.starts_with("0X");
  const std::size_t digits = hex_digits(text.substr(marked ? 2 : 0));
  const std::size_t size = digits + (marked ? 2 : 0);
  if (digits == 0 || (size < text.size() && is_word(text[size]))) return 0;
  if (marked) return size;
  const auto numbers = std::ranges::count_if(text.substr(0, size), is_digit);
  const bool mixed = numbers > 0 && numbers < static_cast<std::ptrdiff_t>(size);
  return digits >= least && mixed ? size : 0;
}

/// Digits, with what stands between them in decimals and in times.
std::size_t measure_number(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) {
    while (at < text.size() && is_digit(text[at])) ++at;
    const bool goes_on = at + 1 < text.size() && is_digit(text[at + 1]) &&
                         std::string_view{".,:"}.find(text[at]) != std::string_view::npos;
    if (!goes_on) return at;
    ++at;
  }
  return at;
}

/// The text may be a shape already, which is its own shape: what stands for a word is one.
std::size_t measure_placeholder(std::string_view text) {
  for (const std::string_view each : {"<n>", "<hex>", "<uuid>"}) {
    if (text.starts_with(each)) return each.size();
  }
  return 0;
}

bool begins_word(std::string_view text) {
  return (!text.empty() && is_word(text.front())) || measure_placeholder(text) > 0;
}

/// Up to the closing quote. An apostrophe within a word closes nothing.
std::size_t measure_quoted(std::string_view text) {
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != quote) continue;
    const bool within_word = quote == '\'' && begins_word(text.substr(at + 1));
    if (!within_word) return at + 1;
  }
  return 0;
}

struct Piece {
  std::size_t size = 0;
  std::string shape;
  bool is_word = false;
};

/// What the text begins with; a single character if it is nothing else.
Piece piece_at(std::string_view text, bool in_word) {
  const char first = text.front();
  if (const std::size_t size = measure_placeholder(text); size > 0) {
    return {size, std::string{text.substr(0, size)}, true};
  }
  // An underline joins what differs to what does not, as in evt_12.
  Piece character{1, std::string{first}, is_word(first) && first != '_'};
  if (first == '"' || first == '`' || (first == '\'' && !in_word)) {
    const std::size_t size = measure_quoted(text);
    return size > 0 ? Piece{size, first + std::string{"…"} + first} : character;
  }
  if (in_word) return character;
  if (const std::size_t size = measure_uuid(text); size > 0) return {size, "<uuid>", true};
  if (const std::size_t size = measure_hex(text); size > 0) return {size, "<hex>", true};
  if (const std::size_t size = measure_number(text); size > 0) return {size, "<n>", true};
  return character;
}

}  // namespace

std::string shape_of(std::string_view message) {
  std::string shape;
  bool in_word = false;
  for (std::size_t at = 0; at < message.size();) {
    const Piece piece = piece_at(message.substr(at), in_word);
    shape += piece.shape;
    at += piece.size;
    in_word = piece.is_word;
  }
  return shape;
}

}  // namespace onefold::cli
