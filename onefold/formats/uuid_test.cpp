#include "onefold/formats/uuid.h"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <set>
#include <string>

namespace onefold {
namespace {

TEST(Uuid, HasTheTimeTheVersionAndTheVariant) {
  const Timestamp time{std::chrono::milliseconds{0x0123'4567'89ab}};
  EXPECT_TRUE(std::regex_match(
      new_uuid(time), std::regex{"01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"}))
      << new_uuid(time);
}

TEST(Uuid, EachIsNewAndLaterOnesSortBehind) {
  const Timestamp time{std::chrono::milliseconds{1'700'000'000'000}};
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert(new_uuid(time));
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_LT(*all.rbegin(), new_uuid(time + std::chrono::milliseconds{1}));
}

}  // namespace
}  // namespace onefold
