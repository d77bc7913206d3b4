#include "onefold/cli/message_shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace onefold::cli {
namespace {

TEST(MessageShape, P9_WhatDiffersFromEventToEventIsLeftOut) {
  EXPECT_EQ(shape_of("expected 1 row, got 0"), "expected <n> row, got <n>");
  EXPECT_EQ(shape_of("no account 17.50 at 12:30:05, -3 and 1,000"),
            "no account <n> at <n>, -<n> and <n>");
  EXPECT_EQ(shape_of("evt_12 and t_9_8"), "evt_<n> and t_<n>_<n>");
  EXPECT_EQ(shape_of("order 'a-1' of \"shop\" in `t`"), "order '…' of \"…\" in `…`");
  EXPECT_EQ(shape_of("id 0193ab00-0000-7000-8000-00000000000F is gone"), "id <uuid> is gone");
  EXPECT_EQ(shape_of("digest 9f86d081884c7d65, at 0xFF"), "digest <hex>, at <hex>");
  EXPECT_EQ(shape_of("20261201 rows"), "<n> rows");
}

TEST(MessageShape, P9_WordsStay) {
  for (const char* text :
       {"", "statement refused", "an int64 in utf8 and sha256", "it can't, and won't",
        "the account's owner isn't there", "deadbeef cafe", "an open ' quote", "a\nb \xff"}) {
    EXPECT_EQ(shape_of(text), text);
  }
  EXPECT_EQ(shape_of("0193ab00-0000-7000-8000x"), "<hex>-<n>-<n>-<n>x");
}

TEST(MessageShape, P9_DifferentTroublesStayApart) {
  EXPECT_NE(shape_of("UNIQUE constraint failed: payment.id"),
            shape_of("NOT NULL constraint failed: payment.id"));
  EXPECT_EQ(shape_of("account 7: 3 rows"), shape_of("account 12345: 0 rows"));
}

TEST(MessageShape, WhatFollowsAnApostropheAndWasReplacedIsStillAWord) {
  for (const char* text : {"''9", "'a'9", "7''", "'a'deadbeef01", "don't"}) {
    EXPECT_EQ(shape_of(shape_of(text)), shape_of(text)) << text;
  }
}

RC_GTEST_PROP(MessageShape, PropertyAShapeIsItsOwnShape, (const std::string& text)) {
  const std::string shape = shape_of(text);
  RC_ASSERT(shape_of(shape) == shape);
}

}  // namespace
}  // namespace onefold::cli
