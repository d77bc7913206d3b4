#include <algorithm>
#include <atomic>
#include <thread>

#include "onefold/stores/mariadb/test_store.h"

namespace onefold::mariadb {
namespace {

/// Connections that the test owns, and the store only borrows.
class MariadbBorrowed : public MariadbStore {
 protected:
  Options borrowing(PlainClient& client) {
    Options options;
    options.borrow = [&client] { return client.handle(); };
    return options;
  }
};

void set_up(PlainClient& client) {
  client.execute("SET sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+00:00'");
}

TEST_F(MariadbBorrowed, AConnectionIsUsedAndGivenBack) {
  PlainClient client{database_->url()};
  set_up(client);
  {
    const auto store = open_store(borrowing(client));
    const auto session = store->connect();
    const auto transaction = session->begin();
    EXPECT_EQ(connection(*transaction), client.handle());
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    client.execute(credit);
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  // Still open, and as it was.
  EXPECT_EQ(client.value("SELECT @@tx_isolation"), "REPEATABLE-READ");
  EXPECT_EQ(client.value("SELECT @@sql_mode"), "STRICT_TRANS_TABLES");
  EXPECT_TRUE(is_claimed(1));
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(MariadbBorrowed, WhatDoesNotFitIsRefusedByName) {
  struct Case {
    const char* sql;
    const char* named;
  };
  for (const Case& each :
       {Case{"SET sql_mode = ''", "sql_mode"},
        Case{"SET sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES'", "NO_BACKSLASH_ESCAPES"},
        Case{"SET time_zone = '+02:00'", "time_zone"}, Case{"SET NAMES latin1", "character set"},
        Case{"START TRANSACTION", "transaction"}}) {
    PlainClient client{database_->url()};
    set_up(client);
    client.execute(each.sql);
    const Error error = error_of([&] { open_store(borrowing(client)); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
    EXPECT_NE(std::string{error.what()}.find(each.named), std::string::npos) << error.what();
  }
}

TEST_F(MariadbBorrowed, ATransactionThatTheOwnerLeftOpenIsNotTouched) {
  PlainClient client{database_->url()};
  set_up(client);
  const auto store = open_store(borrowing(client));
  const auto session = store->connect();
  client.execute("START TRANSACTION");
  client.execute(credit);
  EXPECT_TRUE(error_of([&] { session->begin(); }).what() != nullptr);
  client.execute("COMMIT");
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(MariadbBorrowed, B04_CodesTellWhatHappenedInEveryLanguage) {
  for (const char* language : {"de_DE", "ru_RU", "ja_JP"}) {
    PlainClient client{database_->url()};
    set_up(client);
    client.execute("SET lc_messages = '" + std::string{language} +
                   "', innodb_lock_wait_timeout = 1");
    const auto store = open_store(borrowing(client));
    const auto session = store->connect();
    const auto kind = [&](const char* sql) {
      const auto transaction = session->begin();
      return kind_thrown_by([&] { transaction->statements().change(sql, {}); });
    };
    EXPECT_EQ(kind("INSERT INTO account VALUES ('a', 1)"), ErrorKind::permanent);
    EXPECT_EQ(kind("INSERT INTO nowhere VALUES ('a', 1)"), ErrorKind::bad_configuration);
    const Error error = error_of([&] {
      session->begin()->statements().change("INSERT INTO account VALUES (:id, 1)",
                                            {{"id", std::string{"a"}}});
    });
    EXPECT_NE(std::string{error.what()}.find("1062"), std::string::npos) << error.what();
    {
      const auto holder = rival_->begin();
      holder->statements().execute(credit, {});
      EXPECT_EQ(kind(credit), ErrorKind::contention) << language;
    }
    // The inbox's own duplicates are known by their number, too.
    const auto transaction = session->begin();
    const std::vector both{evidence(1), evidence(2)};
    transaction->ledger().record(both, ClaimMode::optimistic);
    EXPECT_EQ(kind_thrown_by([&] { transaction->ledger().record(both, ClaimMode::optimistic); }),
              ErrorKind::contention);
  }
}

class MariadbOpening : public MariadbStore {};

TEST_F(MariadbOpening, WhatAPersonMustChangeIsToldFromWhatMayPass) {
  const auto kind_with = [&](const std::string& from, const std::string& to) {
    Options options = this->options();
    options.connect_timeout = std::chrono::milliseconds{1'000};
    options.connection.replace(options.connection.find(from), from.size(), to);
    return kind_thrown_by([&] { open_store(options); });
  };
  EXPECT_EQ(kind_with("root@", "root:wrong@"), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_with("root@", "nobody:x@"), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_with("/" + database_->name(), "/no_such_database"), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_with("127.0.0.1", "127.0.0.77"), ErrorKind::unavailable);
  EXPECT_EQ(kind_with("127.0.0.1", "no-such-host.invalid"), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([] { open_store({}); }), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_thrown_by([] { open_store({.connection = "postgres://x/y"}); }),
            ErrorKind::bad_configuration);
}

TEST_F(MariadbOpening, ASchemaIsMadeByOneOfManyAndRunsWithoutDDL) {
  database_->recreate();
  std::vector<std::thread> migrations;
  std::atomic<std::size_t> applied = 0;
  for (int i = 0; i < 4; ++i) {
    migrations.emplace_back([&] {
      for (const Migration& each : store_->housekeeping()->migrate()) {
        if (each.applied_now) ++applied;
      }
    });
  }
  for (std::thread& each : migrations) each.join();
  EXPECT_EQ(applied, store_->housekeeping()->migrate().size());
  EXPECT_NO_THROW(store_->housekeeping()->check_schema());
}

TEST_F(MariadbOpening, AMigrationThatWasCutOffIsRunAgain) {
  plain_->execute("DELETE FROM onefold_migration");
  EXPECT_EQ(kind_thrown_by([&] { store_->housekeeping()->check_schema(); }),
            ErrorKind::bad_configuration);
  plain_->execute("DROP TABLE onefold_inbox");
  EXPECT_TRUE(store_->housekeeping()->migrate().at(0).applied_now);
  EXPECT_TRUE(store_->housekeeping()->pending().empty());
  EXPECT_EQ(claim(*session_->begin(), 1), ClaimState::fresh);
}

TEST_F(MariadbOpening, WhatIsPendingDoesTheSameByHand) {
  database_->recreate();
  const auto pending = store_->housekeeping()->pending();
  ASSERT_FALSE(pending.empty());
  PlainClient by_hand{database_->url()};
  for (const auto& migration : pending) {
    std::string_view script = migration.sql;
    for (std::size_t end = script.find(";\n"); end != script.npos; end = script.find(";\n")) {
      by_hand.execute(std::string{script.substr(0, end)});
      script.remove_prefix(end + 2);
    }
  }
  EXPECT_NO_THROW(store_->housekeeping()->check_schema());
  EXPECT_TRUE(store_->housekeeping()->pending().empty());
}

TEST_F(MariadbOpening, AnotherSchemaIsRefused) {
  plain_->execute("UPDATE onefold_migration SET checksum = '0000000000000000'");
  EXPECT_EQ(kind_thrown_by([&] { store_->housekeeping()->migrate(); }),
            ErrorKind::bad_configuration);
  plain_->execute("DELETE FROM onefold_migration");
  plain_->execute("INSERT INTO onefold_migration VALUES (99, 'later', '', 0, 0)");
  EXPECT_EQ(kind_thrown_by([&] { store_->housekeeping()->check_schema(); }),
            ErrorKind::bad_configuration);
  plain_->execute("DELETE FROM onefold_migration");
  store_->housekeeping()->migrate();
}

class MariadbExamination : public MariadbStore {
 protected:
  static std::size_t count(const std::vector<Finding>& findings, std::string_view topic,
                           Finding::Severity severity) {
    return static_cast<std::size_t>(std::ranges::count_if(findings, [&](const Finding& each) {
      return each.topic == topic && each.severity == severity;
    }));
  }
};

TEST_F(MariadbExamination, AGoodServerIsFine) {
  const std::vector<std::string> statements{credit};
  for (const Finding& each : store_->housekeeping()->examine(statements)) {
    EXPECT_EQ(each.severity, Finding::Severity::fine) << each.topic << ": " << each.text;
  }
}

TEST_F(MariadbExamination, TablesWithoutTransactionsAndBadStatementsAreFailures) {
  plain_->execute("CREATE TABLE diary (line VARCHAR(20)) ENGINE=MyISAM");
  const std::vector<std::string> statements{"INSERT INTO diary VALUES (:line)", credit,
                                            "INSERT INTO nowhere VALUES (1)"};
  const auto findings = store_->housekeeping()->examine(statements);
  EXPECT_EQ(count(findings, "tables", Finding::Severity::failure), 1U);
  EXPECT_EQ(count(findings, "statements", Finding::Severity::failure), 1U);
  EXPECT_EQ(count(findings, "privileges", Finding::Severity::fine), 1U);
}

TEST_F(MariadbExamination, AMissingPrivilegeIsAFailure) {
  const std::string user = "'" + database_->name() + "'@'%'";
  PlainClient& server = database_->server();
  server.execute("CREATE OR REPLACE USER " + user + " IDENTIFIED BY 'secret'");
  server.execute("GRANT SELECT ON " + database_->name() + ".* TO " + user);
  Options options = this->options();
  options.connection.replace(options.connection.find("root"), 4, database_->name() + ":secret");
  const auto findings = open_store(options)->housekeeping()->examine({});
  EXPECT_EQ(count(findings, "privileges", Finding::Severity::failure), 1U);
  server.execute("DROP USER " + user);
}

TEST_F(MariadbExamination, AStatementsDefectIsToldAndChangesNothing) {
  const auto housekeeping = store_->housekeeping();
  EXPECT_EQ(housekeeping->statement_defect("DELETE FROM account WHERE id = :id"), "");
  EXPECT_NE(housekeeping->statement_defect("DELETE FROM nowhere"), "");
  EXPECT_NE(housekeeping->statement_defect("DROP TABLE account"), "");
  EXPECT_EQ(plain_->value("SELECT COUNT(*) FROM account"), "2");
}

}  // namespace
}  // namespace onefold::mariadb
