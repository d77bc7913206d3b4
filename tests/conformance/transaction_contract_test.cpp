#include <limits>

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class TransactionContract : public StoreContract {
 protected:
  /// Lets a failure surface, at once or, on a pipelined connection, at the savepoint.
  static std::optional<ErrorKind> failure_by_savepoint(Transaction& transaction,
                                                       const std::function<void()>& call) {
    return failure_of([&] {
      call();
      transaction.savepoint();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, TransactionContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(TransactionContract, AStatementSeesWhatTheTransactionWrote) {
  commit([&](Transaction& transaction) {
    EXPECT_FALSE(amount_of(transaction, "a").has_value());
    insert(transaction, "a", 10);
    EXPECT_EQ(amount_of(transaction, "a"), 10);
    EXPECT_EQ(add(transaction, "a", -3), 1);
    EXPECT_EQ(add(transaction, "b", 1), 0);
    EXPECT_EQ(amount_of(transaction, "a"), 7);
  });
  EXPECT_EQ(committed_amount("a"), 7);
}

TEST_P(TransactionContract, QueuedStatementsRunInOrderBeforeCommit) {
  commit([&](Transaction& transaction) {
    Statements& sql = transaction.statements();
    sql.execute(insert_cell, {{"name", std::string{"a"}}, {"amount", std::int64_t{1}}}, 1);
    sql.execute(update_cell, {{"name", std::string{"a"}}, {"amount", std::int64_t{2}}}, 1);
    sql.execute(update_cell, {{"name", std::string{"none"}}, {"amount", std::int64_t{2}}});
  });
  EXPECT_EQ(committed_amount("a"), 3);
}

TEST_P(TransactionContract, DestructionRollsBack) {
  roll_back([&](Transaction& transaction) { insert(transaction, "a", 1); });
  EXPECT_FALSE(committed_amount("a").has_value());
  commit([&](Transaction& transaction) { insert(transaction, "a", 2); });
  EXPECT_EQ(committed_amount("a"), 2);
}

TEST_P(TransactionContract, IntegersKeepAll64Bits) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  commit([&](Transaction& transaction) {
    insert(transaction, "largest", largest);
    insert(transaction, "smallest", std::numeric_limits<std::int64_t>::min());
  });
  EXPECT_EQ(committed_amount("largest"), largest);
  EXPECT_EQ(committed_amount("smallest"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(committed_amount("largest "), std::nullopt);
}

TEST_P(TransactionContract, AUniqueViolationOfABusinessTableIsPermanent) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  const auto transaction = session().begin();
  EXPECT_EQ(failure_by_savepoint(*transaction,
                                 [&] {
                                   transaction->statements().execute(
                                       insert_cell,
                                       {{"name", std::string{"a"}}, {"amount", std::int64_t{2}}});
                                 }),
            ErrorKind::permanent);
}

TEST_P(TransactionContract, AnotherRowCountThanExpectedIsPermanent) {
  const auto transaction = session().begin();
  EXPECT_EQ(failure_by_savepoint(
                *transaction,
                [&] {
                  transaction->statements().execute(
                      update_cell, {{"name", std::string{"a"}}, {"amount", std::int64_t{2}}}, 1);
                }),
            ErrorKind::permanent);
}

TEST_P(TransactionContract, AStatementThatMakesNoSenseIsNotTriedAgain) {
  for (const std::string_view sql : {"NO SUCH STATEMENT", "SELECT amount FROM nowhere"}) {
    const auto transaction = session().begin();
    const auto failure = failure_of([&] { transaction->statements().query(sql, {}); });
    // A database that can tell that the text is wrong for every event blames none of them.
    EXPECT_TRUE(failure == ErrorKind::permanent || failure == ErrorKind::bad_configuration);
  }
}

TEST_P(TransactionContract, AMissingParameterIsPermanent) {
  const auto transaction = session().begin();
  EXPECT_EQ(failure_of([&] { transaction->statements().query(select_cell, {}); }),
            ErrorKind::permanent);
}

TEST_P(TransactionContract, ASwallowedErrorIsThrownByEveryLaterCall) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  const auto transaction = session().begin();
  claim(*transaction, evidence(key(1)));
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a", 2); }), ErrorKind::permanent);
  const Evidence done = evidence(key(1));
  const Position reached = position(1);
  const std::vector<std::function<void()>> calls{
      [&] { insert(*transaction, "b", 1); },
      [&] { transaction->statements().execute(insert_cell, {}); },
      [&] { amount_of(*transaction, "a"); },
      [&] { claim(*transaction, evidence(key(2))); },
      [&] { transaction->ledger().record({&done, 1}, ClaimMode::claim_first); },
      [&] { transaction->ledger().defer({}); },
      [&] { transaction->ledger().advance(consumer(), {&reached, 1}); },
      [&] { transaction->savepoint(); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(failure_of(calls[i]), ErrorKind::permanent) << "call " << i;
  }
  EXPECT_EQ(failure_of([&] { transaction->commit(); }), ErrorKind::permanent);
}

TEST_P(TransactionContract, WhatIsKnownToHaveGoneWrongCanBeAskedFor) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  const auto transaction = session().begin();
  EXPECT_NO_THROW(transaction->verify());
  transaction->savepoint();
  EXPECT_EQ(failure_of([&] { insert(*transaction, "a", 2); }), ErrorKind::permanent);
  // A call that waited has told its failure, so that no store can say that it knows nothing.
  EXPECT_EQ(failure_of([&] { transaction->savepoint(); }), ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  EXPECT_NO_THROW(transaction->verify());
}

TEST_P(TransactionContract, APoisonedTransactionNeverCommits) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  {
    const auto transaction = session().begin();
    claim(*transaction, evidence(key(1)));
    insert(*transaction, "b", 1);
    EXPECT_TRUE(failure_of([&] { insert(*transaction, "a", 2); }).has_value());
    EXPECT_TRUE(failure_of([&] { transaction->commit(); }).has_value());
  }
  EXPECT_FALSE(committed_amount("b").has_value());
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
}

TEST_P(TransactionContract, AQueuedFailureSurfacesAtCommitAtTheLatest) {
  const auto transaction = session().begin();
  claim(*transaction, evidence(key(1)));
  EXPECT_EQ(failure_of([&] {
              transaction->statements().execute(
                  update_cell, {{"name", std::string{"none"}}, {"amount", std::int64_t{1}}}, 1);
              transaction->commit();
            }),
            ErrorKind::permanent);
}

TEST_P(TransactionContract, TheSavepointUndoesExactlyWhatCameSince) {
  const Position early = position(1);
  const Position late = position(2);
  commit([&](Transaction& transaction) {
    claim(transaction, evidence(key(1)));
    insert(transaction, "a", 1);
    transaction.ledger().advance(consumer(), {&early, 1});
    transaction.savepoint();
    claim(transaction, evidence(key(2)));
    Evidence changed = evidence(key(1));
    changed.result = "undone";
    transaction.ledger().record({&changed, 1}, ClaimMode::claim_first);
    add(transaction, "a", 5);
    insert(transaction, "b", 1);
    transaction.ledger().advance(consumer(), {&late, 1});
    transaction.rollback_to_savepoint();
    EXPECT_EQ(amount_of(transaction, "a"), 1);
    EXPECT_EQ(claim(transaction, evidence(key(2)), ClaimMode::optimistic).state, ClaimState::fresh);
    insert(transaction, "c", 1);
  });
  EXPECT_EQ(committed_amount("a"), 1);
  EXPECT_FALSE(committed_amount("b").has_value());
  EXPECT_EQ(committed_amount("c"), 1);
  EXPECT_EQ(records()->evidence(key(1))->result, "");
  EXPECT_FALSE(records()->evidence(key(2)).has_value());
  EXPECT_EQ(session().positions(consumer(), "orders").at(0).next, early.next);
}

TEST_P(TransactionContract, ANewSavepointReplacesThePreviousOne) {
  commit([&](Transaction& transaction) {
    transaction.savepoint();
    insert(transaction, "a", 1);
    transaction.savepoint();
    insert(transaction, "b", 1);
    transaction.rollback_to_savepoint();
    insert(transaction, "b", 2);
    transaction.rollback_to_savepoint();
    EXPECT_EQ(amount_of(transaction, "a"), 1);
    EXPECT_FALSE(amount_of(transaction, "b").has_value());
  });
  EXPECT_EQ(committed_amount("a"), 1);
}

/// What the database did not refuse, we do: it must not go on to the next event meanwhile.
TEST_P(TransactionContract, AWrongRowCountIsUndoneWithAllOfItsEvent) {
  commit([&](Transaction& transaction) {
    transaction.savepoint();
    insert(transaction, "kept", 1);
    transaction.savepoint();
    EXPECT_EQ(failure_by_savepoint(
                  transaction,
                  [&] {
                    Statements& sql = transaction.statements();
                    sql.execute(insert_cell,
                                {{"name", std::string{"a"}}, {"amount", std::int64_t{1}}}, 1);
                    sql.execute(update_cell,
                                {{"name", std::string{"none"}}, {"amount", std::int64_t{2}}}, 1);
                  }),
              ErrorKind::permanent);
    transaction.rollback_to_savepoint();
    EXPECT_FALSE(amount_of(transaction, "a").has_value());
  });
  EXPECT_FALSE(committed_amount("a").has_value());
  EXPECT_EQ(committed_amount("kept"), 1);
}

TEST_P(TransactionContract, TheSavepointHealsAPermanentError) {
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  commit([&](Transaction& transaction) {
    claim(transaction, evidence(key(1)));
    transaction.savepoint();
    claim(transaction, evidence(key(2)));
    insert(transaction, "b", 1);
    EXPECT_EQ(failure_of([&] { insert(transaction, "a", 2); }), ErrorKind::permanent);
    transaction.rollback_to_savepoint();
    EXPECT_EQ(claim(transaction, evidence(key(2))).state, ClaimState::fresh);
    EXPECT_FALSE(amount_of(transaction, "b").has_value());
  });
  EXPECT_TRUE(records()->evidence(key(1)).has_value());
  EXPECT_TRUE(records()->evidence(key(2)).has_value());
}

TEST_P(TransactionContract, TheSavepointDoesNotHealContention) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(1))); });
  const auto transaction = session().begin();
  transaction->savepoint();
  const Evidence rival = evidence(key(1));
  EXPECT_EQ(failure_of([&] {
              transaction->ledger().record({&rival, 1}, ClaimMode::optimistic);
              transaction->savepoint();
            }),
            ErrorKind::contention);
  EXPECT_EQ(failure_of([&] { transaction->rollback_to_savepoint(); }), ErrorKind::contention);
  EXPECT_EQ(failure_of([&] { transaction->commit(); }), ErrorKind::contention);
}

TEST_P(TransactionContract, TheErrorOfAnEventSurfacesAtItsSavepoint) {
  commit([&](Transaction& transaction) {
    int blamed = 0;
    for (int number = 1; number <= 3; ++number) {
      claim(transaction, evidence(key(number)));
      transaction.savepoint();
      const auto failure = failure_by_savepoint(transaction, [&] {
        transaction.statements().execute(
            insert_cell, {{"name", std::string{number == 2 ? "a" : "b" + std::to_string(number)}},
                          {"amount", std::int64_t{number}}});
        if (number == 2) {
          transaction.statements().execute(
              insert_cell, {{"name", std::string{"a"}}, {"amount", std::int64_t{9}}});
        }
      });
      if (!failure) continue;
      EXPECT_EQ(failure, ErrorKind::permanent);
      blamed = number;
      transaction.rollback_to_savepoint();
    }
    EXPECT_EQ(blamed, 2);
  });
  EXPECT_EQ(committed_amount("b1"), 1);
  EXPECT_FALSE(committed_amount("a").has_value());
  EXPECT_EQ(committed_amount("b3"), 3);
}

TEST_P(TransactionContract, ASessionGoesOnAfterAFailedTransaction) {
  {
    const auto transaction = session().begin();
    EXPECT_TRUE(failure_of([&] { transaction->statements().query("NO SUCH STATEMENT", {}); }));
  }
  commit([&](Transaction& transaction) { insert(transaction, "a", 1); });
  EXPECT_EQ(committed_amount("a"), 1);
}

}  // namespace
}  // namespace onefold::conformance
