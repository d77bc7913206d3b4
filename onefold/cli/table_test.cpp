#include "onefold/cli/table.h"

#include <gtest/gtest.h>

#include <string>

#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

TEST(Table, AlignsByCharactersNotBytes) {
  Table table{{{.title = "name"}, {.title = "count", .align = Table::Align::right}}};
  table.add({"Zoë", "7"});
  table.add({"Bob", "1,234"});
  EXPECT_EQ(table.text(),
            "name  count\n"
            "Zoë       7\n"
            "Bob   1,234\n");
}

TEST(Table, NoLineEndsInWhiteSpaceAndMissingCellsAreEmpty) {
  Table table{{{.title = "a"}, {.title = "bee"}}};
  table.add({"x"});
  EXPECT_EQ(table.text(), "a  bee\nx\n");
}

TEST(Table, LongCellsAreCutAtACharacter) {
  Table table{{{.title = "a", .width_max = 4}}};
  table.add({"ééééé"});
  table.add({"éééé"});
  EXPECT_EQ(table.text(), "a\nééé…\néééé\n");
}

TEST(Table, CellsCannotCommandTheTerminal) {
  Table table{{{.title = "a"}}};
  table.add({"x\x1b[31m\ny"});
  EXPECT_EQ(table.text().find('\x1b'), std::string::npos);
  EXPECT_EQ(table.text().find("\ny"), std::string::npos);
}

TEST(Terminal, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
}

}  // namespace
}  // namespace onefold::cli
