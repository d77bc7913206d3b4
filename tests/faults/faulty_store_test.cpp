#include "tests/faults/faulty_store.h"

#include <gtest/gtest.h>

#include <optional>

#include "onefold/stores/memory/memory.h"

namespace onefold::faults {
namespace {

class FaultyStore : public testing::Test {
 protected:
  static Evidence evidence() {
    Evidence evidence;
    evidence.key.scope = 1;
    return evidence;
  }
  static ClaimState claim(Transaction& transaction) {
    const Evidence wanted = evidence();
    return transaction.ledger().claim({&wanted, 1}, ClaimMode::claim_first).at(0).state;
  }
  static void insert(Transaction& transaction, const std::string& name) {
    transaction.statements().execute("INSERT INTO cell (name, amount) VALUES (:name, :amount)",
                                     {{"name", name}, {"amount", std::int64_t{1}}});
  }
  static std::optional<ErrorKind> failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return std::nullopt;
  }
  bool is_committed() const { return model_->cells().contains("a"); }

  std::unique_ptr<memory::Model> model_ = memory::open_model();
  Script script_;
  std::unique_ptr<Store> store_ = faulty(*model_, script_);
  std::unique_ptr<Session> session_ = store_->connect();
};

TEST_F(FaultyStore, WithoutAScriptItIsTheStoreItself) {
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction), ClaimState::fresh);
  insert(*transaction, "a");
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_TRUE(is_committed());
  EXPECT_EQ(script_.calls(),
            (std::vector{Call::connect, Call::begin, Call::claim, Call::execute, Call::commit}));
}

TEST_F(FaultyStore, TheChosenCallFailsOnce) {
  script_.fail(Call::begin, ErrorKind::contention, 2);
  EXPECT_EQ(failure_of([&] { session_->begin(); }), std::nullopt);
  EXPECT_EQ(failure_of([&] { session_->begin(); }), ErrorKind::contention);
  EXPECT_EQ(failure_of([&] { session_->begin(); }), std::nullopt);
  EXPECT_EQ(script_.outstanding(), 0U);
}

TEST_F(FaultyStore, AnyCallCanBeCounted) {
  script_.fail(Call::any, ErrorKind::permanent, 3);
  const auto transaction = session_->begin();
  claim(*transaction);
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a"); }), ErrorKind::permanent);
}

TEST_F(FaultyStore, AFailurePoisonsTheTransaction) {
  script_.fail(Call::claim, ErrorKind::permanent);
  const auto transaction = session_->begin();
  EXPECT_EQ(failure_of([&] { claim(*transaction); }), ErrorKind::permanent);
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a"); }), ErrorKind::permanent);
  EXPECT_EQ(failure_of([&] { transaction->rollback_to_savepoint(); }), ErrorKind::permanent);
  EXPECT_EQ(failure_of([&] { transaction->commit(); }), ErrorKind::permanent);
}

TEST_F(FaultyStore, TheSavepointHealsAPermanentFailureOnly) {
  const auto transaction = session_->begin();
  transaction->savepoint();
  script_.fail(Call::execute, ErrorKind::permanent);
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a"); }), ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  insert(*transaction, "a");
  script_.fail(Call::execute, ErrorKind::contention);
  EXPECT_EQ(failure_of([&] { insert(*transaction, "b"); }), ErrorKind::contention);
  EXPECT_EQ(failure_of([&] { transaction->rollback_to_savepoint(); }), ErrorKind::contention);
}

TEST_F(FaultyStore, ALostConnectionRollsBackAndStaysLost) {
  const auto transaction = session_->begin();
  claim(*transaction);
  script_.fail(Call::execute, ErrorKind::unavailable);
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a"); }), ErrorKind::unavailable);
  // The database has released what the lost session held.
  EXPECT_EQ(claim(*store_->connect()->begin()), ClaimState::fresh);
  EXPECT_EQ(failure_of([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_EQ(failure_of([&] { session_->positions(1, "orders"); }), ErrorKind::unavailable);
}

TEST_F(FaultyStore, ADatabaseThatIsAwayRefusesAllCallsUntilItIsBack) {
  const auto transaction = session_->begin();
  script_.set_away(true);
  EXPECT_EQ(failure_of([&] { store_->connect(); }), ErrorKind::unavailable);
  EXPECT_EQ(failure_of([&] { claim(*transaction); }), ErrorKind::unavailable);
  script_.set_away(false);
  EXPECT_EQ(failure_of([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_EQ(failure_of([&] { store_->connect()->begin(); }), std::nullopt);
}

TEST_F(FaultyStore, B07_ACommitEndsInDoubtInBothWays) {
  for (const bool committed : {false, true}) {
    const auto session = store_->connect();
    script_.fail_commit(committed ? CommitFault::in_doubt_committed
                                  : CommitFault::in_doubt_rolled_back);
    const auto transaction = session->begin();
    insert(*transaction, "a");
    EXPECT_EQ(transaction->commit(), CommitResult::in_doubt);
    EXPECT_EQ(is_committed(), committed);
    EXPECT_EQ(failure_of([&] { session->begin(); }), ErrorKind::unavailable);
  }
}

TEST_F(FaultyStore, ARefusedCommitLeavesTheSessionUsable) {
  script_.fail_commit(CommitFault::refused);
  {
    const auto transaction = session_->begin();
    insert(*transaction, "a");
    EXPECT_EQ(transaction->commit(), CommitResult::refused);
  }
  script_.fail_commit(CommitFault::constraint);
  {
    const auto transaction = session_->begin();
    insert(*transaction, "a");
    EXPECT_EQ(failure_of([&] { transaction->commit(); }), ErrorKind::permanent);
  }
  EXPECT_FALSE(is_committed());
  EXPECT_EQ(failure_of([&] { session_->begin(); }), std::nullopt);
}

TEST_F(FaultyStore, ACrashBeforeOrAfterTheCommit) {
  for (const Moment moment : {Moment::before, Moment::after}) {
    script_.at(Call::commit, [] { throw Crash{}; }, 1, moment);
    EXPECT_THROW(
        {
          const auto transaction = session_->begin();
          insert(*transaction, "a");
          transaction->commit();
        },
        Crash);
    EXPECT_EQ(is_committed(), moment == Moment::after);
  }
}

}  // namespace
}  // namespace onefold::faults
