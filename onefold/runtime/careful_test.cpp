#include "onefold/runtime/careful.h"

#include <algorithm>

#include "onefold/runtime/test_careful_fixture.h"

// Events that kill the process, on the model: deaths are exceptions that nobody catches.

namespace onefold {
namespace {

using std::chrono::seconds;
using test::CarefulTest;
using test::CarefulWorld;
using test::payment;

INSTANTIATE_TEST_SUITE_P(Sources, CarefulTest, test::both_ways, test::way);

/// Only a log's position tells that there was progress.
class CarefulLogTest : public CarefulTest {};
INSTANTIATE_TEST_SUITE_P(Sources, CarefulLogTest, testing::Values(SourceClass::owned_log),
                         test::way);

TEST_P(CarefulTest, PoisonIsFoundBySmallerAndSmallerTransactions) {
  poison = {"e150"};
  add_events(300);
  // A log's position has moved before the first death, which therefore teaches nothing; then one
  // death each at 100, 64 and 8 events, and three alone.
  EXPECT_EQ(world.deaths(), world.is_log() ? 7 : 6);
  EXPECT_EQ(world.cell("A"), 2990);
  const auto dead = world.deferred();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].event.id, "e150");
  EXPECT_EQ(dead[0].reason, "dead");
  EXPECT_EQ(dead[0].failure, "crash");
  EXPECT_EQ(dead[0].handler, "payment");
  EXPECT_EQ(dead[0].attempts, 3);
  EXPECT_FALSE(dead[0].raw.empty());
  ASSERT_EQ(dead[0].errors.size(), 1U);
  EXPECT_TRUE(dead[0].errors[0].starts_with("killed the process 3 times: killed, last at 2023-"))
      << dead[0].errors[0];
  expect_calm();
}

TEST_P(CarefulTest, SizesGoFrom500To64To8To1) {
  world.consumer.batch_max = 500;
  poison = {"e0"};
  add_events(600);
  std::vector<int> sizes;
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(world.run_process());
    const auto alive = world.begin();
    alive->worker.step();
    sizes.push_back(world.caution().size);
    world.living.erase(CarefulWorld::number_of(*alive));
  }
  EXPECT_EQ(sizes, (std::vector{64, 8, 1, 1, 1, 1}));
}

TEST_P(CarefulTest, SeveralPoisonsAreFoundOneAfterTheOther) {
  poison = {"e0", "e120", "e121", "e250"};
  add_events(300);
  EXPECT_LE(world.deaths(), 4 * 7);
  EXPECT_EQ(world.cell("A"), 2960);
  EXPECT_EQ(world.deferred().size(), 4U);
  expect_calm();
}

TEST_P(CarefulLogTest, AKillInTheMiddleOfItsWorkTeachesNothing) {
  add_events(1000);
  for (int i = 1; i <= 5; ++i) {
    const auto alive = world.begin();
    world.kill_after(*alive, 100);
    EXPECT_EQ(world.caution().size, 0);
  }
  EXPECT_TRUE(world.run_process());
  EXPECT_EQ(world.cell("A"), 10'000);
  expect_calm();
}

TEST_P(CarefulTest, KilledAloneInHandCountsOnceAndIsForgottenWhenItCommits) {
  be_careful(1);
  add_events(3);
  poison = {"e0"};
  EXPECT_FALSE(world.run_process());
  poison.clear();
  {
    const auto alive = world.begin();
    alive->worker.step();
    ASSERT_EQ(world.caution().suspects.size(), 1U);
    EXPECT_EQ(world.caution().suspects[0].deaths, 1);
    EXPECT_TRUE(world.finish(*alive));
  }
  EXPECT_EQ(world.cell("A"), 30);
  expect_calm();
}

TEST_P(CarefulTest, KilledWithNothingInHandInCarefulModeTeachesNothing) {
  be_careful(8);
  add_events(3);
  for (int i = 0; i < 5; ++i) {
    const auto alive = world.begin();
    alive->worker.step();  // Received, and no transaction begun.
    world.living.erase(CarefulWorld::number_of(*alive));
    EXPECT_EQ(world.caution().size, 8);
  }
  EXPECT_TRUE(world.run_process());
  expect_calm();
}

TEST_P(CarefulTest, WhatIsInHandIsKnownBeforeTheTransactionBegins) {
  be_careful(1);
  add_events(2);
  std::vector<std::optional<Key>> seen;
  look_inside = [&](const Event&) {
    ASSERT_EQ(world.open_runs().size(), 1U);
    EXPECT_EQ(world.open_runs()[0].size, 1);
    seen.push_back(world.open_runs()[0].in_hand);
  };
  EXPECT_TRUE(world.run_process());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], key_of("e0"));
  EXPECT_EQ(seen[1], key_of("e1"));
}

TEST_P(CarefulTest, WhatIsInHandIsTakenBackWhenItIsCommitted) {
  be_careful(1);
  add_events(2);
  const auto alive = world.begin();
  while (alive->worker.totals()[Outcome::applied] == 0) alive->worker.step();
  alive->worker.step();  // The next `receive`.
  EXPECT_EQ(world.open_runs()[0].size, 0);
  EXPECT_FALSE(world.open_runs()[0].in_hand.has_value());
}

TEST_P(CarefulTest, NormallyNothingIsSaidForEachTransaction) {
  add_events(300);
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.wishes.sizes_held.empty());
  EXPECT_EQ(world.wishes.opened, 2) << "one connection at the start, one at the end";
}

TEST_P(CarefulTest, CarefulModeEndsAfterAsManyEventsAsABatchHas) {
  be_careful(8);
  add_events(300);
  const auto alive = world.begin();
  world.kill_after(*alive, 104);  // 13 transactions of 8.
  EXPECT_EQ(world.caution().size, 8);
  alive->worker.step();
  EXPECT_EQ(world.caution().size, 0);
  EXPECT_TRUE(world.finish(*alive));
  EXPECT_EQ(alive->worker.totals()[Outcome::applied], 300);
  EXPECT_EQ(std::ranges::count(world.wishes.sizes_held, 8), 13);
}

TEST_P(CarefulTest, CarefulModeEndsWhereTheSourceEnds) {
  be_careful(1);
  add_events(3);
  const auto alive = world.begin();
  while (alive->worker.step() != StepResult::idle) {
  }
  EXPECT_EQ(world.caution().size, 0);
}

TEST_P(CarefulTest, ABatchHandlerThatKillsIsFoundToo) {
  world.consumer.handlers.clear();
  world.consumer.on(
      {.name = "ship", .type = "payment", .handle_batch = [this](auto events, Context& context) {
         for (const Event* event : events) {
           test::add_ten(*event, context);
           if (poison.contains(event->id)) throw faults::Crash{};
         }
         return std::vector<Answer>{};
       }});
  poison = {"e42"};
  add_events(100);
  EXPECT_EQ(world.deaths(), 6);
  EXPECT_EQ(world.cell("A"), 990);
  EXPECT_EQ(world.deferred().size(), 1U);
  expect_calm();
}

TEST_P(CarefulTest, OfTwoHandlersWithScopesOfTheirOwnOnlyTheOneThatKillsIsBlamed) {
  world.consumer.scope = Scope::handler;
  world.consumer.on("payment", [this](const Event& event, Context& context) {
    context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                          {{"amount", 1}, {"name", "B"}}, 1);
    if (event.id == "e5" && !poison.contains("e5")) throw faults::Crash{};
    return Answer::done();
  });
  world.consumer.handlers[1].name = "count";
  add_events(20);
  EXPECT_EQ(world.deaths(), 6);
  EXPECT_EQ(world.cell("A"), 200);
  EXPECT_EQ(world.cell("B"), 19);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].handler, "count");
}

TEST_P(CarefulTest, OneDeathIsEnoughWhereTheConsumerSaysSo) {
  world.consumer.crashes_max = 1;
  poison = {"e0"};
  add_events(3);
  be_careful(1);
  EXPECT_EQ(world.deaths(), 1);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_TRUE(world.deferred()[0].errors[0].starts_with("killed the process once: "));
}

TEST_P(CarefulTest, OneProcessAloneCountsADeath) {
  be_careful(1);
  add_events(1);
  poison = {"e0"};
  EXPECT_FALSE(world.run_process());
  poison.clear();
  // Both have seen the dead run; the second is through when the first comes to bury it.
  const auto first = world.begin();
  const auto second = world.begin();
  world.wishes.before_bury = [&] { second->worker.step(); };
  first->worker.step();
  const Caution caution = world.caution();
  ASSERT_EQ(caution.suspects.size(), 1U);
  EXPECT_EQ(caution.suspects[0].deaths, 1);
  EXPECT_EQ(world.open_runs().size(), 2U);
}

TEST_P(CarefulTest, TwoThatDieTogetherShrinkTransactionsOnce) {
  add_events(1);
  for (int i = 0; i < 2; ++i) {
    const auto alive = world.begin();
    alive->worker.step();
    world.living.erase(CarefulWorld::number_of(*alive));
    world.living.insert(1001);  // The first one until the second has begun.
  }
  world.living.clear();
  const auto alive = world.begin();
  alive->worker.step();
  EXPECT_EQ(world.caution().size, 64);
}

TEST_P(CarefulTest, WhatLivesIsLeftAlone) {
  add_events(3);
  const auto first = world.begin();
  first->worker.step();
  const auto second = world.begin();
  second->careful.before_receive();
  EXPECT_EQ(world.open_runs().size(), 2U);
  EXPECT_EQ(world.caution().size, 0);
  EXPECT_TRUE(world.finish(*first));
  EXPECT_EQ(world.open_runs().size(), 1U);
}

TEST_P(CarefulTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  add_events(3);
  world.model->runs()->begin({.consumer = world.adopt(),
                              .source = "orders",
                              .host = "here",
                              .process = 1001,  // As the next one, but it started earlier.
                              .process_started = 5});
  world.living.insert(1001);
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.open_runs().empty());
}

TEST_P(CarefulTest, OnAnotherHostWhatWasSeenNotLongAgoMayLive) {
  add_events(3);
  std::int64_t silent_for_us = 29'000'000;
  world.wishes.told = [&](RunRecord& run) {
    if (run.start.host == "elsewhere") run.seen_us_ago = silent_for_us;
  };
  const auto other = world.begin(false, "elsewhere");
  other->worker.step();
  world.living.erase(CarefulWorld::number_of(*other));
  EXPECT_TRUE(world.run_process());
  EXPECT_EQ(world.open_runs().size(), 1U);
  silent_for_us = 31'000'000;
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.open_runs().empty());
}

TEST_P(CarefulTest, WhoWasTakenForDeadIsThereAgain) {
  const auto alive = world.begin();
  alive->worker.step();
  ASSERT_EQ(world.open_runs().size(), 1U);
  world.model->runs()->bury(world.open_runs()[0].id, {});
  alive->worker.step();
  EXPECT_TRUE(world.open_runs().empty());
  world.clock.pass(seconds{10});
  alive->worker.step();
  EXPECT_EQ(world.open_runs().size(), 1U);
}

TEST_P(CarefulTest, ItSaysThatItLivesEveryTenSeconds) {
  const auto alive = world.begin();
  for (int second = 0; second <= 60; ++second) {
    alive->worker.step();
    world.clock.pass(seconds{1});
  }
  EXPECT_EQ(world.wishes.sizes_held.size(), 6U);
  world.wishes.failures = 1;  // Others see it a little later.
  world.clock.pass(seconds{10});
  EXPECT_EQ(alive->worker.step(), StepResult::idle);
}

TEST_P(CarefulTest, NoEventIsTakenBeforeTheStartHasWorked) {
  for (int failures = 1; failures <= 4; ++failures) {
    SCOPED_TRACE(failures);
    be_careful(8);
    world.broker.add(payment("f" + std::to_string(failures)));
    bool taken = false;
    look_inside = [&](const Event&) { taken = true; };
    const auto alive = world.begin();
    world.wishes.failures = failures;
    for (int steps = 0; world.wishes.failures > 0 && steps < 100; ++steps) {
      alive->worker.step();
      EXPECT_FALSE(taken);
      world.clock.pass(seconds{1});
    }
    EXPECT_TRUE(world.finish(*alive));
    EXPECT_TRUE(taken);
    EXPECT_TRUE(world.open_runs().empty());
  }
  EXPECT_EQ(world.cell("A"), 40);
}

TEST_P(CarefulTest, WhatTheDatabaseWasNotToldIsToldLater) {
  // Every call of careful mode fails once.
  for (int nth = 1; nth <= 12; ++nth) {
    SCOPED_TRACE(nth);
    be_careful(1);
    const std::string id = "f" + std::to_string(nth);
    world.broker.add(payment(id));
    world.broker.add(payment(id + "b"));
    int steps = 0;
    const auto alive = world.begin();
    while (alive->worker.step() != StepResult::idle || !alive->worker.at_end()) {
      if (++steps == nth) world.wishes.failures = 1;
      world.clock.pass(seconds{1});
      ASSERT_LT(steps, 200);
    }
    world.wishes.failures = 0;
    EXPECT_TRUE(world.finish(*alive));
    expect_calm();
  }
  EXPECT_EQ(world.cell("A"), 240);
}

TEST_P(CarefulLogTest, AnEndThatTheDatabaseRefusesIsNobodysFault) {
  add_events(3);
  const auto alive = world.begin();
  world.kill_after(*alive, 3);
  world.wishes.failures = 100;
  alive->careful.end();
  world.wishes.failures = 0;
  EXPECT_EQ(world.open_runs().size(), 1U);
  EXPECT_TRUE(world.run_process());
  expect_calm();
}

TEST_P(CarefulTest, SuspectsThatOthersHaveSettledAreForgotten) {
  add_events(1);
  EXPECT_TRUE(world.run_process());
  const auto runs = world.model->runs();
  const RunId dead = runs->begin({.consumer = world.adopt(), .source = "orders"});
  runs->bury(dead, {.suspect = key_of("e0"), .how = "killed"});
  ASSERT_EQ(world.caution().suspects.size(), 1U);
  EXPECT_TRUE(world.run_process());
  expect_calm();
}

TEST_P(CarefulTest, ASuspectThatWaitsIsOneStill) {
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event&, Context&) { return Answer::retry("not yet"); });
  add_events(1);
  EXPECT_TRUE(world.run_process());
  const auto runs = world.model->runs();
  runs->bury(runs->begin({.consumer = world.adopt(), .source = "orders"}),
             {.suspect = key_of("e0"), .how = "killed"});
  EXPECT_TRUE(world.run_process());
  EXPECT_EQ(world.caution().suspects.size(), 1U);
}

TEST_P(CarefulTest, ItWorksOnConnectionsThatAreLentOneAtATime) {
  world.watched.one_connection = true;
  poison = {"e150"};
  add_events(300);
  EXPECT_EQ(world.deaths(), world.is_log() ? 7 : 6);
  EXPECT_EQ(world.cell("A"), 2990);
  EXPECT_EQ(world.deferred().size(), 1U);
  expect_calm();
}

}  // namespace
}  // namespace onefold
