#include "onefold/replays.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

const Decision ada{.who = "ada", .reason = "a backup was restored"};

/// Replays of a range of a source, without the source.
class RangesContract : public StoreContract {
 protected:
  Position position(const std::string& source, std::uint64_t next) {
    return {
        std::make_shared<const Partition>(Partition{source, "file one", ""}), {0, next}, {0, next}};
  }
  void pass(const std::string& source, std::uint64_t next) {
    const Position reached = position(source, next);
    commit(
        [&](Transaction& transaction) { transaction.ledger().advance(consumer(), {&reached, 1}); });
  }
  StartedReplay start_range(const std::string& id, const SourceRange& range,
                            std::vector<std::int64_t> ramp = {}) {
    return store().replays()->start({.id = id,
                                     .consumer = "billing",
                                     .range = range,
                                     .ramp = std::move(ramp),
                                     .decision = ada});
  }
  void count(const ReplayTally& tally) {
    commit([&](Transaction& transaction) { transaction.waiting_room().tally({&tally, 1}); });
  }
  ReplayRecord report(const std::string& id) { return store().replays()->list(id).at(0); }
  std::int64_t advance() { return store().replays()->advance(consumer()); }
};
INSTANTIATE_TEST_SUITE_P(Stores, RangesContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(RangesContract, P9_ARangeIsPinnedToWhereTheConsumerStands) {
  pass("orders", 500);
  pass("others", 900);
  EXPECT_EQ(store().replays()->preview("billing", {.source = "orders"}).ends,
            (std::vector{RangeEnd{"file one", "", {0, 500}}}));
  EXPECT_TRUE(audit().empty());
  const StartedReplay started = start_range("r1", {.source = "orders", .from = 10});
  pass("orders", 700);
  EXPECT_TRUE(started.is_new);
  const ReplayRecord replay = report("r1");
  EXPECT_EQ(replay.range.source, "orders");
  EXPECT_EQ(replay.range.from, 10U);
  EXPECT_FALSE(replay.range.to.has_value());
  EXPECT_EQ(replay.range.ends, (std::vector{RangeEnd{"file one", "", {0, 500}}}));
  EXPECT_EQ(start_range("r2", {.source = "orders", .to = 300}).replay.range.ends.at(0).end,
            (Offset{0, 300}));
  EXPECT_EQ(start_range("r3", {.source = "orders", .to = 9000}).replay.range.ends.at(0).end,
            (Offset{0, 700}));
  EXPECT_NE(audit().at(0).detail.find("source: orders\nfrom: 10\nup to: 500"), std::string::npos)
      << audit().at(0).detail;
  EXPECT_EQ(failure_of([&] { store().replays()->preview("nobody", {.source = "orders"}); }),
            ErrorKind::bad_configuration);
}

TEST_P(RangesContract, AskingTwiceForARangeIsAskingOnce) {
  pass("orders", 500);
  start_range("r1", {.source = "orders"});
  EXPECT_FALSE(start_range("r2", {.source = "orders"}).is_new);
  EXPECT_TRUE(start_range("r3", {.source = "orders", .from = 1}).is_new);
  EXPECT_TRUE(start_range("r4", {.source = "orders", .to = 5}).is_new);
  EXPECT_TRUE(start_range("r5", {}).is_new) << "dead letters are no range";
  store().replays()->finish_range("r1", "");
  EXPECT_TRUE(start_range("r6", {.source = "orders"}).is_new) << "the first one has ended";
}

TEST_P(RangesContract, P9_WhatBecameOfARangeIsCountedWithItsPositions) {
  pass("orders", 500);
  start_range("r1", {.source = "orders"});
  EXPECT_EQ(advance(), 0);
  count({.replay = "r1",
         .applied = 2,
         .failed = 2,
         .received = 10,
         .duplicate = 3,
         .stale = 1,
         .deferred = 1,
         .conflict = 1,
         .ignored = 1});
  count({.replay = "r1", .received = 5, .duplicate = 5});
  {
    const auto transaction = session().begin();
    const ReplayTally undone{.replay = "r1", .received = 7};
    transaction->waiting_room().tally({&undone, 1});
  }
  const ReplayRecord replay = report("r1");
  EXPECT_EQ(replay.due, 15);
  EXPECT_EQ(replay.applied, 2);
  EXPECT_EQ(replay.failed, 2);
  EXPECT_EQ(replay.conflict, 1);
  EXPECT_EQ(replay.duplicate, 8);
  EXPECT_EQ(replay.stale, 1);
  EXPECT_EQ(replay.deferred, 1);
  EXPECT_EQ(replay.ignored, 1);
  EXPECT_EQ(replay.open(), 0);
  EXPECT_EQ(advance(), 0);
  EXPECT_EQ(report("r1").state, ReplayState::running) << "only its source knows its end";
}

TEST_P(RangesContract, P9_WhenARangeHasEndedItsPositionsGoAndNothingIsCounted) {
  pass("orders", 500);
  for (const auto& [id, cancelled] : {std::pair{"r1", false}, {"r2", true}}) {
    start_range(id, {.source = "orders"});
    const std::string source = replay_position_source(id);
    pass(source, 100);
    ASSERT_EQ(session().positions(consumer(), source).size(), 1U);
    for (const ConsumerStatus& status : records()->status()) {
      for (const Position& shown : status.positions) EXPECT_EQ(shown.partition->source, "orders");
    }
    if (cancelled) {
      store().replays()->change(id, ReplayState::cancelled, ada);
    } else {
      store().replays()->finish_range(id, "");
    }
    EXPECT_EQ(report(id).state, cancelled ? ReplayState::cancelled : ReplayState::done);
    EXPECT_TRUE(report(id).ended_at.has_value());
    EXPECT_TRUE(session().positions(consumer(), source).empty());
    EXPECT_EQ(failure_of([&] { count({.replay = id, .received = 1}); }), ErrorKind::contention);
  }
  EXPECT_EQ(session().positions(consumer(), "orders").size(), 1U);
}

TEST_P(RangesContract, AFailureInTheRampOfARangePausesItOnce) {
  pass("orders", 500);
  start_range("r1", {.source = "orders"}, {1, 10});
  count({.replay = "r1", .failed = 1, .received = 1});
  EXPECT_EQ(advance(), 0);
  EXPECT_EQ(report("r1").state, ReplayState::paused);
  EXPECT_NE(report("r1").note.find("1 of the first 1"), std::string::npos) << report("r1").note;
  store().replays()->finish_range("r1", "");
  EXPECT_EQ(report("r1").state, ReplayState::paused) << "it does not run";
  EXPECT_EQ(store().replays()->change("r1", ReplayState::running, ada)->note, "");
  advance();
  EXPECT_EQ(report("r1").state, ReplayState::running) << "a person has seen that failure";
  count({.replay = "r1", .failed = 1, .received = 1});
  store().replays()->finish_range("r1", "");
  EXPECT_EQ(report("r1").state, ReplayState::paused);
  store().replays()->change("r1", ReplayState::running, ada);
  store().replays()->finish_range("r1", "the source is gone");
  EXPECT_EQ(report("r1").note, "the source is gone");
}

}  // namespace
}  // namespace onefold::conformance
