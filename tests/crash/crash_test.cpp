// Every point at which a process can end or a commit can lose its answer, in this process, on the
// reference model: crash at the first call, the second, the third ... until a run gets through.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <random>

#include "onefold/runtime/test_world.h"

namespace onefold {
namespace {

using faults::Call;
using faults::CommitFault;
using test::payment;
using test::World;

/// Payments with and without duplicates (duplicates hide losses), a conflict, an event that its
/// handler refuses, bytes that are no event, and a type that nobody handles.
void add_workload(World& world) {
  world.consumer.batch_max = 4;
  for (const char* id : {"e1", "e2", "e1", "e3"}) world.broker.add(payment(id));
  world.broker.add(payment("bad", "no such cell"));
  world.broker.add(payment("e4", "B"));
  world.broker.add(payment("e2", "A", R"({"other":1})"));
  world.broker.add(faults::undecodable("garbage"));
  world.broker.add(payment("e5", "B"));
  world.broker.add(faults::event("x", "{}", "unheard of"));
  world.broker.add(payment("e4", "B"));
  world.broker.add(payment("e6", "C"));
}

void expect_converged(World& world) {
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.cell("B"), 20);
  EXPECT_EQ(world.cell("C"), 10);
  // A log does not care: the position in the database is the truth, an acknowledgement a hint.
  if (world.broker.factory().traits.kind == SourceClass::queue) {
    EXPECT_EQ(world.broker.unacknowledged(), 0U);
  }
  std::map<std::string, int> reasons;
  for (const DeferredRecord& row : world.deferred()) ++reasons[row.reason];
  EXPECT_EQ(reasons, (std::map<std::string, int>{{"conflict", 1}, {"dead", 3}}));
}

class CrashTest : public testing::TestWithParam<SourceClass> {};
INSTANTIATE_TEST_SUITE_P(Sources, CrashTest, test::both_ways, test::way);

TEST_P(CrashTest, TheWorkloadConvergesWithoutFaults) {
  World world{GetParam()};
  add_workload(world);
  world.run_once();
  expect_converged(world);
  EXPECT_EQ(world.count(Outcome::applied), 6);
  EXPECT_EQ(world.count(Outcome::dead), 3);
  EXPECT_EQ(world.count(Outcome::conflict), 1);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
}

TEST_P(CrashTest, K0ToK6_AKillBeforeAnyStepConverges) {
  for (int steps = 0;; ++steps) {
    SCOPED_TRACE("killed before step " + std::to_string(steps));
    World world{GetParam()};
    add_workload(world);
    world.start();
    int done = 0;
    while (done < steps && (world.step() != StepResult::idle || !world.worker->at_end())) ++done;
    const bool finished = done < steps;
    world.run_once();
    expect_converged(world);
    if (testing::Test::HasFailure() || finished) break;
    ASSERT_LT(steps, 1000);
  }
}

TEST_P(CrashTest, K0ToK6_AKillBeforeAndAfterAnyCallConverges) {
  for (const auto moment : {faults::Moment::before, faults::Moment::after}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE("killed at call " + std::to_string(nth));
      World world{GetParam()};
      add_workload(world);
      world.script.at(Call::any, [] { throw faults::Crash{}; }, nth, moment);
      world.start();
      bool crashed = false;
      try {
        world.run();
      } catch (const faults::Crash&) {
        crashed = true;
      }
      world.script.clear();
      world.run_once();
      expect_converged(world);
      if (testing::Test::HasFailure() || !crashed) break;
      ASSERT_LT(nth, 1000);
    }
  }
}

TEST_P(CrashTest, P4_EveryWayThatAnyCommitCanEndConverges) {
  for (const CommitFault fault :
       {CommitFault::in_doubt_committed, CommitFault::in_doubt_rolled_back, CommitFault::refused}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE("commit " + std::to_string(nth));
      World world{GetParam()};
      add_workload(world);
      world.script.fail_commit(fault, nth);
      world.run_once();
      const bool happened = world.script.outstanding() == 0;
      expect_converged(world);
      // Also the counting is right: nothing is called a duplicate of itself.
      EXPECT_EQ(world.count(Outcome::applied), 6);
      EXPECT_EQ(world.count(Outcome::dead), 3);
      EXPECT_EQ(world.count(Outcome::duplicate), 2);
      for (const DeferredRecord& row : world.deferred()) {
        if (row.event.id == "bad") {
          EXPECT_EQ(row.count, 1);
        }
      }
      if (testing::Test::HasFailure() || !happened) break;
      ASSERT_LT(nth, 1000);
    }
  }
}

TEST_P(CrashTest, B36_AnErrorAtAnyCallBlamesNobody) {
  for (const ErrorKind kind : {ErrorKind::unavailable, ErrorKind::contention}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE("error at call " + std::to_string(nth));
      World world{GetParam()};
      add_workload(world);
      world.script.fail(Call::any, kind, nth);
      world.run_once();
      const bool happened = world.script.outstanding() == 0;
      expect_converged(world);
      EXPECT_EQ(world.count(Outcome::dead), 3);
      if (testing::Test::HasFailure() || !happened) break;
      ASSERT_LT(nth, 1000);
    }
  }
}

/// Two handlers with scopes and keys of their own, one of which takes several events at once, a
/// second payment under another id, a conflict of a payment, and an event that one of them refuses.
void add_keyed_workload(World& world) {
  const KeySpec event_key{};
  const KeySpec payment_key{.rule = "payment", .values = {"/payment"}};
  world.consumer.batch_max = 4;
  world.consumer.scope = Scope::handler;
  world.consumer.handlers[0].keys = {event_key, payment_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  world.consumer.on(
      {.name = "count", .type = "payment", .handle_batch = [](auto events, Context& context) {
         for (const Event* event : events) {
           const char* cell = event->subject == "B" ? "no such cell" : "C";
           context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                                 {{"amount", 1}, {"name", cell}}, 1);
         }
         return std::vector<Answer>{};
       }});
  const auto add = [&](const char* id, const char* data, const char* cell = "A") {
    world.broker.add(payment(id, cell, data));
  };
  add("e1", R"({"payment":"p1","amount":1})");
  add("e2", R"({"payment":"p2","amount":1})");
  add("e1", R"({"payment":"p1","amount":1})");
  add("e3", R"({"payment":"p1","amount":1})");
  add("e4", R"({"payment":"p3","amount":1})", "B");
  add("e5", R"({"payment":"p2","amount":2})");
  add("e6", R"({"payment":"p4","amount":1})", "no such cell");
  add("e7", R"({"payment":"p4","amount":1})");
  add("e8", R"({"payment":"p8","amount":1})");
  add("e2", R"({"payment":"p2","amount":1})");
}

void expect_keys_converged(World& world) {
  EXPECT_EQ(world.cell("A"), 30);  // e1, e2, e8.
  EXPECT_EQ(world.cell("B"), 10);
  EXPECT_EQ(world.cell("C"), 7);  // All ids but e4.
  std::map<std::string, int> set_aside;
  for (const DeferredRecord& row : world.deferred()) {
    ++set_aside[row.reason + " " + row.handler + " " + row.event.id];
  }
  EXPECT_EQ(set_aside,
            (std::map<std::string, int>{
                {"dead count e4", 1}, {"conflict payment e5", 1}, {"dead payment e6", 1}}));
  // 8 ids of "count", and two keys each for e1, e2, e4, e6 and e8.
  EXPECT_EQ(world.model->records()->inbox({}).records.size(), 18U);
}

TEST_P(CrashTest, KeysAndScopesConvergeWhateverFailsWhenever) {
  const auto faults = {0, 1, 2, 3, 4, 5, 6};
  for (const int fault : faults) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE("fault " + std::to_string(fault) + " at call " + std::to_string(nth));
      World world{GetParam()};
      add_keyed_workload(world);
      const auto die = [] { throw faults::Crash{}; };
      if (fault == 0) world.script.at(Call::any, die, nth, faults::Moment::before);
      if (fault == 1) world.script.at(Call::any, die, nth, faults::Moment::after);
      if (fault == 2) world.script.fail(Call::any, ErrorKind::unavailable, nth);
      if (fault == 3) world.script.fail(Call::any, ErrorKind::contention, nth);
      if (fault == 4) world.script.fail_commit(CommitFault::in_doubt_committed, nth);
      if (fault == 5) world.script.fail_commit(CommitFault::in_doubt_rolled_back, nth);
      if (fault == 6) world.script.fail_commit(CommitFault::refused, nth);
      bool crashed = false;
      try {
        world.run_once();
      } catch (const faults::Crash&) {
        crashed = true;
      }
      const bool happened = world.script.outstanding() == 0;
      // What is scripted for after a call is left out where the call itself fails.
      if (fault != 1) {
        EXPECT_EQ(crashed, happened && fault == 0);
      }
      world.script.clear();
      world.run_once();
      expect_keys_converged(world);
      if (testing::Test::HasFailure() || !happened) break;
      ASSERT_LT(nth, 1000);
    }
  }
}

/// Two live workers of one consumer with the same events: a redelivery while the first still works.
/// A worker that must wait is disabled until the other's transaction has ended.
class TwoWorkers {
 public:
  explicit TwoWorkers(SourceClass kind) : first_{kind}, second_{kind} {
    add_workload(first_);
    add_workload(second_);
    second_.model = nullptr;
    second_.store = nullptr;
  }

  /// Steps as `choose` says (0 or 1) until both are at rest. Returns false if nobody can go on.
  bool run(const std::function<int()>& choose) {
    first_.start();
    const Subscription subscription{.consumer = first_.consumer,
                                    .id = first_.subscription->id,
                                    .source = second_.broker.factory(),
                                    .mode = first_.subscription->mode,
                                    .id_prefixes = {}};
    Connection connection{*first_.store};
    Worker second{subscription, connection, first_.clock, {}};
    Worker* workers[] = {first_.worker.get(), &second};
    bool blocked[] = {false, false};
    bool ended[] = {false, false};
    for (int steps = 0; steps < 5000; ++steps) {
      if (ended[0] && ended[1]) return true;
      int who = choose();
      if (ended[who] || blocked[who]) who = 1 - who;
      if (ended[who] || blocked[who]) return false;
      first_.model->mark_step(who + 1);
      try {
        const StepResult result = workers[who]->step();
        if (result == StepResult::waiting) first_.clock.pass(std::chrono::seconds{1});
        ended[who] = result == StepResult::idle && workers[who]->at_end();
        blocked[1 - who] = false;
      } catch (const memory::Blocked&) {
        first_.model->undo_step(who + 1, memory::Redo::all);
        blocked[who] = true;
      }
    }
    return false;
  }

  World& world() { return first_; }
  std::size_t unacknowledged() const { return second_.broker.unacknowledged(); }

 private:
  World first_;
  World second_;
};

RC_GTEST_PROP(TwoWorkers, B03_P1_AnyInterleavingConverges, (std::uint32_t seed, bool optimistic)) {
  std::minstd_rand random{seed};
  TwoWorkers two{optimistic ? SourceClass::owned_log : SourceClass::queue};
  RC_ASSERT(two.run([&] { return static_cast<int>(random() >> 8U) & 1; }));
  expect_converged(two.world());
  RC_ASSERT(!testing::Test::HasFailure());
  RC_ASSERT(optimistic || two.unacknowledged() == 0U);
}

}  // namespace
}  // namespace onefold
