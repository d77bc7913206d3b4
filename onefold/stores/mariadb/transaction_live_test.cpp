#include <future>
#include <thread>

#include "onefold/stores/mariadb/test_store.h"

namespace onefold::mariadb {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using MariadbTransaction = MariadbStore;

TEST_F(MariadbTransaction, IsReadCommittedWhateverTheServersDefaultIs) {
  const auto transaction = session_->begin();
  transaction->statements().execute(credit, {});
  const std::string id = connection_id(*transaction);
  EXPECT_EQ(plain_->value("SELECT trx_isolation_level FROM information_schema.innodb_trx "
                          "WHERE trx_mysql_thread_id = " +
                          id),
            "READ COMMITTED");
  EXPECT_EQ(plain_->value("SELECT @@tx_isolation"), "REPEATABLE-READ");
}

TEST_F(MariadbTransaction, ALockThatTakesTooLongIsContentionAndNothingOfTheTransactionStays) {
  const auto holder = rival_->begin();
  holder->statements().execute(credit, {});
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  const auto begin = steady_clock::now();
  // MariaDB undoes this statement alone: whoever went on would commit the claim without it.
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().change(credit, {}); }),
            ErrorKind::contention);
  EXPECT_LT(steady_clock::now() - begin, milliseconds{4'000});
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::contention);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contention);
  EXPECT_FALSE(is_claimed(1));
}

TEST_F(MariadbTransaction, ADeadlockThatAHandlerSwallowsOnTheRawConnectionNeverCommits) {
  const auto other = rival_->begin();
  other->statements().execute("UPDATE account SET balance = 1 WHERE id = 'b'", {});
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->statements().execute(credit, {});
  auto waiting = std::async(std::launch::async, [&] {
    other->statements().execute("UPDATE account SET balance = 1 WHERE id = 'a'", {});
  });
  std::this_thread::sleep_for(milliseconds{100});
  // The victim is whoever has written less: that both can be the one is what makes this awkward.
  const bool lost = mysql_query(connection(*transaction), "DELETE FROM account") != 0;
  if (lost) {
    // In autocommit by now: this would be there without the claim.
    run_raw(*transaction, "UPDATE account SET balance = 77 WHERE id = 'a'");
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
    EXPECT_FALSE(is_claimed(1));
    waiting.get();
  } else {
    EXPECT_EQ(kind_thrown_by([&] { waiting.get(); }), ErrorKind::contention);
    EXPECT_EQ(kind_thrown_by([&] { other->commit(); }), ErrorKind::contention);
    EXPECT_EQ(balance("b"), "100");
  }
}

TEST_F(MariadbTransaction, AHandlerCannotEndTheTransaction) {
  for (const char* sql :
       {"COMMIT", "/* x */ rollback", "START TRANSACTION", "BEGIN", "SAVEPOINT a",
        "SET autocommit = 1", "LOCK TABLES account WRITE", "CREATE TABLE x (a INT)",
        "DROP TABLE account", "TRUNCATE account", "USE mysql", "alter table account add x int"}) {
    const auto transaction = session_->begin();
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(sql, {}); }),
              ErrorKind::contract_violation)
        << sql;
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
    EXPECT_FALSE(is_claimed(1)) << sql;
  }
  const auto transaction = session_->begin();
  transaction->statements().execute("CREATE TEMPORARY TABLE scratch (a INT) ENGINE=InnoDB", {});
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
}

TEST_F(MariadbTransaction, AHandlerThatCommitsOnTheRawConnectionIsNoticedAtOnce) {
  for (const char* sql : {"COMMIT", "CREATE OR REPLACE TABLE surprise (a INT)"}) {
    const auto transaction = session_->begin();
    claim(*transaction, 1);
    run_raw(*transaction, sql);
    EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::contract_violation) << sql;
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation) << sql;
  }
}

TEST_F(MariadbTransaction, AnotherTransactionThanOursIsNotCommitted) {
  for (const bool chained : {false, true}) {
    const auto transaction = session_->begin();
    claim(*transaction, 1);
    run_raw(*transaction, chained ? "COMMIT AND CHAIN" : "COMMIT");
    if (!chained) run_raw(*transaction, "START TRANSACTION");
    transaction->statements().execute(credit, {});
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
    EXPECT_EQ(balance("a"), "100");
  }
}

TEST_F(MariadbTransaction, AResultThatAHandlerHasNotReadIsItsFault) {
  const auto transaction = session_->begin();
  run_raw(*transaction, "SELECT * FROM account");
  EXPECT_EQ(kind_thrown_by([&] { claim(*transaction, 1); }), ErrorKind::contract_violation);
}

TEST_F(MariadbTransaction, AWriteToATableWithoutTransactionsIsNoticedWhenItIsUndone) {
  plain_->execute("CREATE TABLE diary (line VARCHAR(20)) ENGINE=Aria");
  constexpr const char* write = "INSERT INTO diary VALUES ('applied')";
  {
    const auto transaction = session_->begin();
    transaction->savepoint();
    transaction->statements().execute(write, {});
    EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }),
              ErrorKind::contract_violation);
  }
  session_ = store_->connect();
  session_->begin()->statements().execute(write, {});
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::contract_violation);
  EXPECT_NO_THROW(session_->begin());
}

TEST_F(MariadbTransaction, USEChangesNothingForOurTables) {
  plain_->execute("CREATE TABLE y (a INT)");
  const auto transaction = session_->begin();
  run_raw(*transaction, "USE mysql");
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  const std::vector both{evidence(1), evidence(2)};
  EXPECT_EQ(transaction->ledger().claim(both, ClaimMode::claim_first).at(0).state,
            ClaimState::known);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_TRUE(is_claimed(1));
}

TEST_F(MariadbTransaction, AKilledConnectionIsUnavailableAndItsClaimFree) {
  auto transaction = session_->begin();
  claim(*transaction, 1);
  plain_->execute("KILL " + connection_id(*transaction));
  const Error error = error_of([&] { claim(*transaction, 2); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  EXPECT_TRUE(error.needs_reconnect());
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::unavailable);
  transaction.reset();
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::fresh);
}

TEST_F(MariadbTransaction, P4_AConnectionThatIsKilledBeforeCOMMITIsInDoubtAndTheClaimDecides) {
  auto transaction = session_->begin();
  claim(*transaction, 1);
  plain_->execute("KILL " + connection_id(*transaction));
  const CommitAnswer answer = transaction->commit();
  EXPECT_EQ(answer, CommitResult::in_doubt);
  EXPECT_FALSE(answer.why.empty());
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::fresh);
}

TEST_F(MariadbTransaction, AStoppedQueryIsContention) {
  const auto transaction = session_->begin();
  const std::string id = connection_id(*transaction);
  auto killer = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(milliseconds{200});
    plain_->execute("KILL QUERY " + id);
  });
  EXPECT_EQ(kind_thrown_by([&] {
              transaction->statements().change("UPDATE account SET balance = balance + SLEEP(3)",
                                               {});
            }),
            ErrorKind::contention);
  killer.get();
}

TEST_F(MariadbTransaction, AStatementThatTakesTooLongIsStopped) {
  Options quick = options();
  quick.statement_timeout = milliseconds{300};
  const auto session = open_store(quick)->connect();
  const auto transaction = session->begin();
  const auto begin = steady_clock::now();
  EXPECT_EQ(kind_thrown_by([&] {
              transaction->statements().change("UPDATE account SET balance = balance + SLEEP(3)",
                                               {});
            }),
            ErrorKind::contention);
  EXPECT_LT(steady_clock::now() - begin, milliseconds{2'500});
}

TEST_F(MariadbTransaction, AWorkerThatStandsStillDelaysRivalsByTheTimeoutAndItsCommitIsRefused) {
  Options impatient = options();
  impatient.idle_timeout = milliseconds{1'000};
  const auto session = open_store(impatient)->connect();
  const auto stopped = session->begin();
  claim(*stopped, 1);
  stopped->statements().execute(credit, {});
  Options patient = options();
  patient.lock_timeout = milliseconds{20'000};
  const auto rival = open_store(patient)->connect();
  const auto begin = steady_clock::now();
  const auto transaction = rival->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  EXPECT_LT(steady_clock::now() - begin, impatient.idle_timeout + milliseconds{2'000});
  transaction->statements().execute(credit, {});
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  const CommitAnswer late = stopped->commit();
  EXPECT_FALSE(late == CommitResult::committed);
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(MariadbTransaction, B03_OfTwoThatWaitForARollbackOneClaimsAndNobodyIsBlamed) {
  auto holder = session_->begin();
  claim(*holder, 1);
  const auto unit = [this] {
    const auto session = store_->connect();
    const auto transaction = session->begin();
    const ClaimState state = claim(*transaction, 1);
    if (state == ClaimState::fresh) transaction->statements().execute(credit, {});
    transaction->commit();
    return state;
  };
  auto first = std::async(std::launch::async, unit);
  auto second = std::async(std::launch::async, unit);
  std::this_thread::sleep_for(milliseconds{200});
  holder.reset();
  int contentions = 0;
  for (auto* each : {&first, &second}) {
    try {
      each->get();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::contention) << error.what();
      ++contentions;
    }
  }
  EXPECT_LE(contentions, 1);
  EXPECT_EQ(balance("a"), "110");
  EXPECT_TRUE(is_claimed(1));
}

}  // namespace
}  // namespace onefold::mariadb
