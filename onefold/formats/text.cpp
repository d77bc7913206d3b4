#include "onefold/formats/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace onefold {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

/// Reads fixed fields from the front of a text. After a failure everything fails.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_{text} {}

  int digits(std::size_t count) {
    if (rest_.size() < count) return fail();
    int number = 0;
    for (const char character : rest_.substr(0, count)) {
      if (character < '0' || character > '9') return fail();
      number = number * 10 + (character - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  bool take(char character) {
    if (rest_.empty() || rest_.front() != character) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char character) {
    if (!take(character)) fail();
  }
  /// Digits behind a point, cut to six.
  microseconds fraction() {
    int value = 0;
    int unit = 100'000;
    std::size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      value += (rest_[count] - '0') * unit;
      unit /= 10;
    }
    if (count == 0) fail();
    rest_.remove_prefix(count);
    return microseconds{value};
  }
  int fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// What local time is ahead of UTC; fails in `reader`.
minutes read_offset(FieldReader& reader) {
  if (reader.take('Z') || reader.take('z')) return {};
  const bool ahead = reader.take('+');
  if (!ahead) reader.expect('-');
  const int hour = reader.digits(2);
  reader.expect(':');
  const int minute = reader.digits(2);
  if (hour > 23 || minute > 59) reader.fail();
  const minutes offset{hour * 60 + minute};
  return ahead ? offset : -offset;
}

constexpr sys_days first_day{std::chrono::year{0} / 1 / 1};
constexpr sys_days last_day{std::chrono::year{9999} / 12 / 31};

/// Leap seconds come at the end of a month of UTC only.
bool is_last_minute_of_month(std::chrono::sys_time<minutes> minute) {
  const sys_days day = std::chrono::floor<days>(minute);
  return minute - day == minutes{23 * 60 + 59} &&
         year_month_day{day + days{1}}.day() == std::chrono::day{1};
}

std::uint8_t base64_digit(char character) {
  if (character >= 'A' && character <= 'Z') return static_cast<std::uint8_t>(character - 'A');
  if (character >= 'a' && character <= 'z') return static_cast<std::uint8_t>(character - 'a' + 26);
  if (character >= '0' && character <= '9') return static_cast<std::uint8_t>(character - '0' + 52);
  if (character == '+') return 62;
  if (character == '/') return 63;
  return 0xFF;
}

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;  ///< 0: the bytes are no UTF-8.
};

/// The character at the front of a text that is not empty.
CodePoint read_utf8(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xC2   ? 0
                           : lead < 0xE0 ? 2
                           : lead < 0xF0 ? 3
                           : lead < 0xF5 ? 4
                                         : 0;
  if (size == 0 || text.size() < size) return {};
  std::uint32_t value = lead & (0x7FU >> size);
  for (std::size_t index = 1; index < size; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(index) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest[size] || value > 0x10FFFF || surrogate) return {};
  return {value, size};
}

/// Moves the cursor, hides text or changes its direction on a terminal.
bool is_unsafe(std::uint32_t code_point) {
  const auto between = [code_point](std::uint32_t first, std::uint32_t last) {
    return code_point >= first && code_point <= last;
  };
  return code_point < 0x20 || between(0x7F, 0x9F) || code_point == 0x061C ||
         between(0x200B, 0x200F) || between(0x2028, 0x202E) || between(0x2060, 0x206F) ||
         code_point == 0xFEFF || between(0xFFF9, 0xFFFB);
}

}  // namespace

std::optional<Timestamp> parse_rfc3339(std::string_view text) noexcept {
  FieldReader reader{text};
  const std::chrono::year year{reader.digits(4)};
  reader.expect('-');
  const std::chrono::month month{static_cast<unsigned>(reader.digits(2))};
  reader.expect('-');
  const std::chrono::day day{static_cast<unsigned>(reader.digits(2))};
  if (!reader.take('t')) reader.expect('T');
  const int hour = reader.digits(2);
  reader.expect(':');
  const int minute = reader.digits(2);
  reader.expect(':');
  const int second = reader.digits(2);
  const microseconds fraction = reader.take('.') ? reader.fraction() : microseconds{};
  const minutes offset = read_offset(reader);
  const year_month_day date{year, month, day};
  if (!reader.complete() || !date.ok() || hour > 23 || minute > 59 || second > 60) return {};

  const std::chrono::sys_time<minutes> start =
      sys_days{date} + hours{hour} + minutes{minute} - offset;
  if (start < first_day || start >= last_day + days{1}) return {};
  if (second < 60) return start + seconds{second} + fraction;
  if (!is_last_minute_of_month(start)) return {};
  return start + minutes{1} - microseconds{1};
}

std::string format_rfc3339(Timestamp time) {
  const sys_days day = std::chrono::floor<days>(time);
  const year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() != 0) text += fmt::format(".{:06}", clock.subseconds().count());
  return text + "Z";
}

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t held = 0;
  int held_bits = 0;
  for (const char character : text) {
    const std::uint8_t digit = base64_digit(character);
    if (digit == 0xFF) return {};
    held = (held << 6 | digit) & 0xFFFFU;
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    bytes.push_back(static_cast<std::byte>(held >> held_bits & 0xFFU));
  }
  // Bits that no byte holds would give one content two spellings.
  if ((held & ((1U << held_bits) - 1)) != 0) return {};
  return bytes;
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string safe;
  std::size_t used = 0;
  while (used < text.size()) {
    const CodePoint character = read_utf8(text.substr(used));
    const std::size_t size = std::max<std::size_t>(character.size, 1);
    if (used + size > bytes_max) return safe + "…";
    if (character.size == 0) {
      safe += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[used]));
    } else if (is_unsafe(character.value)) {
      safe += fmt::format("\\u{:04X}", character.value);
    } else {
      safe.append(text, used, size);
    }
    used += size;
  }
  return safe;
}

std::string single_spaced(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r\f\v";
  std::string line;
  for (const char character : text) {
    if (spaces.find(character) == std::string_view::npos) {
      line += character;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace onefold
