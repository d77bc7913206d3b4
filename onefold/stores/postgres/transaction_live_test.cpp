#include <sys/socket.h>

#include <future>
#include <thread>

#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class PostgresTransaction : public PostgresStore {};

TEST_F(PostgresTransaction, IsReadCommittedWhateverTheServersDefaultIs) {
  plain().execute("SET default_transaction_isolation = 'serializable'");
  Options strict = options();
  strict.connection = database_->url("%20-cdefault_transaction_isolation%3Dserializable");
  const auto session = open_store(strict)->connect();
  const auto transaction = session->begin();
  const Rows rows = transaction->statements().query("SHOW transaction_isolation", {});
  EXPECT_EQ(std::get<std::string>(rows.at(0).at(0)), "read committed");
  EXPECT_EQ(std::get<std::string>(
                transaction->statements().query("SHOW synchronous_commit", {}).at(0).at(0)),
            "on");
}

TEST_F(PostgresTransaction, ALockThatTakesTooLongIsContention) {
  const auto holder = rival_->begin();
  holder->statements().change(credit, {});
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().change(credit, {}); }),
            ErrorKind::contention);
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::contention);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contention);
  EXPECT_FALSE(is_claimed(1));
}

TEST_F(PostgresTransaction, AStatementThatTakesTooLongIsContention) {
  Options hasty = options();
  hasty.statement_timeout = milliseconds{200};
  const auto session = open_store(hasty)->connect();
  const auto transaction = session->begin();
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().query("SELECT pg_sleep(5)", {}); }),
            ErrorKind::contention);
}

/// A claim's wait is bounded, and what it waited for is read by a later statement.
TEST_F(PostgresTransaction, B03_AWaiterGoesOnWhenTheHolderIsKilled) {
  auto holder = rival_->begin();
  EXPECT_EQ(claim(*holder, 1), ClaimState::fresh);
  const std::string process = process_of(*holder);
  const auto transaction = session_->begin();
  auto waiting = std::async(std::launch::async, [&] { return claim(*transaction, 1); });
  EXPECT_EQ(waiting.wait_for(milliseconds{50}), std::future_status::timeout);
  terminate(process);
  EXPECT_EQ(waiting.get(), ClaimState::fresh);
  EXPECT_EQ(kind_thrown_by([&] { holder->commit(); }), std::nullopt)
      << "in doubt is an answer, and no error";
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
}

TEST_F(PostgresTransaction, P4_AConnectionLostBeforeCommitIsUnavailableAndNothingStays) {
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  terminate(process_of(*transaction));
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().change(credit, {}); }),
            ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_FALSE(is_claimed(1));
  EXPECT_EQ(balance("a"), "100");
}

TEST_F(PostgresTransaction, P4_ACommitWhoseServerIsKilledInItIsInDoubtAndNotThere) {
  slow_down_commits(5);
  auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->statements().execute(credit, {});
  const std::string process = process_of(*transaction);
  auto answer = std::async(std::launch::async, [&] { return transaction->commit(); });
  std::this_thread::sleep_for(milliseconds{200});
  terminate(process);
  EXPECT_EQ(answer.get(), CommitResult::in_doubt);
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_FALSE(is_claimed(1));
  EXPECT_EQ(balance("a"), "100");
}

TEST_F(PostgresTransaction, P4_ACommitWhoseAnswerIsLostIsInDoubtAndTheServerIsAskedLater) {
  slow_down_commits(0.3);
  std::vector<std::string> told;
  Options curious = options();
  curious.notify = [&](const std::string& what) { told.push_back(what); };
  const auto store = open_store(curious);
  auto session = store->connect();
  auto transaction = session->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->statements().execute(credit, {});
  const int socket = PQsocket(connection(*transaction));
  auto answer = std::async(std::launch::async, [&] { return transaction->commit(); });
  std::this_thread::sleep_for(milliseconds{100});
  ::shutdown(socket, SHUT_RD);
  EXPECT_EQ(answer.get(), CommitResult::in_doubt);
  transaction.reset();
  // A claim waits for the old transaction, whatever becomes of it.
  const auto again = store->connect();
  EXPECT_EQ(claim(*again->begin(), 1), ClaimState::known);
  EXPECT_EQ(balance("a"), "110");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].find(": committed") != std::string::npos ||
              told[0].find(": in progress") != std::string::npos)
      << told[0];
}

TEST_F(PostgresTransaction, F19_AStoppedWorkerHoldsItsRivalsNoLongerThanTheTimeout) {
  Options strict = options();
  strict.idle_in_transaction_timeout = milliseconds{700};
  strict.lock_timeout = milliseconds{5'000};
  const auto store = open_store(strict);
  const auto stopped_session = store->connect();
  const auto stopped = stopped_session->begin();
  EXPECT_EQ(claim(*stopped, 1), ClaimState::fresh);
  const auto session = store->connect();
  const auto begin = steady_clock::now();
  const auto transaction = session->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  EXPECT_LT(steady_clock::now() - begin, milliseconds{2'700});
  transaction->statements().execute(credit, {}, 1);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  // The stopped one wakes up: what it does is refused.
  EXPECT_EQ(kind_thrown_by([&] { stopped->statements().change(credit, {}); }),
            ErrorKind::unavailable);
  EXPECT_EQ(balance("a"), "110");
}

/// Between the first byte of a burst and its Sync no timeout of the server counts.
TEST_F(PostgresTransaction, F19_AWorkerStoppedInTheMiddleOfABurstIsEndedByWhoWaitsForIt) {
  std::vector<std::string> told;
  Options strict = options();
  strict.idle_in_transaction_timeout = milliseconds{700};
  strict.lock_timeout = milliseconds{5'000};
  strict.notify = [&](const std::string& what) { told.push_back(what); };
  const PlainClient stopped{database_->url()};
  ASSERT_EQ(PQenterPipelineMode(stopped.handle()), 1);
  for (const char* sql : {"BEGIN", "LOCK TABLE inbox IN ROW EXCLUSIVE MODE", credit.data()}) {
    ASSERT_EQ(PQsendQueryParams(stopped.handle(), sql, 0, nullptr, nullptr, nullptr, nullptr, 0),
              1);
  }
  ASSERT_EQ(PQflush(stopped.handle()), 0);
  std::this_thread::sleep_for(milliseconds{100});
  const auto session = open_store(strict)->connect();
  const auto begin = steady_clock::now();
  for (int attempt = 0; balance("a") == "100" && attempt < 10; ++attempt) {
    const auto transaction = session->begin();
    const auto failure = kind_thrown_by([&] { transaction->statements().change(credit, {}); });
    if (!failure) {
      EXPECT_EQ(transaction->commit(), CommitResult::committed);
    }
  }
  EXPECT_LT(steady_clock::now() - begin, milliseconds{2'700});
  EXPECT_EQ(balance("a"), "110");
  EXPECT_EQ(told.size(), 1U);
}

/// Who only works for long is left alone.
TEST_F(PostgresTransaction, AWorkerBetweenItsBurstsIsNotEndedByItsRivals) {
  Options strict = options();
  strict.idle_in_transaction_timeout = milliseconds{2'000};
  strict.lock_timeout = milliseconds{300};
  const auto store = open_store(strict);
  const auto holding = store->connect();
  const auto holder = holding->begin();
  EXPECT_EQ(claim(*holder, 1), ClaimState::fresh);
  holder->statements().change(credit, {});
  const auto session = store->connect();
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto transaction = session->begin();
    EXPECT_EQ(kind_thrown_by([&] { transaction->statements().change(credit, {}); }),
              ErrorKind::contention);
  }
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(PostgresTransaction, ADeferredConstraintIsPermanentAtCommit) {
  plain().execute(
      "CREATE TABLE entry (account text REFERENCES account DEFERRABLE INITIALLY DEFERRED)");
  auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->statements().execute("INSERT INTO entry VALUES ('nobody')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::permanent);
  transaction.reset();
  EXPECT_FALSE(is_claimed(1));
  const auto next = session_->begin();
  next->statements().execute(credit, {}, 1);
  EXPECT_EQ(next->commit(), CommitResult::committed);
}

TEST_F(PostgresTransaction, B02_AHandlerThatEndsTheTransactionByTextIsNamedAtOnce) {
  for (const char* sql : {"COMMIT", "rollback", " /* now */ END", "BEGIN", "START TRANSACTION",
                          "SAVEPOINT a", "RELEASE onefold_event", "ABORT"}) {
    const auto transaction = session_->begin();
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(sql, {}); }),
              ErrorKind::contract_violation)
        << sql;
    EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::contract_violation);
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
  }
  EXPECT_FALSE(is_claimed(1));
}

TEST_F(PostgresTransaction, B02_AHandlerThatEndsTheTransactionOnTheRawConnectionIsFound) {
  for (const char* sql : {"COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN",
                          "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "BEGIN"}) {
    auto transaction = session_->begin();
    transaction->savepoint();
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh) << sql;
    EXPECT_EQ(run_raw(*transaction, sql), "");
    const std::string_view text{sql};
    if (text != "ROLLBACK AND CHAIN") {
      // Known without asking the server.
      EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::contract_violation)
          << sql;
    }
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation) << sql;
    transaction.reset();
    plain().execute("DELETE FROM inbox");
    if (kind_thrown_by([&] { session_->begin(); })) session_ = store_->connect();
  }
}

TEST_F(PostgresTransaction, AFailureThatAHandlerSwallowsOnTheRawConnectionIsFound) {
  auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->savepoint();
  EXPECT_EQ(run_raw(*transaction, "INSERT INTO account VALUES ('a', 1)"), "23505");
  try {
    transaction->verify();
    ADD_FAILURE() << "it was swallowed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_EQ(error.failure(), FailureClass::constraint);
  }
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(credit, {}); }),
            ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  transaction->statements().execute(credit, {}, 1);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(balance("a"), "110");
  EXPECT_TRUE(is_claimed(1));
}

TEST_F(PostgresTransaction, ALockThatAHandlerMissesOnTheRawConnectionBlamesNobody) {
  const auto holder = rival_->begin();
  holder->statements().change(credit, {});
  const auto transaction = session_->begin();
  transaction->savepoint();
  EXPECT_EQ(run_raw(*transaction, credit.data()), "55P03");
  EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::contention);
  EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }), ErrorKind::contention);
}

TEST_F(PostgresTransaction, TheRawConnectionSeesWhatWasQueued) {
  const auto transaction = session_->begin();
  transaction->statements().execute(credit, {});
  ::PGconn* const raw = connection(*transaction);
  EXPECT_EQ(PQpipelineStatus(raw), PQ_PIPELINE_OFF);
  EXPECT_EQ(PQisnonblocking(raw), 0);
  ::PGresult* const result = PQexec(raw, "SELECT balance FROM account WHERE id = 'a'");
  EXPECT_STREQ(PQgetvalue(result, 0, 0), "110");
  PQclear(result);
  // Its own savepoints are a handler's own business.
  EXPECT_EQ(run_raw(*transaction, "SAVEPOINT mine"), "");
  EXPECT_EQ(run_raw(*transaction, "ROLLBACK TO mine"), "");
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(PostgresTransaction, AResultLeftUnreadIsAViolation) {
  const auto transaction = session_->begin();
  ASSERT_EQ(PQsendQuery(connection(*transaction), "SELECT 1"), 1);
  EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::contract_violation);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
}

TEST_F(PostgresTransaction, ManyQueuedStatementsAreSentInPieces) {
  const auto transaction = session_->begin();
  const std::string large(100'000, 'x');
  plain().execute("CREATE TABLE note (number bigint, text text)");
  for (std::int64_t i = 0; i < 2'500; ++i) {
    transaction->statements().execute("INSERT INTO note VALUES (:number, :text)",
                                      {{"number", i}, {"text", i % 100 == 0 ? large : "short"}}, 1);
  }
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(plain().value("SELECT count(*) FROM note"), "2500");
  EXPECT_EQ(plain().value("SELECT sum(length(text)) FROM note"),
            std::to_string(25 * 100'000 + 2'475 * 5));
}

}  // namespace
}  // namespace onefold::postgres
