#include "onefold/formats/json_token.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace onefold {
namespace {

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// Removes the digits at the front, and says whether there were any.
bool take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count > 0;
}

bool take(std::string_view& text, char character) {
  if (text.empty() || text.front() != character) return false;
  text.remove_prefix(1);
  return true;
}

bool take_integer(std::string_view& text) {
  take(text, '-');
  return take(text, '0') || take_digits(text);
}

std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return {};
  std::uint32_t value = 0;
  for (const char character : text.substr(0, 4)) {
    const char lower = static_cast<char>(character | 0x20);
    if (is_digit(character)) {
      value = value << 4 | static_cast<std::uint32_t>(character - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value << 4 | static_cast<std::uint32_t>(lower - 'a' + 10);
    } else {
      return {};
    }
  }
  return value;
}

/// The code point behind `\u`, of which a surrogate pair takes two. Absent for a lone surrogate.
std::optional<std::uint32_t> take_code_point(std::string_view& text) {
  const auto first = hex4(text);
  if (!first) return {};
  text.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) return first;
  if (*first > 0xDBFF || !text.starts_with("\\u")) return {};
  const auto second = hex4(text.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return {};
  text.remove_prefix(6);
  return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
}

char* write_utf8(std::uint32_t code_point, char* out) {
  const auto tail = [&](int shift) {
    *out++ = static_cast<char>(0x80 | (code_point >> shift & 0x3F));
  };
  if (code_point < 0x80) {
    *out++ = static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    *out++ = static_cast<char>(0xC0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    *out++ = static_cast<char>(0xE0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    *out++ = static_cast<char>(0xF0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
  return out;
}

/// What a one-letter escape stands for; 0 for an unknown one.
char simple_escape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

}  // namespace

bool is_json_number(std::string_view token) noexcept {
  if (!take_integer(token)) return false;
  if (take(token, '.') && !take_digits(token)) return false;
  if (take(token, 'e') || take(token, 'E')) {
    if (!take(token, '+')) take(token, '-');
    if (!take_digits(token)) return false;
  }
  return token.empty();
}

bool is_json_integer(std::string_view token) noexcept {
  return take_integer(token) && token.empty();
}

std::size_t unescape(std::string_view escaped, char* out) noexcept {
  char* const start = out;
  while (true) {
    const std::size_t plain = std::min(escaped.find('\\'), escaped.size());
    std::memcpy(out, escaped.data(), plain);
    out += plain;
    escaped.remove_prefix(plain);
    if (escaped.empty()) return static_cast<std::size_t>(out - start);
    if (escaped.size() < 2) return bad_escape;
    const char letter = escaped[1];
    escaped.remove_prefix(2);
    if (letter == 'u') {
      const auto code_point = take_code_point(escaped);
      if (!code_point) return bad_escape;
      out = write_utf8(*code_point, out);
    } else if (const char character = simple_escape(letter)) {
      *out++ = character;
    } else {
      return bad_escape;
    }
  }
}

}  // namespace onefold
