#include "onefold/runs.h"

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

/// Who runs, and who has died of what.
class RunsContract : public StoreContract {
 protected:
  RunStart start(std::string source = "orders") {
    return {.consumer = consumer(),
            .source = std::move(source),
            .host = "db-1",
            .process = 4711,
            .process_started = 99,
            .positions = 0xfedcba9876543210};
  }
  std::unique_ptr<Runs> runs() { return store().runs(); }
};
INSTANTIATE_TEST_SUITE_P(Stores, RunsContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(RunsContract, ARunIsThereUntilItEnds) {
  const RunId id = runs()->begin(start());
  runs()->begin(start("others"));
  auto open = runs()->open(consumer(), "orders");
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open.at(0).id, id);
  EXPECT_EQ(open.at(0).start.host, "db-1");
  EXPECT_EQ(open.at(0).start.process, 4711);
  EXPECT_EQ(open.at(0).start.process_started, 99);
  EXPECT_EQ(open.at(0).start.positions, 0xfedcba9876543210);
  EXPECT_LT(open.at(0).seen_us_ago, 60'000'000);
  EXPECT_EQ(open.at(0).size, 0);
  EXPECT_FALSE(open.at(0).in_hand.has_value());
  runs()->end(id);
  EXPECT_TRUE(runs()->open(consumer(), "orders").empty());
}

TEST_P(RunsContract, ItSaysWhatItHasInHand) {
  const RunId id = runs()->begin(start());
  runs()->hold(id, 1, key(3));
  EXPECT_EQ(runs()->open(consumer(), "orders").at(0).size, 1);
  EXPECT_EQ(runs()->open(consumer(), "orders").at(0).in_hand, key(3));
  runs()->hold(id, 8, {});
  EXPECT_EQ(runs()->open(consumer(), "orders").at(0).size, 8);
  EXPECT_FALSE(runs()->open(consumer(), "orders").at(0).in_hand.has_value());
}

TEST_P(RunsContract, OneAloneBuriesADeadRun) {
  const RunId id = runs()->begin(start());
  const Burial burial{.careful_size = 8, .suspect = key(3), .how = "signal 11"};
  EXPECT_TRUE(runs()->bury(id, burial));
  EXPECT_FALSE(runs()->bury(id, burial));
  const Caution caution = runs()->caution(consumer(), "orders");
  EXPECT_EQ(caution.size, 8);
  ASSERT_EQ(caution.suspects.size(), 1U);
  EXPECT_EQ(caution.suspects.at(0).key, key(3));
  EXPECT_EQ(caution.suspects.at(0).deaths, 1);
  EXPECT_EQ(caution.suspects.at(0).how, "signal 11");
  EXPECT_EQ(runs()->caution(consumer(), "others").size, 0);
  EXPECT_TRUE(runs()->caution(adopt("another"), "orders").suspects.empty());
}

TEST_P(RunsContract, DeathsAddUp) {
  for (int deaths = 1; deaths <= 3; ++deaths) {
    const RunId id = runs()->begin(start());
    runs()->bury(id, {.careful_size = 1, .suspect = key(3), .how = "the last time"});
    EXPECT_EQ(runs()->caution(consumer(), "orders").suspects.at(0).deaths, deaths);
  }
}

TEST_P(RunsContract, AnOrdinaryDeathTeachesNothing) {
  runs()->bury(runs()->begin(start()), {});
  EXPECT_EQ(runs()->caution(consumer(), "orders").size, 0);
  EXPECT_TRUE(runs()->caution(consumer(), "orders").suspects.empty());
}

TEST_P(RunsContract, CarefulModeEndsAndSuspectsAreForgotten) {
  for (const int number : {3, 4}) {
    runs()->bury(runs()->begin(start()), {.careful_size = 1, .suspect = key(number), .how = "k"});
  }
  const Key settled = key(3);
  runs()->relax(consumer(), "orders", {&settled, 1});
  const Caution caution = runs()->caution(consumer(), "orders");
  EXPECT_EQ(caution.size, 0);
  ASSERT_EQ(caution.suspects.size(), 1U);
  EXPECT_EQ(caution.suspects.at(0).key, key(4));
}

}  // namespace
}  // namespace onefold::conformance
