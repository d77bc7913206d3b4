#include "onefold/cli/csv_text.h"

#include <gtest/gtest.h>

#include <string>

namespace onefold::cli {
namespace {

TEST(CsvText, LinesEndAsTheStandardSays) {
  EXPECT_EQ(csv_line({"a", "b"}), "a,b\r\n");
  EXPECT_EQ(csv_line({"", ""}), ",\r\n");
  EXPECT_EQ(csv_line({}), "\r\n");
}

TEST(CsvText, CellsWithCommasAndQuotesAreQuoted) {
  EXPECT_EQ(csv_line({"a,b"}), "\"a,b\"\r\n");
  EXPECT_EQ(csv_line({R"(say "hi")"}), "\"say \"\"hi\"\"\"\r\n");
}

TEST(CsvText, NoCellIsAFormula) {
  for (const std::string start : {"=", "+", "-", "@"}) {
    EXPECT_EQ(csv_line({start + "cmd|'/c calc'!A0"}), "'" + start + "cmd|'/c calc'!A0\r\n");
  }
  EXPECT_EQ(csv_line({"\t=1"}), "'\\u0009=1\r\n");
  EXPECT_EQ(csv_line({"a=1"}), "a=1\r\n");
}

TEST(CsvText, ControlCharactersAreShown) {
  EXPECT_EQ(csv_line({"a\nb\x1b[31m"}), "a\\u000Ab\\u001B[31m\r\n");
}

}  // namespace
}  // namespace onefold::cli
