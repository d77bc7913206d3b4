#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/postgres/postgres.h"
#include "onefold/stores/postgres/test_database.h"

namespace onefold::postgres {

inline constexpr std::string_view credit =
    "UPDATE account SET balance = balance + 10 WHERE id = 'a'";

/// A schema with one business table, one consumer, a session and a rival.
class PostgresStore : public testing::Test {
 protected:
  void SetUp() override {
    if (test_server().empty()) {
      ASSERT_FALSE(servers_are_required()) << "ONEFOLD_TEST_POSTGRES says of no server";
      GTEST_SKIP() << "ONEFOLD_TEST_POSTGRES says of no server; see tools/servers.sh";
    }
    database_ = std::make_unique<TestDatabase>();
    plain().execute(
        "CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL, "
        "CONSTRAINT not_in_debt CHECK (balance >= 0))");
    plain().execute("INSERT INTO account VALUES ('a', 100), ('b', 100)");
    store_ = open_store(options());
    try {
      store_->housekeeping()->migrate();
    } catch (const Error&) {
      database_->recreate();
      FAIL() << "the tables were those of another state of the program: run it again";
    }
    consumer_ = store_->housekeeping()->adopt({.name = "billing", .rules = ""}, {});
    session_ = store_->connect();
    rival_ = store_->connect();
    scope_ = session_->scope({consumer_, "", "shop", "uuid"}).value();
  }

  virtual Options options() const {
    Options options;
    options.connection = database_->url();
    options.schema = database_->schema();
    options.statement_timeout = std::chrono::milliseconds{5'000};
    options.lock_timeout = std::chrono::milliseconds{500};
    options.idle_in_transaction_timeout = std::chrono::milliseconds{2'000};
    return options;
  }
  PlainClient& plain() { return database_->server(); }
  std::string balance(const std::string& account) {
    return plain().value("SELECT balance FROM account WHERE id = '" + account + "'");
  }
  Evidence evidence(int number) const {
    Evidence one;
    one.key.scope = scope_;
    one.key.bytes[14] = static_cast<std::uint8_t>(number / 256);
    one.key.bytes[15] = static_cast<std::uint8_t>(number % 256);
    one.event_source = "shop";
    one.event_id = "evt_1";
    one.recorded_at = Timestamp{std::chrono::microseconds{1000}};
    return one;
  }
  ClaimState claim(Transaction& transaction, int number) const {
    const Evidence wanted = evidence(number);
    return transaction.ledger().claim({&wanted, 1}, ClaimMode::claim_first).at(0).state;
  }
  bool is_claimed(int number) {
    return store_->records()->evidence(evidence(number).key).has_value();
  }
  /// The process of the server that serves a transaction.
  static std::string process_of(const Transaction& transaction) {
    return std::to_string(PQbackendPID(connection(transaction)));
  }
  /// Ends it as an administrator does, and waits for that.
  void terminate(const std::string& process) {
    plain().execute("SELECT pg_terminate_backend(" + process + ", 5000)");
  }
  /// Runs SQL past Onefold; returns the SQLSTATE, or "".
  static std::string run_raw(const Transaction& transaction, const char* sql) {
    ::PGresult* const result = PQexec(connection(transaction), sql);
    const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    std::string failed = code == nullptr ? "" : code;
    PQclear(result);
    return failed;
  }
  /// Makes each COMMIT that has changed an account take so long, by a constraint that is checked
  /// there.
  void slow_down_commits(double seconds) {
    plain().execute(
        "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN PERFORM pg_sleep(" +
        std::to_string(seconds) + "); RETURN NULL; END $$");
    plain().execute(
        "CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON account DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION slow()");
  }
  template <class Call>
  static std::optional<ErrorKind> kind_thrown_by(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return std::nullopt;
  }
  template <class Call>
  static std::string words_thrown_by(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Store> store_;
  ConsumerId consumer_ = 0;
  std::int32_t scope_ = 0;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> rival_;
};

}  // namespace onefold::postgres
