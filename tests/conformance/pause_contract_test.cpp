#include "tests/conformance/waiting_contract.h"

namespace onefold::conformance {
namespace {

/// Consumers that take no events, and how they find out that they can go on.
class PauseContract : public WaitingContract {};
INSTANTIATE_TEST_SUITE_P(Stores, PauseContract, testing::ValuesIn(all_stores()), name_of);

using Keys = std::vector<std::string>;

TEST_P(PauseContract, APauseIsCommittedWithItsTransaction) {
  roll_back([&](Transaction& transaction) {
    transaction.waiting_room().pause({.consumer = consumer(), .who = "breaker", .reason = "many"});
  });
  EXPECT_FALSE(session().pause(consumer()).has_value());
  commit([&](Transaction& transaction) {
    transaction.waiting_room().pause({.consumer = consumer(),
                                      .who = "breaker",
                                      .reason = "many of them",
                                      .failure = FailureClass::statement,
                                      .probe_in = std::chrono::minutes{1}});
  });
  const auto pause = session().pause(consumer());
  ASSERT_TRUE(pause.has_value());
  EXPECT_EQ(pause->consumer, "billing");
  EXPECT_EQ(pause->who, "breaker");
  EXPECT_EQ(pause->reason, "many of them");
  EXPECT_EQ(pause->probes, 0);
  if (has_clock()) EXPECT_GT(pause->probe_in, std::chrono::seconds{50});
  EXPECT_FALSE(session().pause(adopt("another")).has_value());
}

TEST_P(PauseContract, APauseHasWhatIsDeadForItsClassWaitAgain) {
  further_keys_ = {key(9)};
  set_aside(1, DeferralReason::dead);
  further_keys_.clear();
  commit([&](Transaction& transaction) {
    Deferral other = deferral(2, DeferralReason::dead, {});
    other.failure = FailureClass::data;
    claim(transaction, waiting(other.key, DeferralReason::dead));
    Deferral earlier = deferral(3, DeferralReason::dead, {});
    earlier.recorded_at = at_second(1);
    claim(transaction, waiting(earlier.key, DeferralReason::dead));
    transaction.ledger().defer(std::vector{other, earlier});
    transaction.waiting_room().pause({.consumer = consumer(),
                                      .who = "breaker",
                                      .reason = "many",
                                      .failure = FailureClass::constraint,
                                      .failing_since = at_second(4)});
  });
  EXPECT_EQ(due(), Keys{"1"});
  const DeferredRecord row = records()->deferred({.key = key(1)}).at(0);
  EXPECT_EQ(row.reason, "retry");
  EXPECT_EQ(row.attempts, 0);
  for (const int number : {1, 9}) {
    EXPECT_EQ(records()->evidence(key(number))->outcome, Outcome::deferred);
    EXPECT_TRUE(records()->evidence(key(number))->waiting);
  }
  EXPECT_EQ(records()->deferred({.reason = "dead"}).size(), 2U);
}

TEST_P(PauseContract, ProbesRotateAndEndThePause) {
  set_aside(1, DeferralReason::retry, {}, std::chrono::minutes{1});
  set_aside(2, DeferralReason::retry, {}, std::chrono::minutes{1});
  commit([&](Transaction& transaction) {
    transaction.waiting_room().pause({.consumer = consumer(), .who = "breaker", .reason = "many"});
  });
  if (has_clock()) EXPECT_TRUE(due().empty());
  ASSERT_EQ(due(100, true), Keys{"1"});
  const Waiting first = ticket(1);
  commit([&](Transaction& transaction) {
    take(transaction, {first});
    Deferral again = deferral(1, DeferralReason::retry, {});
    again.recorded_at = at_second(7);
    again.waiting = &first;
    transaction.ledger().defer({&again, 1});
    transaction.waiting_room().probed(consumer(), false, std::chrono::milliseconds{0});
  });
  EXPECT_EQ(session().pause(consumer())->probes, 1);
  EXPECT_EQ(due(100, true), Keys{"2"}) << "the one that was not tried for longer";
  commit([&](Transaction& transaction) {
    transaction.waiting_room().probed(consumer(), false, std::chrono::minutes{1});
  });
  if (has_clock()) {
    const Due none = session().due({.consumer = consumer(), .limit = 1, .probe = true});
    EXPECT_TRUE(none.events.empty());
    EXPECT_GT(none.next_in.value(), std::chrono::seconds{50});
  }
  commit(
      [&](Transaction& transaction) { transaction.waiting_room().probed(consumer(), true, {}); });
  EXPECT_FALSE(session().pause(consumer()).has_value());
}

}  // namespace
}  // namespace onefold::conformance
