#include "onefold/runtime/worker.h"

#include <gtest/gtest.h>

#include "onefold/runtime/test_world.h"

namespace onefold {
namespace {

using faults::Call;
using faults::CommitFault;
using test::add_ten;
using test::payment;
using test::World;

/// Every promise holds for both ways to claim: an owned log is optimistic, a queue claims first.
class WorkerTest : public testing::TestWithParam<SourceClass> {
 protected:
  World world{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Sources, WorkerTest,
                         testing::Values(SourceClass::owned_log, SourceClass::queue),
                         [](const auto& one) {
                           return one.param == SourceClass::owned_log ? "Optimistic" : "ClaimFirst";
                         });

TEST_P(WorkerTest, P1_EachEventIsAppliedOnce) {
  for (const char* id : {"e1", "e2", "e1", "e3", "e2", "e1"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.count(Outcome::applied), 3);
  EXPECT_EQ(world.count(Outcome::duplicate), 3);
}

TEST_P(WorkerTest, P1_AlsoOverBatchesAndProcesses) {
  world.consumer.batch_max = 2;
  for (const char* id : {"e1", "e2", "e1"}) world.broker.add(payment(id));
  world.run_once();
  for (const char* id : {"e2", "e3", "e1"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.count(Outcome::applied), 3);
  EXPECT_EQ(world.count(Outcome::duplicate), 3);
}

TEST_P(WorkerTest, B01_TheClaimOfAFailedHandlerDoesNotRemain) {
  int calls = 0;
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    add_ten(event, context);
    // Once as the database failing under it, once as the process dying in it.
    if (++calls == 1) throw Error{ErrorKind::contention, "deadlock"};
    if (calls == 2) throw faults::Crash{};
    return Answer::done();
  });
  world.broker.add(payment("e1"));
  world.broker.add(payment("e2"));
  world.start();
  EXPECT_THROW(world.run(), faults::Crash);
  EXPECT_EQ(world.cell("A"), 0);
  EXPECT_TRUE(world.broker.acknowledged().empty());
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
}

TEST_P(WorkerTest, B01_ThePositionNeverPassesAnEventWithoutADecision) {
  bool broken = true;
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    if (broken && event.id == "e1") throw faults::Crash{};
    return add_ten(event, context);
  });
  world.consumer.batch_max = 1;
  world.broker.add(payment("e1"));
  world.broker.add(payment("e2"));
  for (int restart = 0; restart < 3; ++restart) {
    world.start();
    EXPECT_THROW(world.run(), faults::Crash);
  }
  EXPECT_EQ(world.cell("A"), 0);
  broken = false;
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
}

TEST_P(WorkerTest, B05_EachElementOfABatchHasItsOwnOutcome) {
  world.broker.add(payment("b", "B"));
  world.run_once();
  world.broker.add(payment("a", "A"));
  world.broker.add(payment("b", "B"));
  world.broker.add(payment("c", "C"));
  world.broker.add(payment("a", "A"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.cell("B"), 10);
  EXPECT_EQ(world.cell("C"), 10);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
  EXPECT_EQ(world.broker.unacknowledged(), 0U);
}

TEST_P(WorkerTest, B07_P4_ACommitWithoutAnAnswerIsNeverGuessed) {
  for (const CommitFault fault :
       {CommitFault::in_doubt_committed, CommitFault::in_doubt_rolled_back, CommitFault::refused}) {
    World fresh{GetParam()};
    fresh.broker.add(payment("e1"));
    fresh.broker.add(payment("e2", "B"));
    fresh.broker.add(payment("e1"));
    fresh.script.fail_commit(fault);
    fresh.run_once();
    EXPECT_EQ(fresh.script.outstanding(), 0U);
    EXPECT_EQ(fresh.cell("A"), 10);
    EXPECT_EQ(fresh.cell("B"), 10);
    EXPECT_EQ(fresh.count(Outcome::applied), 2);
    EXPECT_EQ(fresh.count(Outcome::duplicate), 1);
    EXPECT_EQ(fresh.count(Outcome::dead), 0);
    EXPECT_EQ(fresh.broker.unacknowledged(), 0U);
  }
}

TEST_P(WorkerTest, P2_NothingIsAcknowledgedBeforeTheCommitIsConfirmed) {
  world.broker.add(payment("e1"));
  world.start();
  while (world.worker->next() != Step::acknowledge) {
    EXPECT_TRUE(world.broker.acknowledged().empty());
    world.step();
  }
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_TRUE(world.broker.acknowledged().empty());
  world.step();
  EXPECT_EQ(world.broker.acknowledged().size(), 1U);
}

TEST_P(WorkerTest, B15_EachConsumerAppliesTheEventOnce) {
  world.broker.add(payment("e1"));
  world.run_once();
  world.consumer.name = "mail";
  faults::ScriptedBroker second{"orders", GetParam()};
  second.add(payment("e1"));
  world.broker = std::move(second);
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
}

TEST_P(WorkerTest, B15_EqualIdsOfTwoEventSourcesAreTwoEvents) {
  Event other = payment("e1");
  other.source = "another shop";
  world.broker.add(payment("e1"));
  world.broker.add(other);
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
}

TEST_P(WorkerTest, B08_B32_IdsAreComparedByteByByte) {
  for (const char* id :
       {"Evt-1", "evt-1", "evt-1 ", "\xC3\xA9", "e\xCC\x81", "\xC3\x85", "\xE2\x84\xAB"}) {
    world.broker.add(payment(id));
  }
  world.run_once();
  EXPECT_EQ(world.cell("A"), 70);
}

TEST_P(WorkerTest, B22_P11_TheSameKeyWithOtherDataIsAConflict) {
  // (a) in one batch, (b) after completion, (c) in another process; (d) an identical repetition.
  world.broker.add(payment("k", "A", R"({"amount":10})"));
  world.broker.add(payment("k", "A", R"({"amount":99})"));
  world.start();
  world.run();
  world.broker.add(payment("k", "A", R"({"amount":99})"));
  world.run();
  world.broker.add(payment("k", "A", R"({"amount":98})"));
  world.run_once();
  world.broker.add(payment("k", "A", R"({ "amount" : 10 })"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::applied), 1);
  EXPECT_EQ(world.count(Outcome::conflict), 3);
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  const auto kept = world.deferred();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept.at(0).reason, "conflict");
  EXPECT_EQ(kept.at(0).count, 2);
  EXPECT_EQ(kept.at(1).count, 1);
}

TEST_P(WorkerTest, B12_WhatHasNoIdentityIsDeadOnceAndNoHandlerRuns) {
  world.broker.add(faults::undecodable(R"({"id":""})", "ID_MISSING: empty"));
  world.broker.add(payment("e1"));
  world.run_once();
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  const auto kept = world.deferred();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().raw, R"({"id":""})");
  ASSERT_EQ(kept.front().errors.size(), 1U);
  EXPECT_EQ(kept.front().errors.front(), "ID_MISSING: empty");
}

TEST(Worker, UndecodableBytesOfAQueueAreCountedInOneDeadLetter) {
  World world{SourceClass::queue};
  for (int i = 0; i < 3; ++i) world.broker.add(faults::undecodable("garbage"));
  world.run_once();
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().count, 3);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
}

TEST_P(WorkerTest, ExactlyTheFailingEventIsSetAside) {
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

TEST_P(WorkerTest, AStatementThatFailsIsTheEventsOwnFailure) {
  world.broker.add(payment("e1"));
  world.broker.add(payment("e2", "no such cell"));  // expected_rows is not met
  world.broker.add(payment("e3"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::dead), 1);
}

TEST_P(WorkerTest, ASwallowedErrorIsNotCommitted) {
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

TEST_P(WorkerTest, ARetryIsTriedThreeTimesInPlace) {
  std::map<std::string, int> calls;
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    const int call = ++calls[event.id];
    if (event.id == "never") return Answer::retry("not yet");
    if (event.id == "later" && call < 3) throw std::runtime_error{"not yet"};
    return add_ten(event, context);
  });
  for (const char* id : {"e1", "later", "never", "e2"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  EXPECT_EQ(calls["never"], 3);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred().front().attempts, 3);
  EXPECT_EQ(world.deferred().front().errors.size(), 3U);
}

TEST_P(WorkerTest, ARetryThatHasTouchedTheDatabaseLeavesNothingOfItsAttempts) {
  int calls = 0;
  world.consumer.handlers.clear();
  world.consumer.on("payment", [&](const Event& event, Context& context) {
    add_ten(event, context);
    return ++calls < 4 ? Answer::retry("not yet") : Answer::done();
  });
  world.broker.add(payment("e1"));
  world.run_once();
  // The first refusal, in the fast path, is not counted: it was not under the claim.
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(world.count(Outcome::applied), 1);
  EXPECT_EQ(world.cell("A"), 10);
}

TEST_P(WorkerTest, B36_ADeadlockRepeatsTheWholeUnitAndBlamesNobody) {
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

TEST_P(WorkerTest, B18_WhileTheDatabaseIsAwayNothingIsAcknowledgedAndNothingIsLost) {
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

TEST_P(WorkerTest, ADeferredConstraintBlamesExactlyItsEvent) {
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
  while (!(world.worker->next() == Step::receive && world.worker->at_end() && steps > 0)) {
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

TEST_P(WorkerTest, AHandlerThatBreaksTheContractStopsTheConsumer) {
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

TEST_P(WorkerTest, UnsupportedTypesAreDeadOrIgnoredAsConfigured) {
  world.broker.add(faults::event("x", "{}", "unheard of"));
  world.run_once();
  EXPECT_EQ(world.count(Outcome::dead), 1);
  World lenient{GetParam()};
  lenient.consumer.unsupported = Unsupported::ignore;
  lenient.broker.add(faults::event("x", "{}", "unheard of"));
  lenient.run_once();
  EXPECT_EQ(lenient.count(Outcome::ignored), 1);
  EXPECT_TRUE(lenient.deferred().empty());
  EXPECT_EQ(lenient.broker.unacknowledged(), 0U);
}

TEST_P(WorkerTest, AllMatchingHandlersRunInOrderUnderOneOutcome) {
  std::vector<std::string> ran;
  const auto note = [&](const char* name) {
    return [&ran, name](const Event&, Context&) {
      ran.emplace_back(name);
      return Answer::done();
    };
  };
  world.consumer.on({.name = "any", .type = "pay*", .version = 3, .handle = note("any")});
  world.consumer.on({.name = "other", .type = "refund", .handle = note("other")});
  world.consumer.on({.name = "all", .type = "*", .handle = note("all")});
  world.broker.add(payment("e1"));
  world.run_once();
  EXPECT_EQ(ran, (std::vector<std::string>{"any", "all"}));
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.count(Outcome::applied), 1);
}

TEST_P(WorkerTest, EvidenceSaysWhatWasDoneByWhom) {
  world.consumer.handlers.clear();
  world.consumer.on({.name = "credit",
                     .type = "payment",
                     .version = 7,
                     .entity = "/account",
                     .handle = [](const Event& event, Context& context) {
                       add_ten(event, context);
                       return Answer::done("receipt 12");
                     }});
  world.broker.add(payment("e1", "A", R"({"account":9007199254740993})"));
  world.run_once();
  const auto housekeeping = world.model->housekeeping();
  std::optional<InboxRecord> record;
  for (const ScopeRecord& scope : housekeeping->scopes()) {
    if (const auto key = key_under_form(scope.key_form, scope.source_or_rule, "e1")) {
      record = housekeeping->evidence({.scope = scope.scope, .bytes = *key});
    }
  }
  ASSERT_TRUE(record);
  EXPECT_EQ(record->event_id, "e1");
  EXPECT_EQ(record->event_source, "shop");
  EXPECT_EQ(record->outcome, Outcome::applied);
  EXPECT_FALSE(record->waiting);
  EXPECT_EQ(record->handled_by, "credit@7");
  EXPECT_EQ(record->entity, "9007199254740993");
  EXPECT_EQ(record->result, "receipt 12");
  EXPECT_NE(record->fingerprint, Fingerprint{});
  EXPECT_EQ(record->recorded_at, world.clock.now());
}

TEST_P(WorkerTest, ASourceThatFailsIsOpenedAgain) {
  world.broker.fail_receive(Error{ErrorKind::unavailable, "broker away"}, 1);
  world.broker.fail_acknowledge(Error{ErrorKind::unavailable, "broker away"}, 1);
  for (const char* id : {"e1", "e2"}) world.broker.add(payment(id));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_GE(world.broker.opened(), 2);
}

TEST(Worker, P10_ARestoredDatabaseRewindsAnOwnedLog) {
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

TEST(Worker, P10_ARestartOnARestoredDatabaseAppliesWhatItLost) {
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
