// What happens to a batch, and to whom, when something fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "onefold/runtime/test_world.h"
#include "onefold/runtime/worker.h"

namespace onefold {
namespace {

using faults::Call;
using faults::CommitFault;
using test::add_ten;
using test::payment;
using test::World;

class FailureTest : public test::BothWays {};

INSTANTIATE_TEST_SUITE_P(Sources, FailureTest, test::both_ways, test::way);

TEST_P(FailureTest, ExactlyTheFailingEventIsSetAside) {
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event& event, Context& context) {
    add_ten(event, context);
    if (event.id == "bad") return Answer::reject("no such order");
    return Answer::done();
  });
  for (const char* id : {"e1", "bad", "e2", "bad"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().handler, "payment");
  EXPECT_EQ(world.deferred().front().errors, (std::vector<std::string>{"payment: no such order"}));
  EXPECT_EQ(world.broker.unacknowledged(), 0U);
}

TEST_P(FailureTest, P9_ADeadLetterKeepsItsIdentityItsBytesAndTheReason) {
  Delivery delivery = faults::delivery(payment("e\n1", "no such cell", R"({"a":"\u0000"})"));
  delivery.event.headers = {{"trace", "1"}, {"trace", "2"}};
  delivery.raw = std::string{"{\0\xff}", 4};
  world.broker.add(payment("e0"));
  world.broker.add(delivery);
  world.run_once();
  ASSERT_EQ(world.deferred().size(), 1U);
  const DeferredRecord dead = world.deferred().front();
  EXPECT_EQ(dead.reason, "dead");
  EXPECT_EQ(dead.consumer, "billing");
  EXPECT_EQ(dead.source, "orders");
  EXPECT_EQ(dead.handler, "payment");
  EXPECT_EQ(dead.attempts, 1);
  EXPECT_EQ(dead.event.id, "e\n1");
  EXPECT_EQ(dead.event.source, "shop");
  EXPECT_EQ(dead.event.type, "payment");
  EXPECT_EQ(dead.event.headers, delivery.event.headers);
  EXPECT_EQ(dead.raw, delivery.raw);
  ASSERT_EQ(dead.errors.size(), 1U);
  EXPECT_TRUE(dead.errors.front().starts_with("payment: ")) << dead.errors.front();
  ASSERT_EQ(dead.position.has_value(), GetParam() == SourceClass::owned_log);
  EXPECT_EQ(dead.position.value_or(Position{}).at.low, dead.position ? 1U : 0U);
  // Its claim is held: a redelivery is a duplicate, and nothing is set aside twice.
  world.broker.add(delivery);
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  EXPECT_EQ(world.deferred().size(), 1U);
}

TEST_P(FailureTest, AStatementThatFailsIsTheEventsOwnFailure) {
  world.broker.add(payment("e1"));
  world.broker.add(payment("e2", "no such cell"));  // expected_rows is not met
  world.broker.add(payment("e3"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::dead), 1);
}

TEST_P(FailureTest, ASwallowedErrorIsNotCommitted) {
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event& event, Context& context) {
    add_ten(event, context);
    try {
      if (event.id == "bad") context.sql().change("no such statement", {});
    } catch (const Error&) {  // NOLINT: what a careless handler does
    }
    return Answer::done();
  });
  for (const char* id : {"e1", "bad", "e2"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::dead), 1);
}

TEST_P(FailureTest, TheHandlerThatSwallowedAnErrorIsNamedAndNotTheNext) {
  world.consumer.handlers.clear();
  world.consumer.on(
      {.name = "careless", .type = "payment", .handle = [](const auto&, auto& context) {
         try {
           context.sql().change("no such statement", {});
         } catch (const Error&) {  // NOLINT: what a careless handler does
         }
         return Answer::done();
       }});
  world.consumer.on({.name = "innocent", .type = "payment", .handle = test::add_ten});
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 0);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().handler, "careless");
}

TEST_P(FailureTest, WhateverAHandlerThrowsIsItsOwnFailure) {
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event& event, Context& context) {
    add_ten(event, context);
    if (event.id == "bad") throw 42;
    return Answer::done();
  });
  for (const char* id : {"e1", "bad", "e2"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::deferred), 1);
}

TEST_P(FailureTest, B36_ADeadlockRepeatsTheWholeUnitAndBlamesNobody) {
  for (const Call call : {Call::begin, Call::claim, Call::execute, Call::record, Call::advance}) {
    if (call == Call::record && GetParam() == SourceClass::queue) continue;  // Nothing to record.
    World fresh{GetParam()};
    for (const char* id : {"e1", "e2", "e3", "e4"}) fresh.broker.add(payment(id));
    fresh.script.fail(call, ErrorKind::contention);
    fresh.run_once();
    EXPECT_EQ(fresh.script.outstanding(), 0U);
    EXPECT_EQ(fresh.cell("A"), 40);
    EXPECT_EQ(fresh.count(Outcome::applied), 4);
    EXPECT_EQ(fresh.count(Outcome::dead), 0);
  }
}

TEST_P(FailureTest, B18_P3_WhileTheDatabaseIsAwayNothingIsAcknowledgedAndNothingIsLost) {
  for (int i = 0; i < 5; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.start();
  world.step();
  world.script.set_away(true);
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(world.worker->step(), StepResult::idle);
    world.clock.pass(std::chrono::minutes{1});
  }
  EXPECT_TRUE(world.broker.acknowledged().empty());
  EXPECT_FALSE(world.notices.empty());
  world.script.set_away(false);
  world.run();
  EXPECT_EQ(world.cell("A"), 50);
  EXPECT_EQ(world.count(Outcome::applied), 5);
  EXPECT_EQ(world.count(Outcome::dead), 0);
}

TEST_P(FailureTest, B65_AFailingDeadLetterStoreLosesNoDeadLetter) {
  for (const ErrorKind kind : {ErrorKind::unavailable, ErrorKind::contention}) {
    World fresh{GetParam()};
    fresh.consumer.batch_max = 2;
    for (const char* id : {"bad1", "e1", "bad2", "e2"}) {
      fresh.broker.add(payment(id, id[0] == 'b' ? "no such cell" : "A"));
    }
    fresh.script.fail(Call::defer, kind, 1);
    fresh.script.fail(Call::defer, kind, 2);
    fresh.run_once();
    EXPECT_EQ(fresh.script.outstanding(), 0U);
    EXPECT_EQ(fresh.cell("A"), 20);
    EXPECT_EQ(fresh.count(Outcome::dead), 2);
    ASSERT_EQ(fresh.deferred().size(), 2U);
    EXPECT_EQ(fresh.deferred().at(0).event.id, "bad1");
    EXPECT_EQ(fresh.deferred().at(1).event.id, "bad2");
    EXPECT_EQ(fresh.deferred().at(0).attempts, 1);  // Nobody's attempts are used up.
  }
}

TEST_P(FailureTest, ADeferredConstraintBlamesExactlyItsEvent) {
  // The database refuses at COMMIT whatever contains the bad event.
  world.consumer.handlers.clear();
  bool contains_bad = false;
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    contains_bad = contains_bad || event.id == "bad";
    return add_ten(event, context);
  });
  for (int i = 0; i < 20; ++i) world.broker.add(payment(i == 7 ? "bad" : std::to_string(i)));
  world.start();
  int steps = 0;
  while (world.worker->next() != Step::receive || !world.worker->at_end() || steps == 0) {
    ASSERT_LT(++steps, 2000);
    if (world.worker->next() == Step::begin) contains_bad = false;
    if (world.worker->next() == Step::commit && contains_bad) {
      world.script.fail_commit(CommitFault::constraint);
    }
    world.step();
  }
  EXPECT_EQ(world.cell("A"), 190);
  EXPECT_EQ(world.count(Outcome::applied), 19);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().event.id, "bad");
}

TEST_P(FailureTest, AHandlerThatBreaksTheContractStopsTheConsumer) {
  world.consumer.handlers.clear();
  world.consumer.on("payment", [](const Event& event, Context& context) -> Answer {
    add_ten(event, context);
    throw Error{ErrorKind::contract_violation, "COMMIT in a handler"};
  });
  world.broker.add(payment("e1"));
  world.start();
  try {
    world.run();
    FAIL() << "the consumer went on";
  } catch (const Error& error) {
    EXPECT_TRUE(error.contract_violation());
    EXPECT_NE(std::string{error.what()}.find("payment"), std::string::npos);
    EXPECT_NE(std::string{error.what()}.find("e1"), std::string::npos);
  }
  EXPECT_EQ(world.worker->next(), Step::stopped);
  EXPECT_EQ(world.cell("A"), 0);
  EXPECT_TRUE(world.broker.acknowledged().empty());
}

/// An error that is no handler's, and that will come again, is not called the events' own.
TEST_P(FailureTest, AFailureOutsideOfHandlersBlamesNoEvent) {
  for (const char* id : {"e1", "e2"}) world.broker.add(payment(id));
  world.script.fail(Call::claim, ErrorKind::permanent);
  std::optional<ErrorKind> thrown;
  try {
    world.run_once();
  } catch (const Error& error) {
    thrown = error.kind();
  }
  EXPECT_EQ(thrown, ErrorKind::bad_configuration);
  world.stop();
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.cell("A"), 0);
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
}

TEST_P(FailureTest, ASourceThatFailsIsOpenedAgain) {
  world.broker.fail_receive(Error{ErrorKind::unavailable, "broker away"}, 1);
  world.broker.fail_acknowledge(Error{ErrorKind::unavailable, "broker away"}, 1);
  for (const char* id : {"e1", "e2"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_GE(world.broker.opened(), 2);
  // What a log did not hear is not said again: it goes on behind what was committed.
  EXPECT_EQ(world.broker.unacknowledged(), GetParam() == SourceClass::queue ? 0U : 2U);
}

TEST(Failure, P10_ARestoreBeforeTheFirstCommitOfAProcessIsNoticed) {
  World world{SourceClass::owned_log};
  world.broker.add(payment("e0"));
  world.start();
  world.run();
  const auto backup = world.model->snapshot();
  world.broker.add(payment("e1"));
  world.run();
  world.broker.add(payment("e2"));
  world.start();
  while (world.worker->next() == Step::receive) world.step();
  world.model->restore(backup);
  world.run();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.broker.repositioned(), 1);
}

TEST(Failure, P10_ARestoredDatabaseRewindsAnOwnedLog) {
  World world{SourceClass::owned_log};
  world.consumer.batch_max = 2;
  for (int i = 0; i < 4; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.start();
  world.run();
  const auto backup = world.model->snapshot();
  for (int i = 4; i < 10; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.run();
  EXPECT_EQ(world.cell("A"), 100);
  world.model->restore(backup);
  world.script.fail(Call::begin, ErrorKind::unavailable);
  world.broker.add(payment("e10"));
  world.run();
  EXPECT_EQ(world.cell("A"), 110);
  EXPECT_EQ(world.broker.repositioned(), 1);
  EXPECT_TRUE(std::ranges::any_of(world.notices, [](const std::string& text) {
    return text.find("DATA_LOSS_SUSPECTED") != std::string::npos;
  }));
}

TEST(Failure, P10_ScopesThatARestoreHasTakenBackAreAllottedAnew) {
  World world{SourceClass::owned_log};
  world.start();
  const auto backup = world.model->snapshot();
  world.broker.add(payment("e1"));
  world.run();
  world.model->restore(backup);
  Event other = payment("e1", "B");
  other.source = "another shop";
  world.broker.add(other);
  world.run();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.cell("B"), 10);
  EXPECT_EQ(world.model->records()->scopes().size(), 2U);
}

TEST(Failure, P10_ACommitThatWasSeenToHaveWorkedAndIsLostAfterwardsIsRunAgain) {
  World world{SourceClass::owned_log};
  world.broker.add(payment("e1"));
  world.start();
  const auto backup = world.model->snapshot();
  world.script.fail_commit(faults::CommitFault::in_doubt_committed);
  // The rerun has found its claim; then the database goes back behind it.
  world.script.at(Call::claim, [&] { world.model->restore(backup); }, 2, faults::Moment::after);
  world.run();
  EXPECT_EQ(world.script.outstanding(), 0U);
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::applied), 1);
  EXPECT_EQ(world.model->records()->inbox({}).records.size(), 1U);
}

TEST(Failure, P10_AKillAtAnyStepAfterARestoreLosesNothing) {
  for (int steps = 0; steps < 60; ++steps) {
    SCOPED_TRACE("killed " + std::to_string(steps) + " steps after the restore");
    World world{SourceClass::owned_log};
    world.consumer.batch_max = 2;
    for (int i = 0; i < 4; ++i) world.broker.add(payment("e" + std::to_string(i)));
    world.start();
    world.run();
    const auto backup = world.model->snapshot();
    for (int i = 4; i < 10; ++i) world.broker.add(payment("e" + std::to_string(i)));
    world.run();
    // Deliveries are in hand when the database goes back.
    world.broker.add(payment("e10"));
    world.step();
    world.model->restore(backup);
    for (int i = 0; i < steps; ++i) world.step();
    world.run_once();
    ASSERT_EQ(world.cell("A"), 110);
  }
}

TEST(Failure, P10_ARestartOnARestoredDatabaseAppliesWhatItLost) {
  World world{SourceClass::owned_log};
  for (int i = 0; i < 4; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.run_once();
  const auto backup = world.model->snapshot();
  for (int i = 4; i < 10; ++i) world.broker.add(payment("e" + std::to_string(i)));
  world.run_once();
  world.model->restore(backup);
  world.run_once();
  EXPECT_EQ(world.cell("A"), 100);
}

}  // namespace
}  // namespace onefold
