// What must happen once: business keys, several keys, and a scope for each handler.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "onefold/runtime/test_world.h"

namespace onefold {
namespace {

using test::payment;
using test::World;

const KeySpec event_key{};
const KeySpec payment_key{.rule = "payment", .values = {"/payment"}};
const KeySpec command_key{.rule = "command", .values = {"/command"}};

std::vector<InboxRecord> inbox(World& world, const std::string& event_id = {}) {
  return world.model->records()->inbox({.event_id = event_id}).records;
}

/// What `run --accept-key-change` does.
void adopt_changes(World& world) {
  const SourceFactory source = world.broker.factory();
  world.model->housekeeping()->adopt({.name = world.consumer.name,
                                      .rules = rules_of(world.consumer, {&source, 1}),
                                      .mode = ClaimMode::claim_first},
                                     RuleChange{.who = "test", .reason = "test"});
}

class KeysTest : public test::BothWays {
 protected:
  /// Events of a cell, keyed by what they say.
  void say(const std::string& id, const std::string& data, const std::string& cell = "A") {
    world.broker.add(payment(id, cell, data));
  }
  std::vector<std::string> errors() {
    std::vector<std::string> errors;
    for (const DeferredRecord& row : world.deferred()) errors.push_back(row.errors.at(0));
    return errors;
  }
};
INSTANTIATE_TEST_SUITE_P(Sources, KeysTest, test::both_ways, test::way);

TEST_P(KeysTest, ABusinessKeyIsOneEffectWhateverTheIdsAre) {
  world.consumer.keys = {payment_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  say("e1", R"({"payment":"p1","amount":5,"sent":1})");
  say("e2", R"({"payment":"p1","amount":5,"sent":2})");
  say("e3", R"({"payment":"p2","amount":5})");
  world.run_once();
  say("e4", R"({"sent":3,"amount":5,"payment":"p2"})");
  say("e5", R"({"payment":"p1","amount":6})");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
  EXPECT_EQ(world.count(Outcome::conflict), 1);
}

TEST_P(KeysTest, B29_AKeyOfTextIsNoKeyOfDigits) {
  world.consumer.keys = {payment_key};
  for (const char* value : {"1", "\"1\"", "-1", "\"-1\"", "9223372036854775807"}) {
    say(std::string{"e"} + value, std::string{R"({"payment":)"} + value + "}");
  }
  world.run_once();
  EXPECT_EQ(world.count(Outcome::applied), 5);
}

TEST_P(KeysTest, ValuesOfAKeyDoNotRunIntoEachOther) {
  world.consumer.keys = {{.rule = "attempt", .values = {"/order", "/attempt"}}};
  say("e1", R"({"order":"a","attempt":"bc"})");
  say("e2", R"({"order":"ab","attempt":"c"})");
  say("e3", R"({"attempt":"c","order":"ab"})");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
}

TEST_P(KeysTest, AttributesCanBeKeys) {
  world.consumer.keys = {{.rule = "cell", .values = {"attr:subject", "attr:type"}}};
  say("e1", "{}", "A");
  say("e2", "{}", "A");
  say("e3", "{}", "B");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.cell("B"), 10);
}

TEST_P(KeysTest, AnEventWithoutItsKeyIsDeadUnderItsIdentity) {
  world.consumer.keys = {payment_key};
  for (const char* data : {"{}", R"({"payment":null})", R"({"payment":1.0})", R"({"payment":-0})",
                           R"({"payment":{}})", R"({"payment":9223372036854775808})"}) {
    say(std::string{"e"} + data, data);
  }
  world.run_once();
  EXPECT_EQ(world.count(Outcome::dead), 6);
  const auto all = errors();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(std::ranges::count_if(all, [](auto& e) { return e.starts_with("KEY_MISSING: "); }), 2);
  EXPECT_EQ(std::ranges::count_if(all, [](auto& e) { return e.starts_with("KEY_TYPE: "); }), 4);
  EXPECT_NE(all[0].find("/payment"), std::string::npos);
  say("e{}", "{}");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  EXPECT_EQ(world.deferred().size(), 6U);
}

TEST_P(KeysTest, OfSeveralKeysOneThatIsKnownIsEnough) {
  world.consumer.keys = {event_key, payment_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  say("e1", R"({"payment":"p1"})");
  say("e1", R"({"payment":"p1"})");
  say("e2", R"({"payment":"p1"})");
  // What a duplicate or a conflict would have claimed besides stays free for who has a right to it.
  say("e1", R"({"payment":"p2"})");
  say("e3", R"({"payment":"p2"})");
  say("e2", R"({"payment":"p3"})");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::applied), 3);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
  EXPECT_EQ(world.count(Outcome::conflict), 1);
  EXPECT_EQ(world.cell("A"), 30);
  for (const char* id : {"e1", "e2", "e3"}) {
    SCOPED_TRACE(id);
    EXPECT_EQ(inbox(world, id).size(), 2U);
  }
}

TEST_P(KeysTest, ADeadEventHoldsAllItsKeys) {
  world.consumer.keys = {event_key, payment_key, command_key};
  say("e1", R"({"payment":"p1","command":"c1"})", "no such cell");
  say("e2", R"({"payment":"p1","command":"c2"})");
  say("e3", R"({"payment":"p3","command":"c1"})");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::dead), 1);
  EXPECT_EQ(world.count(Outcome::conflict), 2);  // All of the data is compared.
  EXPECT_EQ(world.cell("A"), 0);
  const auto rows = world.deferred();
  ASSERT_EQ(rows.size(), 3U);
  const auto dead = std::ranges::find(rows, std::string{"dead"}, &DeferredRecord::reason);
  ASSERT_NE(dead, rows.end());
  ASSERT_EQ(dead->further_keys.size(), 2U);
  for (const InboxRecord& row : inbox(world, "e1")) EXPECT_TRUE(row.waiting);
  std::set<Key> keys{dead->key};
  keys.insert(dead->further_keys.begin(), dead->further_keys.end());
  std::set<Key> claimed;
  for (const InboxRecord& row : inbox(world, "e1")) claimed.insert(row.key);
  EXPECT_EQ(keys, claimed);
}

TEST_P(KeysTest, AConflictIsKeptUnderTheKeyThatIsTaken) {
  world.consumer.keys = {event_key, payment_key, command_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  say("e1", R"({"payment":"p1","command":"c1","amount":1})");
  say("e2", R"({"payment":"p2","command":"c1","amount":2})");
  world.run_once();
  ASSERT_EQ(world.deferred().size(), 1U);
  const DeferredRecord conflict = world.deferred()[0];
  EXPECT_EQ(conflict.event.id, "e2");
  const auto holder = world.model->records()->evidence(conflict.key);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->event_id, "e1");
  EXPECT_NE(holder->fingerprint, conflict.fingerprint);
  EXPECT_EQ(conflict.errors.at(0).substr(0, 11), "KEY_REUSE: ");
  EXPECT_NE(conflict.errors.at(0).find("'command'"), std::string::npos);
  EXPECT_TRUE(conflict.further_keys.empty());
}

TEST_P(KeysTest, FingerprintsThatAreOffMakeNoConflicts) {
  world.consumer.fingerprint = {.kind = FingerprintRule::Kind::off};
  say("e1", R"({"a":1})");
  say("e1", R"({"a":2})");
  world.run_once();
  // Also where one side was compared, before or after the rule was changed.
  world.consumer.fingerprint = {};
  adopt_changes(world);
  say("e1", R"({"a":3})");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::applied), 1);
  EXPECT_EQ(world.count(Outcome::duplicate), 2);
}

TEST_P(KeysTest, WhatIsIgnoredMakesNoConflict) {
  world.consumer.fingerprint = {.ignore = {"/attempt"}};
  say("e1", R"({"a":1,"attempt":1})");
  say("e1", R"({"attempt":2,"a":1})");
  say("e1", R"({"attempt":2,"a":2})");
  world.run_once();
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  EXPECT_EQ(world.count(Outcome::conflict), 1);
}

TEST_P(KeysTest, EveryEventThatIsInConflictOverABusinessKeyIsKept) {
  world.consumer.keys = {payment_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  say("e1", R"({"payment":"p1","amount":1})");
  say("e2", R"({"payment":"p1","amount":2,"by":"x"})");
  say("e3", R"({"payment":"p1","amount":2,"by":"y"})");
  say("e2", R"({"payment":"p1","amount":2,"by":"x"})");
  world.run_once();
  const auto rows = world.deferred();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].event.id + rows[1].event.id, "e2e3");
  EXPECT_EQ(rows[0].count + rows[1].count, 3);
}

TEST_P(KeysTest, ResultsOfSeveralHandlersAreAllKept) {
  for (const char* note : {"first", "second"}) {
    world.consumer.on({.name = note, .type = "payment", .handle = [note](const auto&, auto&) {
                         return Answer::done(note);
                       }});
  }
  say("e1", "{}");
  world.run_once();
  EXPECT_EQ(inbox(world, "e1").at(0).result, "first\nsecond");
}

/// A consumer whose second handler refuses what belongs to cell B, after it has changed cell C.
class ScopeTest : public KeysTest {
 protected:
  void SetUp() override {
    world.consumer.scope = Scope::handler;
    world.consumer.on(
        {.name = "second", .type = "payment", .handle = [](const auto& event, auto& c) {
           c.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                           {{"amount", 1}, {"name", "C"}}, 1);
           if (event.subject == "B") return Answer::reject("not for B");
           return Answer::done("second was here");
         }});
  }
};
INSTANTIATE_TEST_SUITE_P(Sources, ScopeTest, test::both_ways, test::way);

TEST_P(ScopeTest, EachHandlerSucceedsOrFailsByItself) {
  say("e1", "{}", "A");
  say("e2", "{}", "B");
  say("e3", "{}", "A");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.cell("B"), 10);  // The first handler's change stays.
  EXPECT_EQ(world.cell("C"), 2);
  // One outcome a delivery: the worst (semantics 8).
  EXPECT_EQ(world.totals.received(), 3);
  EXPECT_EQ(world.count(Outcome::applied), 2);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].handler, "second");
  EXPECT_EQ(inbox(world, "e1").size(), 2U);
}

TEST_P(ScopeTest, AHandlerThatIsAddedSeesOnlyWhatComesAgain) {
  const HandlerSpec second = world.consumer.handlers.back();
  world.consumer.handlers.pop_back();
  say("e1", "{}", "A");
  world.run_once();
  world.consumer.handlers.push_back(second);
  say("e1", "{}", "A");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 10);
  EXPECT_EQ(world.cell("C"), 1);
  EXPECT_EQ(world.count(Outcome::applied), 2);  // Applied by one, a duplicate to the other.
}

TEST_P(ScopeTest, HandlersHaveKeysOfTheirOwn) {
  world.consumer.handlers.back().keys = {payment_key};
  say("e1", R"({"payment":"p1"})", "A");
  say("e2", R"({"payment":"p1"})", "A");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  EXPECT_EQ(world.cell("C"), 1);
  say("e3", "{}", "A");
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].handler, "second");  // Its key is missing, and no one else's.
}

TEST_P(ScopeTest, ADeliveryIsDoneOnlyWhenItsLastPartIs) {
  for (int i = 0; i < 5; ++i) say("e" + std::to_string(i), "{}", i == 3 ? "B" : "A");
  world.start();
  // A rerun of one item a transaction: the first part of a delivery commits alone.
  world.worker = std::make_unique<Worker>(*world.subscription, *world.connection, world.clock,
                                          Worker::Options{.patience = {}, .rerun_max = 1});
  std::set<std::size_t> seen;
  while (world.step() != StepResult::idle || !world.worker->at_end()) {
    for (const auto& row : world.model->connect()->positions(world.subscription->id, "orders")) {
      for (std::uint64_t i = 0; i < row.next.low; ++i) {
        ASSERT_EQ(inbox(world, "e" + std::to_string(i)).size(), 2U);
      }
    }
    for (std::size_t i = 0; i < world.broker.acknowledged().size(); ++i) {
      ASSERT_EQ(inbox(world, "e" + std::to_string(i)).size(), 2U);
    }
    seen.insert(inbox(world).size());
  }
  EXPECT_EQ(seen.size(), 11U);  // Each part has committed alone.
  world.stop();
  EXPECT_EQ(world.totals.received(), 5);
  EXPECT_EQ(world.count(Outcome::applied), 4);
  EXPECT_EQ(world.count(Outcome::dead), 1);
  EXPECT_EQ(world.cell("A"), 40);
  EXPECT_EQ(world.cell("C"), 4);
}

/// The naive reading of the rules: one event after the other, each as if it were alone.
struct Sequential {
  std::map<std::string, std::string> known;  ///< Key → what was said under it.
  std::map<Outcome, int> counts;

  void take(const std::map<std::string, std::string>& keys) {
    bool taken = false;
    bool differs = false;
    for (const auto& [key, said] : keys) {
      const auto found = known.find(key);
      if (found == known.end()) continue;
      taken = true;
      differs = differs || found->second != said;
    }
    if (!taken) known.insert(keys.begin(), keys.end());
    ++counts[!taken ? Outcome::applied : differs ? Outcome::conflict : Outcome::duplicate];
  }
};

RC_GTEST_PROP(KeysProperty, ABatchDecidesAsIfEachEventCameAlone,
              (std::uint8_t batch_max, bool optimistic)) {
  const auto small = rc::gen::inRange(0, 4);
  const auto events = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(small, small, small));
  World world{optimistic ? SourceClass::owned_log : SourceClass::queue};
  world.consumer.keys = {event_key, payment_key, command_key};
  world.consumer.handlers[0].fingerprint_of = {"/amount"};
  world.consumer.batch_max = 1U + batch_max % 16U;
  Sequential expected;
  for (const auto& [id, paid, command] : events) {
    const std::string amount = std::to_string(paid % 2);
    const std::string data = R"({"payment":"p)" + std::to_string(paid) + R"(","command":"c)" +
                             std::to_string(command) + R"(","amount":)" + amount + "}";
    world.broker.add(payment("e" + std::to_string(id), "A", data));
    expected.take({{"e" + std::to_string(id), data},
                   {"p" + std::to_string(paid), amount},
                   {"c" + std::to_string(command), amount}});
  }
  world.run_once();
  RC_ASSERT(!testing::Test::HasFailure());
  for (const Outcome outcome : {Outcome::applied, Outcome::duplicate, Outcome::conflict}) {
    RC_ASSERT(world.count(outcome) == expected.counts[outcome]);
  }
  RC_ASSERT(world.cell("A") == 10 * expected.counts[Outcome::applied]);
  RC_ASSERT(inbox(world).size() == expected.known.size());
}

}  // namespace
}  // namespace onefold
