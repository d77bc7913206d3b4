// The disorder lab finds nothing in the runtime, and would have found it: worlds that close, each
// named after its promise, and what keeps the lab honest.
//
// Order by version has no worlds yet: they come with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "onefold/lab/lab.h"
#include "tests/lab/handlers.h"
#include "tests/lab/worlds.h"

namespace onefold::lab {
namespace {

/// Everything that two deviations can do, in each world; all there is, where it says so.
void explore_and_expect_none(const std::vector<WorldSpec>& worlds, bool all) {
  const Report report = explore(worlds, {.schedules_max = 300'000, .deviations_max = all ? -1 : 2});
  std::cout << report.summary();
  EXPECT_FALSE(report.violation) << report.violation->timeline;
  for (const WorldReport& world : report.worlds) {
    EXPECT_TRUE(world.closed) << world.name << " is too large";
    EXPECT_GT(world.schedules, 10U) << world.name;
  }
}

std::vector<WorldSpec> named(std::vector<std::string> names) {
  std::vector<WorldSpec> found;
  for (WorldSpec& world : worlds::all()) {
    if (std::ranges::find(names, world.name) != names.end()) found.push_back(std::move(world));
  }
  EXPECT_EQ(found.size(), names.size());
  return found;
}

// Two workers, three events and a duplicate; a crash, a commit in doubt, a lost acknowledgement.
TEST(ClosedWorlds, P1_P2_AQueueOfThreeEventsAndADuplicate) {
  explore_and_expect_none(named({"p1_queue"}), true);
}
TEST(ClosedWorlds, P1_ALogWhosePartitionMovesClaimFirst) {
  explore_and_expect_none(named({"p1_log_claim_first"}), true);
}
TEST(ClosedWorlds, P1_P3_ALogWhosePartitionMovesOptimistic) {
  explore_and_expect_none(named({"p1_log"}), true);
}
TEST(ClosedWorlds, P5_TheOrderOfALogWhosePartitionMoves) {
  explore_and_expect_none(named({"p5_order_of_a_log"}), true);
}
TEST(ClosedWorlds, P9_ARerunWithAFailingEvent) {
  explore_and_expect_none(named({"p9_rerun_queue"}), true);
}
TEST(ClosedWorlds, P11_OneIdForTwoEvents) {
  explore_and_expect_none(named({"p11_conflict_queue", "p11_conflict_log"}), true);
}

TEST(Worlds, P1_P3_EffectsWithTwoDeviations) {
  explore_and_expect_none(worlds::of_effects(), false);
}
TEST(Worlds, P2_P4_AnswersWithTwoDeviations) {
  explore_and_expect_none(worlds::of_answers(), false);
}
TEST(Worlds, P9_RefusalsWithTwoDeviations) {
  explore_and_expect_none(worlds::of_refusals(), false);
}
TEST(Worlds, P10_RestoresWithTwoDeviations) {
  explore_and_expect_none(worlds::of_restores(), false);
}
TEST(Worlds, P11_IdentitiesWithTwoDeviations) {
  explore_and_expect_none(worlds::of_identities(), false);
}
TEST(Worlds, P3_DialectsWithTwoDeviations) {
  explore_and_expect_none(worlds::of_dialects(), false);
}
TEST(Worlds, P3_P9_WaitingWithTwoDeviations) {
  explore_and_expect_none(worlds::of_waiting(), false);
}
TEST(Worlds, P5_WaitingInOrderWithTwoDeviations) {
  explore_and_expect_none(worlds::of_waiting_in_order(), false);
}

/// Five workers and twenty deliveries, for which there is no end of schedules.
WorldSpec large() {
  WorldSpec world = worlds::of_effects().front();
  world.name = "large";
  world.workers = 5;
  world.consumer.batch_max = 4;
  world.deliveries.clear();
  for (int i = 0; i < 20; ++i) {
    world.deliveries.push_back(
        worlds::payment("e" + std::to_string(i * 7 % 15), i % 3 == 0 ? "A" : "B"));
  }
  world.deliveries.push_back(worlds::payment("bad", "none"));
  world.faults = {.crash = 3,
                  .crash_all = 1,
                  .in_doubt = 2,
                  .refused = 2,
                  .lost_acknowledgement = 2,
                  .failed_acknowledgement = 2,
                  .redelivery = 3,
                  .disconnect = 2};
  world.expected.reset();
  world.must_reach = {Landmark::blocked, Landmark::rerun, Landmark::dead_letter};
  return world;
}

TEST(RandomSchedules, P1_P2_P3_OfALargeWorld) {
  const std::vector<WorldSpec> worlds{large()};
  const Report report = explore(worlds, {.random_schedules = 600});
  std::cout << report.summary();
  EXPECT_FALSE(report.violation) << report.violation->timeline;
  EXPECT_EQ(report.schedules(), 600U);
}

// --- The lab itself
// -------------------------------------------------------------------------------

/// Adds what it has added itself before, in this process: no transaction can undo that.
WorldSpec with_memory(const std::shared_ptr<int>& memory) {
  WorldSpec world = worlds::of_effects().front();
  world.name = "memory";
  world.consumer.handlers[0].handle = [memory](const Event& event, Context& context) {
    context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                          {{"amount", ++*memory}, {"name", event.subject}}, 1);
    return Answer::done();
  };
  world.expected.reset();
  world.must_reach.clear();
  return world;
}

/// The second of two handlers undoes half of the first, but only once.
WorldSpec that_breaks() {
  WorldSpec world = worlds::of_effects().front();
  world.name = "breaks";
  world.invariants = {{"never both", [](const Committed& committed) {
                         return committed.cells.at("A") != 20 || committed.inbox.size() < 3;
                       }}};
  return world;
}

/// Something goes wrong exactly if the second worker overtakes the first.
WorldSpec that_minds_the_order() {
  WorldSpec world = worlds::of_effects().front();
  world.name = "order";
  world.invariants = {{"B is not before A", [](const Committed& committed) {
                         return committed.cells.at("B") == 0 || committed.cells.at("A") != 0;
                       }}};
  world.consumer.batch_max = 1;
  return world;
}

TEST(Lab, PrunedAndUnprunedSearchesAgree) {
  WorldSpec small = worlds::of_effects().front();
  small.deliveries.resize(1);
  small.deliveries.push_back(small.deliveries.front());
  small.consumer.batch_max = 1;
  small.expected = Expected{.cells = {{"A", 10}, {"B", 0}}};
  small.faults = {.crash = 1};
  small.must_reach.clear();
  WorldSpec wrong = small;
  wrong.name = "wrong";
  wrong.invariants = {
      {"nobody dies", [](const Committed& committed) {
         return committed.inbox.empty() ||
                committed.inbox.front().recorded_at.time_since_epoch().count() % 10 != 2;
       }}};
  for (const WorldSpec& world : {small, wrong}) {
    Report reports[2];
    for (const bool prune : {false, true}) {
      reports[prune ? 1 : 0] = explore(
          {&world, 1},
          {.schedules_max = 2'000'000, .preemptions_max = 2, .prune = prune, .cheap_first = false});
      std::cout << reports[prune ? 1 : 0].summary();
    }
    EXPECT_EQ(reports[0].violation.has_value(), reports[1].violation.has_value());
    EXPECT_EQ(reports[0].worlds[0].closed, reports[1].worlds[0].closed);
    EXPECT_EQ(reports[0].worlds[0].reached, reports[1].worlds[0].reached);
    EXPECT_GE(reports[0].schedules(), reports[1].schedules());
  }
}

TEST(Lab, AnOrderThatMattersIsFoundShrunkAndReplayed) {
  const std::vector<WorldSpec> worlds{that_minds_the_order()};
  const Report report = explore(worlds, {.schedules_max = 100'000});
  ASSERT_TRUE(report.violation);
  const Violation& violation = *report.violation;
  EXPECT_EQ(violation.promise, "invariant");
  EXPECT_LE(violation.deviations, 1);
  EXPECT_FALSE(violation.cause.empty());
  const Replay once = replay(worlds, violation.seed);
  const Replay again = replay(worlds, violation.seed);
  EXPECT_EQ(once.timeline, violation.timeline);
  EXPECT_EQ(once.timeline, again.timeline);
  EXPECT_EQ(once.trace_hash, again.trace_hash);
  ASSERT_TRUE(once.violation);
  EXPECT_EQ(once.violation->what, violation.what);
}

TEST(Lab, AnInvariantThatFailsWithoutAnyFaultNeedsNoDeviation) {
  const std::vector<WorldSpec> worlds{that_breaks()};
  const Report report = explore(worlds, {});
  ASSERT_TRUE(report.violation);
  EXPECT_EQ(report.violation->deviations, 0);
  EXPECT_NE(report.violation->timeline.find("VIOLATION invariant"), std::string::npos);
  EXPECT_NE(report.violation->timeline.find("worker 0"), std::string::npos);
}

TEST(Lab, AHandlerThatRemembersIsNotBelieved) {
  const std::vector<WorldSpec> worlds{with_memory(std::make_shared<int>(0))};
  const Report report = explore(worlds, {.schedules_max = 100'000, .shrink = false});
  EXPECT_TRUE(report.violation);
}

TEST(Lab, WhatIsNeverReachedFails) {
  std::vector<WorldSpec> worlds{worlds::of_effects().front()};
  worlds[0].must_reach = {Landmark::conflict};
  const Report report = explore(worlds, {.deviations_max = 1});
  ASSERT_TRUE(report.violation);
  EXPECT_EQ(report.violation->promise, "landmark");
}

TEST(Lab, AWorldThatCannotBeIsRefused) {
  WorldSpec world = worlds::of_effects().front();
  for (const char* name : {"", "a:b", "white space"}) {
    world.name = name;
    EXPECT_THROW(explore({&world, 1}, {}), std::invalid_argument) << name;
  }
  world.name = "w";
  world.workers = 0;
  EXPECT_THROW(explore({&world, 1}, {}), std::invalid_argument);
  world.workers = 1;
  EXPECT_THROW(replay({&world, 1}, "A1:pg:k1:e3d1:another:0"), std::invalid_argument);
  for (const char* seed :
       {"", "A1", "A2:pg:k1:e3d1:w:0", "A1:pg:k1:e3d1:w:x", "A1:pg:1:e3d1:w:0",
        "A1:pg:k1:e3d1:w:1.2.3", "A1:pg:k99:e3d1:w:0", "A1:pg:k1:e3d1:w:99999999.1"}) {
    EXPECT_THROW(replay({&world, 1}, seed), std::invalid_argument) << seed;
  }
}

}  // namespace
}  // namespace onefold::lab
