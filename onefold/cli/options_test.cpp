#include "onefold/cli/options.h"

#include <gtest/gtest.h>

#include <chrono>

#include "onefold/cli/command_table.h"

namespace onefold::cli {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Timestamp noon{hours{12}};

TEST(Since, IsSoLongAgoOrATime) {
  EXPECT_EQ(time_from("90s", noon), noon - seconds{90});
  EXPECT_EQ(time_from("15m", noon), noon - seconds{900});
  EXPECT_EQ(time_from("1h", noon), noon - hours{1});
  EXPECT_EQ(time_from("7d", noon), noon - hours{168});
  EXPECT_EQ(time_from("2w", noon), noon - hours{336});
  EXPECT_EQ(time_from("1970-01-01T01:00:00+01:00", noon), Timestamp{});
}

TEST(Since, IsNothingElse) {
  for (const char* word : {"", "h", "1", "1x", "-1h", "+1h", "1.5h", "1 h", "h1", "yesterday",
                           "2026-11-30", "99999999999999999999h", "9999999w"}) {
    EXPECT_FALSE(time_from(word, noon).has_value()) << word;
  }
}

TEST(Checks, AnswerInWordsOfTheirOwn) {
  EXPECT_EQ(number_between(1, 10)("10"), "");
  EXPECT_EQ(number_between(1, 10)("11"), "\"11\" is no number from 1 to 10");
  EXPECT_EQ(number_between(1, 10)("1x"), "\"1x\" is no number from 1 to 10");
  EXPECT_EQ(one_of({"table", "json"}, "formats")("json"), "");
  EXPECT_EQ(one_of({"table", "json"}, "formats")("jsno"),
            "\"jsno\" is none of the formats here; did you mean \"json\"?");
  EXPECT_EQ(one_of({"table", "json"}, "formats")("xml"),
            "\"xml\" is none of the formats here, which are table and json");
  EXPECT_NE(is_dead_id("-1"), "");
  EXPECT_EQ(is_dead_id("17"), "");
  EXPECT_NE(is_inbox_key("1:12"), "");
  EXPECT_EQ(is_inbox_key("1:00112233445566778899aabbccddeeff"), "");
}

TEST(Choices, AreWordsWithBarsBetween) {
  EXPECT_EQ(choices_of("table|json"), (std::vector<std::string>{"table", "json"}));
  EXPECT_EQ(choices_of("sqlite"), std::vector<std::string>{"sqlite"});
  EXPECT_TRUE(choices_of("FILE").empty());
  EXPECT_TRUE(choices_of("").empty());
}

}  // namespace
}  // namespace onefold::cli
