#include "onefold/formats/fields.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"

namespace onefold {
namespace {

using namespace std::string_literals;

Event event_with(std::string data, std::string content_type = "") {
  Event event;
  event.data = std::move(data);
  event.content_type = std::move(content_type);
  return event;
}

/// The value of a field `/v` that holds `json`; absent if it is refused.
std::optional<Value> converted(const std::string& json, FieldType type) {
  const Fields fields{event_with("{\"v\": " + json + " }")};
  try {
    return fields.value("/v", type);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_NE(std::string{error.what()}.find("/v"), std::string::npos) << error.what();
    return {};
  }
}

void expect_refused(FieldType type, const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    EXPECT_FALSE(converted(text, type)) << to_string(type) << ' ' << text;
}

TEST(Fields, B29_IntegersAreExactOrRefused) {
  EXPECT_EQ(converted("9007199254740993", FieldType::int64), Value{std::int64_t{9007199254740993}});
  EXPECT_EQ(converted("-9223372036854775808", FieldType::int64), Value{INT64_MIN});
  EXPECT_EQ(converted("9223372036854775807", FieldType::int64), Value{INT64_MAX});
  EXPECT_EQ(converted("-0", FieldType::int64), Value{std::int64_t{0}});
  expect_refused(FieldType::int64,
                 {"9223372036854775808", "-9223372036854775809", "18446744073709551615", "1.0",
                  "1e3", "1e400", "1.5", "\"7\"", "true", "[]", "{}", "null"});
}

TEST(Fields, TextsAreStringsThatEveryDatabaseHolds) {
  EXPECT_EQ(converted(R"("a\nb\\u0000\ud83d\ude00")", FieldType::text), Value{"a\nb\\u0000😀"s});
  EXPECT_EQ(converted("\"\"", FieldType::text), Value{""s});
  expect_refused(FieldType::text, {R"("a\u0000b")", "1", "true", "[]", "{}", "null"});
}

TEST(Fields, DecimalsKeepTheirText) {
  for (const std::string& token : {"10.10"s, "0"s, "-1e400"s, "18446744073709551616"s, "1.0"s}) {
    EXPECT_EQ(converted(token, FieldType::decimal), Value{token});
    EXPECT_EQ(converted('"' + token + '"', FieldType::decimal), Value{token});
  }
  expect_refused(FieldType::decimal, {"\"\"", "\" 1\"", "\"1 \"", "\"1,5\"", "\"+1\"", "\"01\"",
                                      "\"0x1\"", "\"NaN\"", "\"1.\"", "true", "[]", "{}"});
}

TEST(Fields, DoublesAreFinite) {
  EXPECT_EQ(converted("0.5", FieldType::real), Value{0.5});
  EXPECT_EQ(converted("-3", FieldType::real), Value{-3.0});
  EXPECT_EQ(converted("1e300", FieldType::real), Value{1e300});
  expect_refused(FieldType::real, {"1e400", "-1e400", "\"0.5\"", "true", "[]"});
}

TEST(Fields, OtherTypes) {
  EXPECT_EQ(converted("true", FieldType::boolean), Value{true});
  EXPECT_EQ(converted("false", FieldType::boolean), Value{false});
  expect_refused(FieldType::boolean, {"0", "1", "\"true\"", "[]"});

  EXPECT_EQ(converted("\"2026-11-30T15:00:00+01:00\"", FieldType::timestamp),
            Value{"2026-11-30T14:00:00Z"s});
  EXPECT_EQ(converted("\"2026-11-30t15:00:00.5z\"", FieldType::timestamp),
            Value{"2026-11-30T15:00:00.500000Z"s});
  expect_refused(FieldType::timestamp, {"\"2026-11-30\"", "1790000000", "\"\"", "true"});

  EXPECT_EQ(converted("\"8F14E45F-CEEA-467f-a0e6-b1a5a1c1d001\"", FieldType::uuid),
            Value{"8f14e45f-ceea-467f-a0e6-b1a5a1c1d001"s});
  expect_refused(FieldType::uuid,
                 {"\"8f14e45fceea467fa0e6b1a5a1c1d001\"", "\"8f14e45f-ceea-467f-a0e6-b1a5a1c1d00\"",
                  "\"8f14e45f-ceea-467f-a0e6-b1a5a1c1d00g\"",
                  "\"8f14e45f0ceea-467f-a0e6-b1a5a1c1d001\"", "1", "\"\""});

  const std::vector<std::byte> bytes{std::byte{0}, std::byte{0xFF}};
  EXPECT_EQ(converted("\"AP8=\"", FieldType::bytes), Value{bytes});
  expect_refused(FieldType::bytes, {"\"AP8\"", "\"AP9=\"", "1", "[0,255]"});

  EXPECT_EQ(converted("[1.0, {\"a\" :null}]", FieldType::json), Value{"[1.0, {\"a\" :null}]"s});
  EXPECT_EQ(converted("\"a\\u0000\"", FieldType::json), Value{"\"a\\u0000\""s});
}

TEST(Fields, MissingAndNullAreAbsent) {
  const Fields fields{event_with(R"({"a":{"b":null},"c":[]})")};
  for (const char* pointer : {"/a/b", "/x", "/c/0", "/a/b/c"}) {
    EXPECT_EQ(fields.optional_value(pointer, FieldType::int64), Value{}) << pointer;
    EXPECT_EQ(fields.optional_value(pointer, FieldType::json), Value{}) << pointer;
    EXPECT_THROW(fields.value(pointer, FieldType::int64), Error) << pointer;
  }
  EXPECT_THROW(fields.optional_value("/c", FieldType::int64), Error);
}

TEST(Fields, TypedAccess) {
  const Fields fields{event_with(R"({"account":4711,"note":"hello"})")};
  EXPECT_EQ(fields.int64("/account"), 4711);
  EXPECT_EQ(fields.text("/note"), "hello");
  EXPECT_THROW(fields.int64("/note"), Error);
  EXPECT_THROW(fields.text("/nothing"), Error);
}

TEST(Fields, DataWithoutFields) {
  EXPECT_EQ(Fields{Event{}}.optional_value("/a", FieldType::text), Value{});
  EXPECT_THROW(Fields{event_with("{\"a\":", "")}, Error);
  EXPECT_THROW(Fields{event_with("{}", "text/plain")}, Error);
  EXPECT_EQ(Fields(event_with("7", "application/x+json")).int64(""), 7);
}

TEST(Fields, ErrorsNameThePointerAndNeverTheValue) {
  const Fields fields{event_with(R"({"card":"4000123412341234"})")};
  try {
    fields.int64("/card");
    FAIL() << "a string is no integer";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/card"), std::string::npos) << text;
    EXPECT_NE(text.find("integer"), std::string::npos) << text;
    EXPECT_NE(text.find("a string"), std::string::npos) << text;
    EXPECT_EQ(text.find("4000"), std::string::npos) << text;
  }
}

TEST(Fields, ErrorsSayWhichKindIsThere) {
  const auto error_of = [](const char* json, FieldType type) -> std::string {
    try {
      Fields(event_with(json)).value("", type);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const auto expect = [&](const char* json, FieldType type, const std::string& rest) {
    EXPECT_EQ(error_of(json, type), "The field \"\" must be " + rest + ".") << json;
  };
  expect("\"500\"", FieldType::int64, "an integer, but it is a string");
  expect("true", FieldType::int64, "an integer, but it is a boolean");
  expect("1.5", FieldType::int64,
         "an integer within 64 bits, but it is a number with a fraction or an exponent");
  expect("9223372036854775808", FieldType::int64,
         "an integer within 64 bits, but it is out of range");
  expect("1e400", FieldType::real, "a number that a double can hold, but it is out of range");
  expect("\"1\"", FieldType::real, "a number, but it is a string");
  expect("7", FieldType::text, "a string, but it is a number");
  expect("\"\\u0000\"", FieldType::text,
         "a string without U+0000, but it is a string that holds one");
  expect("{}", FieldType::decimal, "a number, or a string that holds one, but it is an object");
  expect("\"x\"", FieldType::uuid, "a string with a UUID, but it is a string that holds none");
  expect("1", FieldType::boolean, "true or false, but it is a number");
  expect("null", FieldType::int64, "an integer, but it is missing or null");
}

TEST(Fields, TypeNamesComeBack) {
  for (const char* name :
       {"int64", "text", "decimal", "double", "bool", "timestamp", "uuid", "bytes", "json"}) {
    ASSERT_TRUE(field_type_from(name)) << name;
    EXPECT_STREQ(to_string(*field_type_from(name)), name);
  }
  EXPECT_FALSE(field_type_from("real"));
  EXPECT_FALSE(field_type_from(""));
}

RC_GTEST_PROP(FieldsProperty, IntegersComeBack, (std::int64_t number)) {
  RC_ASSERT(Fields(event_with("[" + std::to_string(number) + "]")).int64("/0") == number);
}

}  // namespace
}  // namespace onefold
