#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/mariadb/mariadb.h"
#include "onefold/stores/mariadb/test_database.h"

namespace onefold::mariadb {

/// A database with one business table, one consumer, a session and a rival.
class MariadbStore : public testing::Test {
 protected:
  void SetUp() override {
    if (test_server().empty()) {
      ASSERT_FALSE(servers_are_required()) << "ONEFOLD_TEST_MARIADB says of no server";
      GTEST_SKIP() << "ONEFOLD_TEST_MARIADB says of no server; see tools/servers.sh";
    }
    database_ = std::make_unique<TestDatabase>();
    plain_ = std::make_unique<PlainClient>(database_->url());
    plain_->execute(
        "CREATE OR REPLACE TABLE account (id VARCHAR(20) PRIMARY KEY, balance BIGINT NOT NULL, "
        "CONSTRAINT not_in_debt CHECK (balance >= 0)) ENGINE=InnoDB");
    plain_->execute("INSERT INTO account VALUES ('a', 100), ('b', 100)");
    store_ = open_store(options());
    store_->housekeeping()->migrate();
    consumer_ = store_->housekeeping()->adopt({.name = "billing", .rules = ""}, {});
    session_ = store_->connect();
    rival_ = store_->connect();
    scope_ = session_->scope({consumer_, "", "shop", "uuid"}).value();
  }

  Options options() const {
    return {.connection = database_->url(),
            .statement_timeout = std::chrono::milliseconds{5'000},
            .lock_timeout = std::chrono::milliseconds{1'000},
            .idle_timeout = std::chrono::milliseconds{10'000}};
  }
  std::string balance(const std::string& account) {
    return plain_->value("SELECT balance FROM account WHERE id = '" + account + "'");
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
  /// The server's number for the connection of a transaction.
  static std::string connection_id(Transaction& transaction) {
    const Rows rows = transaction.statements().query("SELECT CONNECTION_ID()", {});
    return std::to_string(std::get<std::int64_t>(rows.at(0).at(0)));
  }

  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<PlainClient> plain_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> rival_;
  ConsumerId consumer_ = 0;
  std::int32_t scope_ = 0;
};

template <class Work>
Error error_of(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error{ErrorKind::bad_configuration, "nothing was thrown"};
}

template <class Work>
ErrorKind kind_thrown_by(Work&& work) {
  return error_of(std::forward<Work>(work)).kind();
}

inline void run_raw(Transaction& transaction, const char* sql) {
  ::MYSQL* const handle = connection(transaction);
  if (mysql_query(handle, sql) != 0) throw std::runtime_error{mysql_error(handle)};
}

inline constexpr const char* credit = "UPDATE account SET balance = balance + 10 WHERE id = 'a'";

}  // namespace onefold::mariadb
