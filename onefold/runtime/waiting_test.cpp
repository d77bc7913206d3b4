#include <map>

#include "onefold/decisions.h"
#include "onefold/replays.h"
#include "onefold/runtime/test_waiting_world.h"

// What fails waits, and is tried again: with the worker of the sources and that of the waiting
// room, on the model.

namespace onefold {
namespace {

using faults::Call;
using faults::CommitFault;
using test::add_ten;
using test::payment;
using World = test::WaitingWorld;

class WaitingTest : public testing::TestWithParam<SourceClass> {
 protected:
  World world{GetParam()};

  /// A handler whose dependency is away for some events, so many times.
  void fail_first(std::map<std::string, int> failures) {
    world.consumer.handlers.clear();
    world.consumer.on(
        "payment",
        [this, left = std::move(failures)](const Event& event, Context& context) mutable -> Answer {
          ++calls[event.id];
          if (left[event.id]-- > 0) return Answer::retry("the warehouse does not answer");
          return add_ten(event, context);
        });
  }
  void in_order() { world.consumer.order = OrderRule{.entity = "/account"}; }
  static Event of(const std::string& id, const std::string& account) {
    return payment(id, "A", "{\"account\":\"" + account + "\"}");
  }
  std::vector<std::string> ids(const std::string& reason) {
    std::vector<std::string> found;
    for (const DeferredRecord& row : world.deferred()) {
      if (row.reason == reason) found.push_back(row.event.id);
    }
    return found;
  }
  std::vector<InboxRecord> inbox() { return world.model->records()->inbox({}).records; }

  std::map<std::string, int> calls;
};

const auto way = test::way;
INSTANTIATE_TEST_SUITE_P(Sources, WaitingTest, test::both_ways, way);

TEST_P(WaitingTest, P3_WhatFailsForAWhileIsAppliedOnceLater) {
  fail_first({{"e2", 2}});
  for (const char* id : {"e1", "e2", "e3"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(ids("retry"), std::vector<std::string>{"e2"});
  EXPECT_EQ(world.count(Outcome::deferred), 1);
  world.run_waiting();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.count(Outcome::applied), 3);
  for (const InboxRecord& row : inbox()) {
    EXPECT_EQ(row.outcome, Outcome::applied);
    EXPECT_FALSE(row.waiting);
    EXPECT_EQ(row.handled_by, inbox().front().handled_by);
  }
}

TEST_P(WaitingTest, P9_UsedUpAttemptsMakeItDeadWithTheWholeChain) {
  world.consumer.retry.attempts = 3;
  fail_first({{"e1", 100}});
  world.broker.add(payment("e1"));
  world.run_once();
  world.run_waiting();
  ASSERT_EQ(ids("dead"), std::vector<std::string>{"e1"});
  const DeferredRecord row = world.deferred().front();
  EXPECT_EQ(row.attempts, 3);
  EXPECT_EQ(row.errors.size(), 3U);
  EXPECT_EQ(row.failure, "transient");
  EXPECT_EQ(row.raw, faults::delivery(payment("e1")).raw);
  EXPECT_EQ(world.cell("A"), 0);
  EXPECT_EQ(inbox().front().outcome, Outcome::dead);
  EXPECT_TRUE(inbox().front().waiting);
}

TEST_P(WaitingTest, ARedeliveryBesideARetryIsADuplicate) {
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  world.run_waiting();
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
  EXPECT_EQ(world.cell("A"), 10);
}

TEST_P(WaitingTest, TheDatabasesOwnFailuresUseUpNobodysAttempts) {
  world.consumer.retry.attempts = 2;
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.run_once();
  for (const Call call : {Call::take, Call::execute, Call::record, Call::leave}) {
    world.script.fail(call, ErrorKind::contention);
    world.script.fail(call, ErrorKind::unavailable, 2);
  }
  world.script.fail_commit(CommitFault::in_doubt_rolled_back);
  world.run_waiting();
  EXPECT_EQ(world.script.outstanding(), 0U);
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::applied), 1);
}

TEST_P(WaitingTest, P4_ACommitInDoubtOfARetryIsCountedOnce) {
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.run_once();
  world.script.fail_commit(CommitFault::in_doubt_committed);
  world.run_waiting();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::applied), 1);
  EXPECT_EQ(world.count(Outcome::duplicate), 0);
}

TEST_P(WaitingTest, B19_TwoThatHaveReadTheSameRowApplyItOnce) {
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.run_once();
  const World::Waiters one{world};
  const World::Waiters other{world};
  one.worker->step();  // Both have it in hand.
  other.worker->step();
  const auto finish = [](Worker& worker) {
    while (!worker.at_rest()) worker.step();
  };
  finish(*one.worker);
  finish(*other.worker);
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(one.worker->totals()[Outcome::applied], 1);
  EXPECT_EQ(other.worker->totals()[Outcome::duplicate], 1);
  EXPECT_TRUE(world.deferred().empty());
}

TEST_P(WaitingTest, B19_WhatAPersonHasDiscardedMeanwhileIsNotApplied) {
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.run_once();
  const World::Waiters waiters{world};
  waiters.worker->step();
  const std::int64_t id = world.deferred().front().id;
  world.model->decisions()->discard({&id, 1}, {.who = "me", .reason = "a test"});
  while (!waiters.worker->at_rest()) waiters.worker->step();
  EXPECT_EQ(world.cell("A"), 0);
  EXPECT_FALSE(inbox().front().waiting);
}

TEST_P(WaitingTest, P5_LaterEventsOfAnEntityWaitBehindItAndOthersFlow) {
  in_order();
  fail_first({{"a1", 1}});
  for (const auto& event : {of("a1", "a"), of("b1", "b"), of("a2", "a"), of("a3", "a")}) {
    world.broker.add(event);
  }
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(ids("retry"), std::vector<std::string>{"a1"});
  EXPECT_EQ(ids("behind"), (std::vector<std::string>{"a2", "a3"}));
  EXPECT_EQ(calls["a2"], 0);
  // Also in a later batch, and from another process.
  world.broker.add(of("a4", "a"));
  world.run_once();
  EXPECT_EQ(ids("behind"), (std::vector<std::string>{"a2", "a3", "a4"}));
  world.run_waiting();
  EXPECT_EQ(world.cell("A"), 50);
  EXPECT_TRUE(world.deferred().empty());
  world.broker.add(of("a5", "a"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 60);
}

TEST_P(WaitingTest, P5_ADeadFrontLetsTheOthersPass) {
  in_order();
  world.consumer.retry.attempts = 2;
  fail_first({{"a1", 100}});
  for (const auto& event : {of("a1", "a"), of("a2", "a")}) world.broker.add(event);
  world.run_once();
  world.run_waiting();
  EXPECT_EQ(ids("dead"), std::vector<std::string>{"a1"});
  EXPECT_TRUE(ids("behind").empty());
  EXPECT_EQ(world.cell("A"), 10);
}

TEST_P(WaitingTest, P5_WhatIsReleasedAndFailsHoldsBackWhatFollows) {
  in_order();
  std::vector<std::string> applied;
  std::map<std::string, int> left{{"a1", 1}, {"a2", 1}};
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    if (left[event.id]-- > 0) return Answer::retry("not yet");
    applied.push_back(event.id);
    return add_ten(event, context);
  });
  for (const auto& event : {of("a1", "a"), of("a2", "a"), of("a3", "a")}) world.broker.add(event);
  world.run_once();
  world.run_waiting();
  EXPECT_EQ(applied, (std::vector<std::string>{"a1", "a2", "a3"}));
  EXPECT_TRUE(world.deferred().empty());
}

TEST_P(WaitingTest, P5_WhatIsInFrontIsLookedAtAgainWhenAnEventIsTaken) {
  in_order();
  std::vector<std::string> applied;
  std::map<std::string, int> left{{"a1", 1}, {"a2", 1}};
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    if (left[event.id]-- > 0) return Answer::retry("not yet");
    applied.push_back(event.id);
    return add_ten(event, context);
  });
  const auto finish = [](Worker& worker) {
    while (!worker.at_rest()) worker.step();
  };
  world.broker.add(of("a1", "a"));
  world.broker.add(of("a2", "a"));
  world.run_once();
  const World::Waiters one{world};
  one.worker->step();
  finish(*one.worker);  // a1
  one.worker->step();   // It has a2 in hand,
  world.broker.add(of("a3", "a"));
  world.run_once();
  const World::Waiters other{world};
  other.worker->step();  // and the other one a2 and a3.
  finish(*one.worker);
  finish(*other.worker);
  EXPECT_EQ(applied, std::vector<std::string>{"a1"}) << "a2 has failed, so that a3 has to wait";
  world.run_waiting();
  EXPECT_EQ(applied, (std::vector<std::string>{"a1", "a2", "a3"}));
}

TEST_P(WaitingTest, ThePolicySaysWhichFailuresAreFinal) {
  const auto run = [&](std::vector<FailureClass> permanent) {
    World fresh{GetParam()};
    fresh.consumer.retry.permanent = std::move(permanent);
    fresh.broker.add(payment("e1", "none"));  // No such cell: another number of rows.
    fresh.run_once();
    return fresh.deferred().front().reason;
  };
  EXPECT_EQ(run({FailureClass::rows}), "dead");
  EXPECT_EQ(run({FailureClass::constraint, FailureClass::data}), "retry");
}

TEST_P(WaitingTest, AHandlersOwnPolicyWins) {
  fail_first({{"e1", 9}});
  world.consumer.handlers.front().retry = RetryPolicy{.attempts = 1};
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(ids("dead"), std::vector<std::string>{"e1"});
}

TEST_P(WaitingTest, P9_AReplayedEventKeepsItsIdentityAndIsAppliedOnce) {
  world.consumer.retry.attempts = 1;
  fail_first({{"e1", 1}});
  world.broker.add(payment("e1"));
  world.run_once();
  ASSERT_EQ(ids("dead").size(), 1U);
  world.run_waiting();
  EXPECT_EQ(ids("dead").size(), 1U) << "nobody has asked for it";
  const std::int64_t id = world.deferred().front().id;
  const auto decisions = world.model->decisions();
  EXPECT_EQ(decisions->replay({&id, 1}, {}).front(), ReplayAnswer::due);
  EXPECT_EQ(decisions->replay({&id, 1}, {}).front(), ReplayAnswer::waiting);
  world.run_waiting();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(decisions->replay({&id, 1}, {}).front(), ReplayAnswer::gone);
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
}

TEST_P(WaitingTest, AReplayCountsWhatBecomesOfItsEvents) {
  world.consumer.retry.attempts = 1;
  fail_first({{"e1", 1}, {"e2", 2}, {"e3", 1}});
  for (const char* id : {"e1", "e2", "e3"}) world.broker.add(payment(id));
  world.run_once();
  const auto replays = world.model->replays();
  const auto started = replays->start(
      {.id = "r1", .consumer = "billing", .filter = {}, .ramp = {}, .decision = {"me", "fixed"}});
  EXPECT_EQ(started.replay.selected, 3);
  EXPECT_FALSE(
      replays->start({.id = "r2", .consumer = "billing", .filter = {}, .decision = {}}).is_new);
  EXPECT_EQ(replays->advance(1), 3);
  world.run_waiting();
  replays->advance(1);
  const ReplayRecord report = replays->list("r1").front();
  EXPECT_EQ(report.state, ReplayState::done);
  EXPECT_EQ(report.applied, 2);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.open(), 0);
}

/// Bytes that were no event, read by a source that has learnt to.
class UndecodableTest : public WaitingTest {
 protected:
  void SetUp() override {
    Delivery broken;
    broken.raw = "id=e1";
    broken.defect = "BAD_JSON: it is cut off";
    world.broker.add(broken);
    world.run_once();
    ASSERT_EQ(ids("dead").size(), 1U);
  }
  void replay() {
    const std::int64_t id = world.deferred().front().id;
    world.model->decisions()->replay({&id, 1}, {});
    world.run_waiting();
  }
  void learn_to_decode() {
    world.decoders["orders"] = [] {
      return [](std::string_view bytes, Delivery& delivery) {
        delivery.event = payment(std::string{bytes.substr(3)});
      };
    };
  }
};
INSTANTIATE_TEST_SUITE_P(Sources, UndecodableTest, test::both_ways, way);

TEST_P(UndecodableTest, P9_IsDeadAgainWithTheSameBytes) {
  replay();
  ASSERT_EQ(world.deferred().size(), 1U);
  const DeferredRecord row = world.deferred().front();
  EXPECT_EQ(row.reason, "dead");
  EXPECT_EQ(row.raw, "id=e1");
  EXPECT_EQ(row.errors.size(), 2U);
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_P(UndecodableTest, P9_ClaimsItsOwnKeyOnceItIsAnEvent) {
  learn_to_decode();
  replay();
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.cell("A"), 10);
  ASSERT_EQ(inbox().size(), 1U) << "the key of the bytes is given back";
  EXPECT_EQ(inbox().front().event_id, "e1");
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  EXPECT_EQ(world.cell("A"), 10);
}

TEST_P(UndecodableTest, P1_IsADuplicateIfTheEventCameOtherwise) {
  world.broker.add(payment("e1"));
  world.run_once();
  learn_to_decode();
  replay();
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_P(UndecodableTest, P9_ThatFailsWaitsUnderItsOwnKey) {
  fail_first({{"e1", 1}});
  world.consumer.retry.attempts = 1;
  learn_to_decode();
  replay();
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().event.id, "e1");
  EXPECT_EQ(world.deferred().front().raw, "id=e1");
  EXPECT_EQ(inbox().size(), 1U);
  replay();
  EXPECT_EQ(world.cell("A"), 10);
}

TEST_P(WaitingTest, P1_AKillAtAnyStepOfARetryAppliesItOnce) {
  for (int steps = 0; steps < 40; ++steps) {
    World fresh{GetParam()};
    int failures = 2;
    fresh.consumer.handlers.clear();
    fresh.consumer.on("payment", [&](const Event& event, Context& context) {
      add_ten(event, context);
      return failures-- > 0 ? Answer::retry("not yet") : Answer::done();
    });
    fresh.broker.add(payment("e1"));
    fresh.run_once();
    {
      const World::Waiters killed{fresh};
      for (int i = 0; i < steps; ++i) killed.worker->step();
    }
    fresh.run_waiting();
    EXPECT_EQ(fresh.cell("A"), 10) << "killed after " << steps << " steps";
    EXPECT_TRUE(fresh.deferred().empty());
  }
}

}  // namespace
}  // namespace onefold
