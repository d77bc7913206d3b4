#include "onefold/formats/stored_lists.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "onefold/error.h"

namespace onefold {
namespace {

TEST(StoredLists, B27_HeadersAreReadableAndKeepTheirOrderAndRepeats) {
  const Headers headers{{"via", "a"}, {"Via", "\"b\"\\"}, {"via", "é\n"}};
  EXPECT_EQ(json_of_headers(headers), R"([["via","a"],["Via","\"b\"\\"],["via","é\u000a"]])");
  EXPECT_EQ(headers_from(json_of_headers(headers)), headers);
  EXPECT_EQ(json_of_headers({}), "[]");
  EXPECT_EQ(headers_from("[]"), Headers{});
}

TEST(StoredLists, HeadersThatAreNoUtf8AreKeptAsHexadecimalDigits) {
  const Headers headers{{"name", "caf\xe9"}, {"\xff", std::string("\0", 1)}};
  EXPECT_EQ(json_of_headers(headers), R"([["name",{"hex":"636166e9"}],[{"hex":"ff"},"\u0000"]])");
  EXPECT_EQ(headers_from(json_of_headers(headers)), headers);
}

RC_GTEST_PROP(StoredListsProperty, AnyHeadersComeBackAsTheyWere, (const Headers& headers)) {
  RC_ASSERT(headers_from(json_of_headers(headers)) == headers);
}

TEST(StoredLists, ErrorsAreTexts) {
  const std::vector<std::string> errors{"credit: \"x\"\tis no account", "zu groß"};
  EXPECT_EQ(json_of_errors(errors), R"(["credit: \"x\"\u0009is no account","zu groß"])");
  EXPECT_EQ(errors_from(json_of_errors(errors)), errors);
}

TEST(StoredLists, BytesInErrorsThatAreNoUtf8AreShown) {
  const std::vector<std::string> errors{"no such table: caf\xe9"};
  EXPECT_EQ(errors_from(json_of_errors(errors)),
            std::vector<std::string>{"no such table: caf\\xE9"});
}

TEST(StoredLists, WhatOlderVersionsWroteIsRead) {
  EXPECT_EQ(headers_from(R"([["a","\b\f\n\r\t\/\u00e9"]])"),
            (Headers{{"a", "\b\f\n\r\t/\xc3\xa9"}}));
}

TEST(StoredLists, AnythingElseIsRefusedWithAWayOut) {
  for (const char* json : {"", "{}", "[1]", "[[]]", R"([["a"]])", R"([["a",{"hex":"0"}]])",
                           R"([["a",{"hex":"zz"}]])", R"([["a",{"hex":"-1"}]])", "[[\"a\",1]]"}) {
    try {
      headers_from(json);
      ADD_FAILURE() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      EXPECT_NE(std::string{error.what()}.find("onefold_deferred"), std::string::npos);
    }
  }
  EXPECT_THROW(errors_from("[1]"), Error);
}

TEST(StoredLists, KeysComeBackAsTheyWere) {
  std::vector<Key> keys(3);
  keys[0].scope = 1;
  keys[1].scope = -2;
  keys[2].scope = 0x01020304;
  keys[1].bytes.fill(0xff);
  keys[2].bytes.back() = 7;
  EXPECT_EQ(keys_from(bytes_of_keys(keys)), keys);
  EXPECT_EQ(bytes_of_keys(keys).size(), 60U);
  EXPECT_TRUE(bytes_of_keys({}).empty());
  EXPECT_TRUE(keys_from({}).empty());
}

}  // namespace
}  // namespace onefold
