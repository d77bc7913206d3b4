#include "onefold/formats/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace onefold {
namespace {

using namespace std::string_literals;

std::string reformatted(std::string_view text) {
  const auto time = parse_rfc3339(text);
  return time ? format_rfc3339(*time) : "absent";
}

TEST(Text, SingleSpacedIsOneLine) {
  EXPECT_EQ(single_spaced("  INSERT\n\tINTO  a\r\n"), "INSERT INTO a");
  EXPECT_EQ(single_spaced(" \n\v\f"), "");
  EXPECT_EQ(single_spaced("a"), "a");
}

TEST(Text, ReadsRfc3339) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"2026-11-30T14:00:00Z", "2026-11-30T14:00:00Z"},
      {"2026-11-30t14:00:00z", "2026-11-30T14:00:00Z"},
      {"2026-11-30T14:00:00+00:00", "2026-11-30T14:00:00Z"},
      {"2026-11-30T14:00:00-00:00", "2026-11-30T14:00:00Z"},
      {"2026-11-30T14:00:00+05:30", "2026-11-30T08:30:00Z"},
      {"2026-11-30T14:00:00-23:59", "2026-12-01T13:59:00Z"},
      {"2026-11-30T14:00:00.5Z", "2026-11-30T14:00:00.500000Z"},
      {"2026-11-30T14:00:00.000001Z", "2026-11-30T14:00:00.000001Z"},
      {"2026-11-30T14:00:00.1234567890123456789Z", "2026-11-30T14:00:00.123456Z"},
      {"2026-11-30T14:00:00.0000009Z", "2026-11-30T14:00:00Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
      {"2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"},
      {"2016-12-31T15:59:60.25-08:00", "2016-12-31T23:59:59.999999Z"},
      {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
      {"1969-12-31T23:59:59.75Z", "1969-12-31T23:59:59.750000Z"},
      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
  };
  for (const auto& [text, utc] : cases) EXPECT_EQ(reformatted(text), utc) << text;
}

TEST(Text, RefusesWhatIsNotRfc3339) {
  for (const std::string& text : {""s,
                                  "2026-11-30"s,
                                  "14:00:00Z"s,
                                  "2026-11-30T14:00:00"s,
                                  "2026-11-30 14:00:00Z"s,
                                  "2026-11-30T14:00Z"s,
                                  "2026-11-30T14:00:00.Z"s,
                                  "2026-11-30T14:00:00,5Z"s,
                                  "2026-11-30T14:00:00+0530"s,
                                  "2026-11-30T14:00:00+05"s,
                                  "2026-11-30T14:00:00+24:00"s,
                                  "2026-11-30T14:00:00+05:60"s,
                                  "2026-13-01T00:00:00Z"s,
                                  "2026-00-01T00:00:00Z"s,
                                  "2026-02-29T00:00:00Z"s,
                                  "2026-11-31T00:00:00Z"s,
                                  "2026-11-00T00:00:00Z"s,
                                  "2026-11-30T24:00:00Z"s,
                                  "2026-11-30T14:60:00Z"s,
                                  "2026-11-30T14:00:61Z"s,
                                  "2026-11-30T14:00:60Z"s,
                                  "2026-11-30T23:58:60Z"s,
                                  "2026-11-29T23:59:60Z"s,
                                  "26-11-30T14:00:00Z"s,
                                  "+2026-11-30T14:00:00Z"s,
                                  " 2026-11-30T14:00:00Z"s,
                                  "2026-11-30T14:00:00Z "s,
                                  "2026-11-30T14:00:00ZZ"s,
                                  "2026-11-30T14:00:00Z\0"s,
                                  "2026-11-30T14:00:00+24:00\0"s,
                                  "0000-01-01T00:00:00+00:01"s,
                                  "9999-12-31T23:59:59-00:01"s,
                                  "2026-1-30T14:00:00Z"s,
                                  "20261130T140000Z"s})
    EXPECT_EQ(reformatted(text), "absent") << text;
}

TEST(Text, DecodesBase64Strictly) {
  const auto decoded = [](std::string_view text) -> std::string {
    const auto bytes = decode_base64(text);
    if (!bytes) return "absent";
    std::string content;
    for (const std::byte byte : *bytes) content += static_cast<char>(byte);
    return content;
  };
  // The examples of RFC 4648, section 10.
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("Zg=="), "f");
  EXPECT_EQ(decoded("Zm8="), "fo");
  EXPECT_EQ(decoded("Zm9v"), "foo");
  EXPECT_EQ(decoded("Zm9vYg=="), "foob");
  EXPECT_EQ(decoded("Zm9vYmE="), "fooba");
  EXPECT_EQ(decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decoded("+/+/"), "\xfb\xff\xbf");
  EXPECT_EQ(decoded("AAAA"), "\0\0\0"s);
  for (const char* text : {"Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zm9v=", "Zm 9",
                           "Zm9v\n", "Zg==Zg==", "Z=g=", "Zh==", "Zm9=", "-_-_", "Zm9vYg==\n"})
    EXPECT_EQ(decoded(text), "absent") << text;
}

TEST(Text, PrintsNothingThatActsOnATerminal) {
  EXPECT_EQ(printable("order 52, 50 € für é 😀"), "order 52, 50 € für é 😀");
  EXPECT_EQ(printable("a\0b\r\n\tc\x1b[31m\x7f"s),
            "a\\u0000b\\u000D\\u000A\\u0009c\\u001B[31m\\u007F");
  EXPECT_EQ(printable("\u202egnp.exe"), "\\u202Egnp.exe");
  EXPECT_EQ(printable("\u2066\u200f\u061c\u2028\ufeff\u0085"),
            "\\u2066\\u200F\\u061C\\u2028\\uFEFF\\u0085");
  EXPECT_EQ(printable("\xff\xc3(\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"),
            "\\xFF\\xC3(\\xC0\\xAF\\xED\\xA0\\x80\\xF4\\x90\\x80\\x80\\xE2\\x82");
}

TEST(Text, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef…");
  EXPECT_EQ(printable("ab€", 4), "ab…");
  EXPECT_EQ(printable("", 0), "");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 200 + std::string{"…"}.size());
}

RC_GTEST_PROP(TextProperty, TimesComeBack, ()) {
  const auto first = *parse_rfc3339("0000-01-01T00:00:00Z");
  const auto last = *parse_rfc3339("9999-12-31T23:59:59.999999Z");
  const Timestamp time{std::chrono::microseconds{
      *rc::gen::inRange(first.time_since_epoch().count(), last.time_since_epoch().count())}};
  RC_ASSERT(parse_rfc3339(format_rfc3339(time)) == time);
}

RC_GTEST_PROP(TextProperty, OffsetsMoveTheClockNotTheTime, ()) {
  const Timestamp time{std::chrono::seconds{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000)}};
  const int offset = *rc::gen::inRange(-1439, 1440);
  std::string local = format_rfc3339(time + std::chrono::minutes{offset});
  local.pop_back();
  const int size = std::abs(offset);
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  local += (offset < 0 ? "-" : "+") + two(size / 60) + ":" + two(size % 60);
  RC_ASSERT(parse_rfc3339(local) == time);
}

/// Written from RFC 4648 on its own, bit by bit, so that it cannot share a mistake.
std::string encode_base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
    unsigned value = 0;
    for (std::size_t at = bit; at < bit + 6; ++at) {
      const bool set = at / 8 < bytes.size() && (bytes[at / 8] >> (7 - at % 8) & 1U) != 0;
      value = value << 1 | (set ? 1U : 0U);
    }
    text += digits[value];
  }
  while (text.size() % 4 != 0) text += '=';
  return text;
}

RC_GTEST_PROP(TextProperty, Base64ComesBack, (const std::vector<std::uint8_t>& bytes)) {
  const auto decoded = decode_base64(encode_base64(bytes));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(std::equal(decoded->begin(), decoded->end(), bytes.begin(), bytes.end(),
                       [](std::byte one, std::uint8_t other) { return one == std::byte{other}; }));
}

RC_GTEST_PROP(TextProperty, EveryBase64TextHasOneSpelling, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::element('A', 'Q', 'g', 'w', '/', '='));
  const auto decoded = decode_base64(text);
  if (!decoded) return;
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : *decoded) bytes.push_back(std::to_integer<std::uint8_t>(byte));
  RC_ASSERT(encode_base64(bytes) == text);
}

RC_GTEST_PROP(TextProperty, PrintableTextHasNoControlCharacters, (const std::string& text)) {
  const std::string safe = printable(text, 1'000'000);
  RC_ASSERT(std::none_of(safe.begin(), safe.end(), [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
  }));
}

}  // namespace
}  // namespace onefold
