#include "onefold/runtime/worker.h"

#include <gtest/gtest.h>

#include "onefold/runtime/test_world.h"

namespace onefold {
namespace {

using faults::CommitFault;
using test::add_ten;
using test::payment;
using test::World;

class WorkerTest : public test::BothWays {};

INSTANTIATE_TEST_SUITE_P(Sources, WorkerTest, test::both_ways, test::way);

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

TEST_P(WorkerTest, B07_SeveralCommitsInDoubtInARowCountNothingTwice) {
  for (const CommitFault second :
       {CommitFault::in_doubt_committed, CommitFault::in_doubt_rolled_back, CommitFault::refused}) {
    World fresh{GetParam()};
    for (const char* id : {"e1", "e2", "e1"}) fresh.broker.add(payment(id));
    fresh.script.fail_commit(CommitFault::in_doubt_committed, 1);
    fresh.script.fail_commit(second, 2);
    fresh.run_once();
    EXPECT_EQ(fresh.script.outstanding(), 0U);
    EXPECT_EQ(fresh.cell("A"), 20);
    EXPECT_EQ(fresh.count(Outcome::applied), 2);
    EXPECT_EQ(fresh.count(Outcome::duplicate), 1);
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
  world.broker = second;
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
  const auto records = world.model->records();
  std::optional<InboxRecord> record;
  for (const ScopeRecord& scope : records->scopes()) {
    if (const auto key = key_under_form(scope.key_form, scope.source_or_rule, "e1")) {
      record = records->evidence({.scope = scope.scope, .bytes = *key});
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

}  // namespace
}  // namespace onefold
