#include "onefold/cli/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <string>

#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

TEST(JsonText, Base64OfTheStandard) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
}

RC_GTEST_PROP(JsonText, Base64IsReadBack, (const std::string& bytes)) {
  const auto decoded = decode_base64(encode_base64(bytes));
  RC_ASSERT(decoded.has_value());
  std::string back;
  for (const std::byte byte : *decoded) back += static_cast<char>(byte);
  RC_ASSERT(back == bytes);
}

RC_GTEST_PROP(JsonText, AnyBytesMakeValidJson, (const std::string& bytes)) {
  const std::string text = dumped(json_text(bytes));
  const Json back = Json::parse(text);
  if (is_utf8(bytes)) RC_ASSERT(back.get<std::string>() == bytes);
}

TEST(JsonText, NothingInItCommandsTheTerminal) {
  const std::string hostile = "\x1b[31m \u009b31m \u202e \x7f \u00e9";
  const std::string line = dumped_line(Json(hostile));
  EXPECT_EQ(line, "\"\\u001b[31m \\u009B31m \\u202E \\u007F \u00e9\"\n");
  EXPECT_EQ(Json::parse(line).get<std::string>(), hostile);
}

TEST(JsonText, KeysAreReadBack) {
  Key key{.scope = 17, .bytes = {0, 1, 254, 255}};
  EXPECT_EQ(key_text(key), "17:0001feff000000000000000000000000");
  EXPECT_EQ(key_from(key_text(key)), key);
  for (const char* text :
       {"", ":", "1:", "x:0001feff000000000000000000000000", "1:0001FEFF000000000000000000000000",
        "1:0001feff0000000000000000000000000", "99999999999:0001feff000000000000000000000000"}) {
    EXPECT_FALSE(key_from(text).has_value()) << text;
  }
}

TEST(JsonText, OffsetsBeyond64BitsHaveTwoParts) {
  EXPECT_EQ(offset_text({.high = 0, .low = 18446744073709551615U}), "18446744073709551615");
  EXPECT_EQ(offset_text({.high = 5, .low = 7}), "5-7");
}

}  // namespace
}  // namespace onefold::cli
