#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

/// Two sessions that want the same rows. A rival in flight is neither a duplicate nor a free key.
/// What a store may queue has been executed after a savepoint.
class RaceContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    if (IsSkipped() || HasFailure()) return;
    rival_ = store().connect();
  }
  void TearDown() override {
    rival_.reset();
    StoreContract::TearDown();
  }
  Session& rival_session() { return *rival_; }

  /// Begins on the rival's session, runs `unit`, commits. Nothing of a unit that has to be run
  /// again may be left in what it captures.
  Rival rival(const std::function<void(Transaction&)>& unit) {
    return Rival{GetParam(), [this, unit] {
                   const auto transaction = rival_->begin();
                   unit(*transaction);
                   EXPECT_EQ(transaction->commit(), CommitResult::committed);
                 }};
  }

 private:
  std::unique_ptr<Session> rival_;
};
INSTANTIATE_TEST_SUITE_P(Stores, RaceContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(RaceContract, B03_AfterTheHolderRolledBackTheWaiterClaims) {
  auto holder = session().begin();
  claim(*holder, evidence(key(1), "holder"));
  std::optional<ClaimState> answer;
  Rival waiter = rival([&](Transaction& transaction) {
    answer = claim(transaction, evidence(key(1), "waiter")).state;
  });
  EXPECT_TRUE(waiter.waits());
  holder.reset();
  waiter.finish();
  EXPECT_EQ(answer, ClaimState::fresh);
  EXPECT_EQ(records()->evidence(key(1))->event_id, "waiter");
}

TEST_P(RaceContract, B03_AfterTheHolderCommittedTheWaiterIsToldSo) {
  auto holder = session().begin();
  claim(*holder, evidence(key(1), "holder", {5}));
  std::optional<Claim> answer;
  Rival waiter = rival([&](Transaction& transaction) {
    answer = claim(transaction, evidence(key(1), "waiter", {6}));
  });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.finish();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->state, ClaimState::known);
  EXPECT_EQ(answer->fingerprint, Fingerprint{5});
  EXPECT_EQ(records()->evidence(key(1))->event_id, "holder");
}

TEST_P(RaceContract, TheWaiterSeesTheStateThatTheHolderCommitted) {
  auto holder = session().begin();
  Evidence dead = evidence(key(1));
  claim(*holder, dead);
  std::optional<ClaimState> answer;
  Rival waiter =
      rival([&](Transaction& transaction) { answer = claim(transaction, evidence(key(1))).state; });
  EXPECT_TRUE(waiter.waits());
  dead.outcome = Outcome::dead;
  dead.waiting = true;
  holder->ledger().record({&dead, 1}, ClaimMode::claim_first);
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.finish();
  EXPECT_EQ(answer, ClaimState::waiting);
}

TEST_P(RaceContract, AnOptimisticRecordWaitsAndThenLoses) {
  auto holder = session().begin();
  const Evidence first = evidence(key(1), "holder");
  holder->ledger().record({&first, 1}, ClaimMode::optimistic);
  holder->savepoint();
  Rival waiter = rival([&](Transaction& transaction) {
    const Evidence second = evidence(key(1), "waiter");
    transaction.ledger().record({&second, 1}, ClaimMode::optimistic);
  });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  EXPECT_EQ(failure_of([&] { waiter.finish(); }), ErrorKind::contention);
  EXPECT_EQ(records()->evidence(key(1))->event_id, "holder");
}

TEST_P(RaceContract, NoUpdateOfABusinessRowIsLost) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  auto holder = session().begin();
  add(*holder, "a", 10);
  Rival waiter = rival([&](Transaction& transaction) { add(transaction, "a", 100); });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.finish();
  EXPECT_EQ(committed_amount("a"), 111);
}

TEST_P(RaceContract, TwoInsertsOfOneBusinessKeyEndInAPermanentError) {
  auto holder = session().begin();
  insert(*holder, "a", 1);
  Rival waiter = rival([&](Transaction& transaction) { insert(transaction, "a", 2); });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  EXPECT_EQ(failure_of([&] { waiter.finish(); }), ErrorKind::permanent);
  EXPECT_EQ(committed_amount("a"), 1);
}

TEST_P(RaceContract, APositionIsWaitedForAndNeverMovedBack) {
  auto holder = session().begin();
  const Position far = position(9);
  holder->ledger().advance(consumer(), {&far, 1});
  holder->savepoint();
  Rival waiter = rival([&](Transaction& transaction) {
    const Position near = position(4);
    transaction.ledger().advance(consumer(), {&near, 1});
  });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.finish();
  EXPECT_EQ(session().positions(consumer(), "orders").at(0).next, far.next);
}

TEST_P(RaceContract, B22_TwoConflictsAreCountedAsTwo) {
  Delivery delivery;
  Deferral conflict;
  conflict.key = key(1);
  conflict.fingerprint = {2};
  conflict.consumer = consumer();
  conflict.delivery = &delivery;
  conflict.reason = DeferralReason::conflict;
  auto holder = session().begin();
  holder->ledger().defer({&conflict, 1});
  holder->savepoint();
  Rival waiter =
      rival([&](Transaction& transaction) { transaction.ledger().defer({&conflict, 1}); });
  EXPECT_TRUE(waiter.waits());
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.finish();
  const auto rows = records()->deferred({});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].count, 2);
}

TEST_P(RaceContract, UncommittedRowsAreNotSeen) {
  const auto holder = session().begin();
  claim(*holder, evidence(key(1)));
  const Position reached = position(1);
  holder->ledger().advance(consumer(), {&reached, 1});
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_TRUE(records()->status().at(0).inbox.empty());
  EXPECT_TRUE(rival_session().positions(consumer(), "orders").empty());
}

TEST_P(RaceContract, ASessionThatEndsLetsItsWaitersGoOn) {
  auto doomed = store().connect();
  auto holder = doomed->begin();
  claim(*holder, evidence(key(1)));
  std::optional<ClaimState> answer;
  Rival waiter =
      rival([&](Transaction& transaction) { answer = claim(transaction, evidence(key(1))).state; });
  EXPECT_TRUE(waiter.waits());
  holder.reset();
  doomed.reset();
  waiter.finish();
  EXPECT_EQ(answer, ClaimState::fresh);
}

/// Two transactions that both write: only where the database can have both open.
class InterleavingContract : public RaceContract {};
INSTANTIATE_TEST_SUITE_P(Stores, InterleavingContract, testing::ValuesIn(interleaving_stores()),
                         name_of);

TEST_P(InterleavingContract, AKeyThatAppearedBetweenProbeAndRecordIsContention) {
  const auto slow = session().begin();
  EXPECT_EQ(claim(*slow, evidence(key(1)), ClaimMode::optimistic).state, ClaimState::fresh);
  const auto quick = rival_session().begin();
  const Evidence winner = evidence(key(1), "quick");
  EXPECT_EQ(claim(*quick, winner, ClaimMode::optimistic).state, ClaimState::fresh);
  quick->ledger().record({&winner, 1}, ClaimMode::optimistic);
  EXPECT_EQ(quick->commit(), CommitResult::committed);
  const Evidence loser = evidence(key(1), "slow");
  EXPECT_EQ(failure_of([&] {
              slow->ledger().record({&loser, 1}, ClaimMode::optimistic);
              slow->savepoint();
            }),
            ErrorKind::contention);
}

TEST_P(InterleavingContract, AStatementSeesWhatWasCommittedMeanwhile) {
  const auto reader = session().begin();
  EXPECT_FALSE(amount_of(*reader, "a").has_value());
  const auto writer = rival_session().begin();
  insert(*writer, "a", 1);
  EXPECT_FALSE(amount_of(*reader, "a").has_value());
  EXPECT_EQ(writer->commit(), CommitResult::committed);
  EXPECT_EQ(amount_of(*reader, "a"), 1);
}

TEST_P(InterleavingContract, ADeadlockIsContentionForOne) {
  commit([&](Transaction& transaction) {
    insert(transaction, "a", 0);
    insert(transaction, "b", 0);
  });
  auto mine = session().begin();
  auto theirs = rival_session().begin();
  add(*mine, "a", 1);
  add(*theirs, "b", 1);
  Rival waiter{GetParam(), [&] { add(*mine, "b", 1); }};
  EXPECT_TRUE(waiter.waits());
  const auto failure = failure_of([&] { add(*theirs, "a", 1); });
  theirs.reset();
  const auto other_failure = failure_of([&] { waiter.finish(); });
  EXPECT_NE(failure.has_value(), other_failure.has_value());
  EXPECT_EQ(failure.value_or(ErrorKind::contention), ErrorKind::contention);
  EXPECT_EQ(other_failure.value_or(ErrorKind::contention), ErrorKind::contention);
}

TEST_P(InterleavingContract, RolledBackToTheSavepointTheKeyIsFreeForOthers) {
  const auto holder = session().begin();
  holder->savepoint();
  claim(*holder, evidence(key(1)));
  holder->rollback_to_savepoint();
  const auto other = rival_session().begin();
  EXPECT_EQ(claim(*other, evidence(key(1))).state, ClaimState::fresh);
}

}  // namespace
}  // namespace onefold::conformance
