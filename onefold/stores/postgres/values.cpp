#include "onefold/stores/postgres/values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <concepts>

namespace onefold::postgres {
namespace {

constexpr int text_format = 0;
constexpr int binary_format = 1;
/// From 1970-01-01 to 2000-01-01, where PostgreSQL begins to count.
constexpr std::int64_t epoch_microseconds = 946'684'800'000'000;
constexpr std::string_view hex_mark = "\\x";

__extension__ using Wide = unsigned __int128;

template <std::unsigned_integral Number>
std::string big_endian(Number number) {
  std::string bytes(sizeof(Number), '\0');
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes[sizeof(Number) - 1 - i] = static_cast<char>(number >> (8 * i) & 0xff);
  }
  return bytes;
}

std::string big_endian_of(std::int32_t number) {
  return big_endian(static_cast<std::uint32_t>(number));
}

std::string bytes_of(Timestamp time) {
  return big_endian(
      static_cast<std::uint64_t>(time.time_since_epoch().count() - epoch_microseconds));
}

std::string_view view_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How many bytes a character has by its first one; 0 if none begins so.
std::size_t character_bytes(unsigned char first) noexcept {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

bool is_character(std::string_view bytes) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (at(i) < 0x80 || at(i) > 0xbf) return false;
  }
  switch (at(0)) {
    case 0xe0:
      return at(1) >= 0xa0;  // Could have been shorter.
    case 0xed:
      return at(1) <= 0x9f;  // Surrogates.
    case 0xf0:
      return at(1) >= 0x90;
    case 0xf4:
      return at(1) <= 0x8f;  // Beyond Unicode.
    default:
      return true;
  }
}

bool can_be_text(std::string_view text) noexcept {
  if (text.starts_with(hex_mark)) return false;
  while (!text.empty()) {
    const std::size_t size = character_bytes(static_cast<unsigned char>(text.front()));
    if (size == 0 || size > text.size() || text.front() == '\0') return false;
    if (!is_character(text.substr(0, size))) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

Arguments& Arguments::add(::Oid type, std::string value, int format, bool null) {
  size_bytes_ += value.size();
  types_.push_back(type);
  values_.push_back(std::move(value));
  formats_.push_back(format);
  nulls_.push_back(null);
  return *this;
}

Arguments& Arguments::boolean(bool value) {
  return add(type::boolean, std::string(1, value ? '\1' : '\0'), binary_format);
}
Arguments& Arguments::integer16(std::int16_t value) {
  return add(type::integer16, big_endian(static_cast<std::uint16_t>(value)), binary_format);
}
Arguments& Arguments::integer32(std::int32_t value) {
  return add(type::integer32, big_endian_of(value), binary_format);
}
Arguments& Arguments::integer64(std::int64_t value) {
  return add(type::integer64, big_endian(static_cast<std::uint64_t>(value)), binary_format);
}
Arguments& Arguments::real(double value) {
  return add(type::real64, big_endian(std::bit_cast<std::uint64_t>(value)), binary_format);
}
Arguments& Arguments::bytes(std::span<const std::uint8_t> value) {
  return add(type::bytes, std::string{view_of(value)}, binary_format);
}
Arguments& Arguments::time(Timestamp value) {
  return add(type::time, bytes_of(value), binary_format);
}
Arguments& Arguments::text(std::string_view value) {
  return add(type::text, stored_text(value), text_format);
}
Arguments& Arguments::text_or_null(std::string_view value) {
  return value.empty() ? null(type::text) : text(value);
}
Arguments& Arguments::literal(std::string value) {
  return add(type::unknown, std::move(value), text_format);
}
Arguments& Arguments::null(::Oid type) {
  return add(type, {}, text_format, true);
}
Arguments& Arguments::array(::Oid type, std::string value) {
  return add(type, std::move(value), binary_format);
}

void Array::add(std::string_view value) {
  body_ += big_endian_of(static_cast<std::int32_t>(value.size()));
  body_ += value;
  ++count_;
}
void Array::boolean(bool value) {
  add(std::string(1, value ? '\1' : '\0'));
}
void Array::integer16(std::int16_t value) {
  add(big_endian(static_cast<std::uint16_t>(value)));
}
void Array::integer32(std::int32_t value) {
  add(big_endian_of(value));
}
void Array::integer64(std::int64_t value) {
  add(big_endian(static_cast<std::uint64_t>(value)));
}
void Array::time(Timestamp value) {
  add(bytes_of(value));
}
void Array::bytes(std::span<const std::uint8_t> value) {
  add(view_of(value));
}
void Array::text(std::string_view value) {
  add(stored_text(value));
}
void Array::text_or_null(std::string_view value) {
  value.empty() ? null() : text(value);
}
void Array::null() {
  body_ += big_endian_of(-1);
  ++count_;
  has_null_ = true;
}

void Array::into(Arguments& arguments) const {
  ::Oid array_type = type::unknown;
  switch (element_) {
    case type::boolean:
      array_type = 1000;
      break;
    case type::bytes:
      array_type = 1001;
      break;
    case type::integer16:
      array_type = 1005;
      break;
    case type::integer32:
      array_type = 1007;
      break;
    case type::integer64:
      array_type = 1016;
      break;
    case type::text:
      array_type = 1009;
      break;
    default:
      array_type = 1185;  // Times.
  }
  // Dimensions, whether there are NULLs, the element's type, then of the only dimension its size
  // and its first subscript.
  std::string value = big_endian_of(count_ == 0 ? 0 : 1) + big_endian_of(has_null_ ? 1 : 0) +
                      big_endian(static_cast<std::uint32_t>(element_));
  if (count_ != 0) value += big_endian_of(count_) + big_endian_of(1) + body_;
  arguments.array(array_type, std::move(value));
}

bool Row::is_null(int column) const {
  return PQgetisnull(result_, row_, column) != 0;
}

std::span<const std::uint8_t> Row::bytes(int column) const {
  const auto* data = reinterpret_cast<const std::uint8_t*>(PQgetvalue(result_, row_, column));
  return {data, static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

std::uint64_t Row::number(int column) const {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : bytes(column)) number = number << 8U | byte;
  return number;
}

bool Row::boolean(int column) const {
  return number(column) != 0;
}
std::int16_t Row::integer16(int column) const {
  return static_cast<std::int16_t>(number(column));
}
std::int32_t Row::integer32(int column) const {
  return static_cast<std::int32_t>(number(column));
}
std::int64_t Row::integer64(int column) const {
  return static_cast<std::int64_t>(number(column));
}

std::string Row::text(int column) const {
  const auto stored = bytes(column);
  return text_from_stored(view_of(stored));
}

void Row::copy_bytes(int column, std::array<std::uint8_t, 16>& into) const {
  const auto stored = bytes(column);
  std::ranges::copy(stored.first(std::min(stored.size(), into.size())), into.begin());
}

Timestamp Row::time(int column) const {
  return Timestamp{std::chrono::microseconds{integer64(column) + epoch_microseconds}};
}

std::string stored_text(std::string_view text) {
  if (can_be_text(text)) return std::string{text};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string stored{hex_mark};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    stored += digits[byte >> 4U];
    stored += digits[byte & 0xfU];
  }
  return stored;
}

std::string text_from_stored(std::string_view stored) {
  if (!stored.starts_with(hex_mark)) return std::string{stored};
  stored.remove_prefix(hex_mark.size());
  std::string text;
  for (; stored.size() >= 2; stored.remove_prefix(2)) {
    unsigned char byte = 0;
    std::from_chars(stored.data(), stored.data() + 2, byte, 16);
    text += static_cast<char>(byte);
  }
  return text;
}

std::string decimal_of(const Offset& offset) {
  Wide number = static_cast<Wide>(offset.high) << 64U | offset.low;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(number % 10));
    number /= 10;
  } while (number != 0);
  std::ranges::reverse(digits);
  return digits;
}

Offset offset_from(std::string_view decimal) {
  Wide number = 0;
  for (const char c : decimal) number = number * 10 + static_cast<Wide>(c - '0');
  return {static_cast<std::uint64_t>(number >> 64U), static_cast<std::uint64_t>(number)};
}

}  // namespace onefold::postgres
