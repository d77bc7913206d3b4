#include <algorithm>

#include "onefold/runtime/test_waiting_world.h"

// Many different events that fail the same way: it is not their fault.

namespace onefold {
namespace {

using test::add_ten;
using test::payment;
using World = test::WaitingWorld;

class BreakerTest : public testing::TestWithParam<SourceClass> {
 protected:
  std::ptrdiff_t count(const std::string& reason) {
    return std::ranges::count(world.deferred(), reason, &DeferredRecord::reason);
  }
  World world{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Sources, BreakerTest, test::both_ways, test::way);

TEST_P(BreakerTest, ManyDifferentEventsThatFailTheSameWayPauseTheConsumer) {
  bool deployed_badly = true;
  world.consumer.breaker = {.failures = 3, .window = 6};
  world.consumer.batch_max = 2;
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    if (deployed_badly) {
      throw Error{ErrorKind::permanent, "no such column", FailureClass::statement};
    }
    return add_ten(event, context);
  });
  for (int i = 0; i < 20; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.run_once();
  EXPECT_EQ(count("retry"), 4) << "what was dead before waits for another try";
  EXPECT_EQ(count("dead"), 0);
  for (const InboxRecord& row : world.model->records()->inbox({}).records)
    EXPECT_EQ(row.outcome, Outcome::deferred);
  world.start();
  world.run();
  ASSERT_TRUE(world.worker->paused());
  EXPECT_NE(world.worker->paused()->reason.find("4 of the last 4 events"), std::string::npos)
      << world.worker->paused()->reason;
  world.stop();
  EXPECT_EQ(world.deferred().size(), 4U) << "no event was taken while it was paused";
  // Probes use up nobody's attempts.
  const World::Waiters probing{world};
  for (int i = 0; i < 100; ++i) probing.worker->step();
  EXPECT_EQ(count("retry"), 4);
  deployed_badly = false;
  world.run_waiting();
  world.run_once();
  EXPECT_EQ(world.cell("A"), 200);
  EXPECT_TRUE(world.deferred().empty());
}

TEST_P(BreakerTest, WhatIsWrongWithTheEventsThemselvesNeverPausesAConsumer) {
  world.consumer.breaker = {.failures = 1, .window = 4};
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event&, Context&) { return Answer::reject("not for us"); });
  for (int i = 0; i < 10; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.run_once();
  EXPECT_EQ(count("dead"), 10);
}

}  // namespace
}  // namespace onefold
