#include <algorithm>

#include "tests/conformance/waiting_contract.h"

namespace onefold::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, WaitingContract, testing::ValuesIn(all_stores()), name_of);

using Keys = std::vector<std::string>;

TEST_P(WaitingContract, WhatWaitsComesBackWhole) {
  const std::string entity = "a long entity " + std::string(2000, 'x');
  set_aside(1, DeferralReason::retry, entity, std::chrono::milliseconds{0});
  const DeferredRecord row = records()->deferred({}).at(0);
  EXPECT_EQ(row.reason, "retry");
  EXPECT_EQ(row.failure, "constraint");
  EXPECT_EQ(row.entity, entity);
  EXPECT_EQ(row.turn, 0);
  EXPECT_TRUE(row.due_at.has_value());
  EXPECT_TRUE(row.replay.empty());
  EXPECT_TRUE(row.decoded);
  EXPECT_EQ(row.event.data, delivery_.event.data);
  const auto found = session().due({.consumer = consumer(), .limit = 9}).events;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().event.data, delivery_.event.data);
  EXPECT_EQ(found.front().raw, "raw");
  EXPECT_FALSE(records()->deferred({.with_raw = false}).at(0).event.data.has_value());
}

TEST_P(WaitingContract, AbsentDataIsNotEmptyData) {
  delivery_.event.data.reset();
  set_aside(1, DeferralReason::dead);
  delivery_.event.data = "";
  set_aside(2, DeferralReason::dead);
  EXPECT_FALSE(records()->deferred({.key = key(1)}).at(0).event.data.has_value());
  EXPECT_EQ(records()->deferred({.key = key(2)}).at(0).event.data, "");
}

TEST_P(WaitingContract, UndecodedBytesSaySo) {
  delivery_.defect = "BAD_JSON: it is cut off";
  set_aside(1, DeferralReason::dead);
  EXPECT_FALSE(records()->deferred({}).at(0).decoded);
}

TEST_P(WaitingContract, FiltersLeaveOverWhatTheySay) {
  set_aside(1, DeferralReason::retry);
  set_aside(2, DeferralReason::dead);
  const auto count = [&](const DeferredFilter& filter) {
    return records()->deferred(filter).size();
  };
  const std::int64_t first = ticket(1).id;
  EXPECT_EQ(count({.reason = "retry"}), 1U);
  EXPECT_EQ(count({.handler = "credit"}), 2U);
  EXPECT_EQ(count({.handler = "debit"}), 0U);
  EXPECT_EQ(count({.failure = "constraint"}), 2U);
  EXPECT_EQ(count({.failure = "data"}), 0U);
  EXPECT_EQ(count({.event_type = "payment"}), 0U);
  EXPECT_EQ(count({.source = "orders"}), 2U);
  EXPECT_EQ(count({.source = "others"}), 0U);
  EXPECT_EQ(count({.up_to = first}), 1U);
}

TEST_P(WaitingContract, B19_WhoTakesItSecondIsToldWhatBecameOfIt) {
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  commit([&](Transaction& transaction) {
    EXPECT_EQ(take(transaction, {ticket}), std::vector{ClaimState::fresh});
    apply(transaction, ticket);
  });
  EXPECT_TRUE(records()->deferred({}).empty());
  EXPECT_FALSE(records()->evidence(key(1))->waiting);
  commit([&](Transaction& transaction) {
    const Waiting* const event = &ticket;
    const auto claims = transaction.waiting_room().take({&event, 1});
    EXPECT_EQ(claims.at(0).state, ClaimState::known);
    EXPECT_EQ(claims.at(0).recorded_at, at_second(2));
    EXPECT_EQ(claims.at(0).fingerprint, Fingerprint{1});
    transaction.ledger().advance(consumer(), {});
  });
}

TEST_P(WaitingContract, AnEventThatWasPutBackHasAnotherTurn) {
  set_aside(1, DeferralReason::retry, "account 7");
  const Waiting ticket = this->ticket(1);
  errors_ = {"first", "second"};
  commit([&](Transaction& transaction) {
    take(transaction, {ticket});
    Deferral again = deferral(1, DeferralReason::dead, "account 7");
    again.failure = FailureClass::data;
    again.handler = "debit";
    again.attempts = 2;
    again.recorded_at = at_second(9);
    again.waiting = &ticket;
    const Evidence row = waiting(key(1), DeferralReason::dead);
    transaction.ledger().record({&row, 1}, ClaimMode::claim_first);
    transaction.ledger().defer({&again, 1});
  });
  const DeferredRecord row = records()->deferred({}).at(0);
  EXPECT_EQ(row.id, ticket.id);
  EXPECT_EQ(row.turn, ticket.turn + 1);
  EXPECT_EQ(row.reason, "dead");
  EXPECT_EQ(row.failure, "data");
  EXPECT_EQ(row.handler, "debit");
  EXPECT_EQ(row.errors, errors_);
  EXPECT_EQ(row.attempts, 2);
  EXPECT_FALSE(row.due_at.has_value());
  EXPECT_EQ(row.first_at, at_second(5));
  EXPECT_EQ(row.last_at, at_second(9));
  EXPECT_EQ(row.raw, "raw");
  EXPECT_EQ(row.event.data, delivery_.event.data);
  EXPECT_EQ(records()->evidence(key(1))->outcome, Outcome::dead);
  commit([&](Transaction& transaction) {
    EXPECT_EQ(take(transaction, {ticket}), std::vector{ClaimState::waiting});
    transaction.ledger().advance(consumer(), {});
  });
}

TEST_P(WaitingContract, ATakeThatIsRolledBackHasNotHappened) {
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  roll_back([&](Transaction& transaction) {
    take(transaction, {ticket});
    apply(transaction, ticket);
  });
  EXPECT_EQ(this->ticket(1).turn, ticket.turn);
  commit([&](Transaction& transaction) {
    EXPECT_EQ(take(transaction, {ticket}), std::vector{ClaimState::fresh});
    apply(transaction, ticket);
  });
}

TEST_P(WaitingContract, ASavepointDoesNotGiveBackWhatWasTakenBefore) {
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  commit([&](Transaction& transaction) {
    take(transaction, {ticket});
    transaction.savepoint();
    insert(transaction, "A", 1);
    transaction.rollback_to_savepoint();
    apply(transaction, ticket);
  });
  EXPECT_TRUE(records()->deferred({}).empty());
}

TEST_P(WaitingContract, SeveralKeysEndTheirWaitTogether) {
  further_keys_ = {key(8), key(9)};
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  ASSERT_EQ(ticket.further_keys, further_keys_);
  commit([&](Transaction& transaction) {
    take(transaction, {ticket});
    apply(transaction, ticket);
  });
  for (const int number : {1, 8, 9}) EXPECT_FALSE(records()->evidence(key(number))->waiting);
}

TEST_P(WaitingContract, OneAnswerForEachInOrder) {
  for (const int number : {1, 2, 3}) set_aside(number, DeferralReason::retry);
  const std::vector<Waiting> tickets{ticket(1), ticket(2), ticket(3)};
  commit([&](Transaction& transaction) {
    take(transaction, {tickets[1]});
    apply(transaction, tickets[1]);
  });
  commit([&](Transaction& transaction) {
    EXPECT_EQ(take(transaction, tickets),
              (std::vector{ClaimState::fresh, ClaimState::known, ClaimState::fresh}));
    transaction.ledger().advance(consumer(), {});
  });
}

TEST_P(WaitingContract, AWaitingRowWithoutAClaimIsAPersonsMatter) {
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  commit([&](Transaction& transaction) {
    take(transaction, {ticket});
    const Evidence final = evidence(key(1));
    transaction.ledger().record({&final, 1}, ClaimMode::claim_first);
  });
  const Waiting again = this->ticket(1);
  const auto transaction = session().begin();
  EXPECT_EQ(failure_of([&] { take(*transaction, {again}); }), ErrorKind::bad_configuration);
}

TEST_P(WaitingContract, WhatIsDueIsHandedOutInItsOrder) {
  set_aside(3, DeferralReason::retry);
  set_aside(1, DeferralReason::dead);
  set_aside(2, DeferralReason::retry);
  set_aside(4, DeferralReason::quarantine);
  EXPECT_EQ(due(), (Keys{"3", "2"}));
  EXPECT_EQ(due(1), Keys{"3"});
  EXPECT_TRUE(session().due({.consumer = adopt("another"), .limit = 9}).events.empty());
}

TEST_P(WaitingContract, WhatHasATimeToComeIsNotDueYet) {
  if (!has_clock()) return;
  set_aside(1, DeferralReason::retry, {}, std::chrono::minutes{1});
  const Due found = session().due({.consumer = consumer(), .limit = 9});
  EXPECT_TRUE(found.events.empty());
  ASSERT_TRUE(found.next_in.has_value());
  EXPECT_GT(*found.next_in, std::chrono::seconds{50});
  EXPECT_LE(*found.next_in, std::chrono::seconds{61});
  EXPECT_TRUE(records()->status().at(0).next_due_at.has_value());
}

TEST_P(WaitingContract, NothingThatWaitsForATimeHasNoNextTime) {
  set_aside(1, DeferralReason::dead);
  EXPECT_FALSE(session().due({.consumer = consumer(), .limit = 9}).next_in.has_value());
  EXPECT_FALSE(records()->status().at(0).next_due_at.has_value());
}

TEST_P(WaitingContract, P5_WhatIsBehindIsDueOnceNothingIsInFront) {
  set_aside(1, DeferralReason::retry, "a", std::chrono::minutes{1});
  set_aside(2, DeferralReason::behind, "a");
  set_aside(3, DeferralReason::behind, "b");
  set_aside(4, DeferralReason::behind, "a");
  if (has_clock()) EXPECT_EQ(due(), Keys{"3"});
  const Waiting front = ticket(1);
  commit([&](Transaction& transaction) {
    take(transaction, {front});
    apply(transaction, front);
  });
  EXPECT_EQ(due(), (Keys{"2", "3", "4"}));
}

TEST_P(WaitingContract, P5_ADiscardedFrontReleasesWhatIsBehind) {
  const std::int64_t front = set_aside(1, DeferralReason::retry, "a", std::chrono::minutes{1});
  set_aside(2, DeferralReason::behind, "a");
  decisions()->discard({&front, 1}, {.who = "ada", .reason = "a test"});
  EXPECT_EQ(due(), Keys{"2"});
}

TEST_P(WaitingContract, P5_ADeadFrontBlocksNobody) {
  set_aside(1, DeferralReason::dead, "a");
  EXPECT_EQ(blocked({{.entity = "a"}}), std::vector{false});
}

TEST_P(WaitingContract, BlockedIsWhoHasSomethingInFront) {
  const std::int64_t retry = set_aside(1, DeferralReason::retry, "a");
  const std::int64_t behind = set_aside(2, DeferralReason::behind, "b");
  EXPECT_EQ(blocked({{.entity = "a"}, {.entity = "b"}, {.entity = "c"}, {.entity = "A"}}),
            (std::vector{true, true, false, false}));
  // Of what waits itself: a retry is always in front, and of what is behind only what came first.
  EXPECT_EQ(blocked({{.entity = "a", .before = retry},
                     {.entity = "b", .before = behind},
                     {.entity = "b", .before = behind + 1}}),
            (std::vector{true, false, true}));
  EXPECT_TRUE(blocked({}).empty());
}

TEST_P(WaitingContract, BlockedSeesWhatThisTransactionHasSetAside) {
  const auto transaction = session().begin();
  const Deferral row = deferral(1, DeferralReason::retry, "a");
  claim(*transaction, waiting(row.key, DeferralReason::retry));
  transaction->ledger().defer({&row, 1});
  const std::vector<Front> fronts{{.entity = "a"}};
  EXPECT_EQ(transaction->waiting_room().blocked(consumer(), fronts), std::vector{true});
}

/// With two sessions whose transactions are open at the same time.
class WaitingRaceContract : public WaitingContract {};
INSTANTIATE_TEST_SUITE_P(Stores, WaitingRaceContract, testing::ValuesIn(interleaving_stores()),
                         name_of);

TEST_P(WaitingRaceContract, B19_TheSecondWaitsForTheFirstAndHasNothing) {
  for (const int number : {1, 2}) set_aside(number, DeferralReason::retry);
  const std::vector<Waiting> tickets{ticket(1), ticket(2)};
  const auto other = store().connect();
  std::unique_ptr<Transaction> second;
  std::vector<ClaimState> states;
  auto first = session().begin();
  ASSERT_EQ(take(*first, tickets), (std::vector{ClaimState::fresh, ClaimState::fresh}));
  Rival rival{GetParam(), [&] {
                if (!second) second = other->begin();
                states = take(*second, tickets);
              }};
  EXPECT_TRUE(rival.waits());
  for (const Waiting& ticket : tickets) apply(*first, ticket);
  ASSERT_EQ(first->commit(), CommitResult::committed);
  rival.finish();
  EXPECT_EQ(states, (std::vector{ClaimState::known, ClaimState::known}));
}

TEST_P(WaitingRaceContract, B19_AfterARollbackTheSecondHasIt) {
  set_aside(1, DeferralReason::retry);
  const std::vector<Waiting> tickets{ticket(1)};
  const auto other = store().connect();
  std::unique_ptr<Transaction> second;
  std::vector<ClaimState> states;
  auto first = session().begin();
  take(*first, tickets);
  Rival rival{GetParam(), [&] {
                if (!second) second = other->begin();
                states = take(*second, tickets);
              }};
  EXPECT_TRUE(rival.waits());
  first.reset();
  rival.finish();
  EXPECT_EQ(states, std::vector{ClaimState::fresh});
}

TEST_P(WaitingRaceContract, B19_APersonWaitsForWhoHasIt) {
  const std::int64_t id = set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  auto first = session().begin();
  take(*first, {ticket});
  std::vector<DiscardAnswer> answers;
  const auto person = decisions();
  Rival rival{GetParam(),
              [&] { answers = person->discard({&id, 1}, {.who = "ada", .reason = "a test"}); }};
  EXPECT_TRUE(rival.waits());
  apply(*first, ticket);
  ASSERT_EQ(first->commit(), CommitResult::committed);
  rival.finish();
  EXPECT_EQ(answers, std::vector{DiscardAnswer::gone});
  EXPECT_EQ(records()->evidence(key(1))->outcome, Outcome::applied);
}

TEST_P(WaitingRaceContract, ARedeliveryDoesNotWaitForARetry) {
  set_aside(1, DeferralReason::retry);
  const Waiting ticket = this->ticket(1);
  const auto first = session().begin();
  take(*first, {ticket});
  const auto other = store().connect();
  const auto second = other->begin();
  ClaimState state = ClaimState::fresh;
  Rival rival{GetParam(), [&] { state = claim(*second, evidence(key(1))).state; }};
  // On the model, whoever claims waits for whoever holds the row; both are right.
  if (!GetParam().one_thread) {
    rival.finish();
    EXPECT_EQ(state, ClaimState::waiting);
  }
}

}  // namespace
}  // namespace onefold::conformance
