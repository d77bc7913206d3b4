#include "onefold/daemon/catalog.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "onefold/daemon/sql_text.h"
#include "onefold/housekeeping.h"

namespace onefold {
namespace {

/// Statements on a real database, past the reader of configurations: SQLite is the judge.
class CheckStatements : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = testing::TempDir() + "catalog_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
    for (const char* end : {"", "-wal", "-shm", ".onefold-lock"}) {
      std::filesystem::remove(path + end);
    }
    config_.store_url = Secret{"sqlite:" + path};
    open_store(config_, Access::run)->housekeeping()->migrate();
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database,
                           "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER);"
                           "CREATE VIRTUAL TABLE note USING fts5 (text)",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
  }

  /// All that is wrong with one statement.
  std::string check(const std::string& sql) {
    HandlerConfig handler;
    handler.name = "credit";
    const SqlText read = read_sql(sql);
    handler.statements.push_back({sql, read.parameters, {}, {"a.toml", 3, 7}, read.returning});
    ConsumerConfig consumer;
    consumer.handlers.push_back(handler);
    config_.consumers = {consumer};
    std::string all;
    for (const ConfigProblem& problem : check_statements(config_)) {
      EXPECT_EQ(to_string(problem.place, ""), "a.toml:3:7");
      EXPECT_FALSE(problem.hint.empty());
      all += problem.text + "\n";
    }
    return all;
  }

  Config config_;
};

TEST_F(CheckStatements, WhatWorksOnRowsIsFine) {
  for (const char* sql :
       {"UPDATE account SET balance = balance + :amount WHERE id = :id RETURNING balance AS now",
        "INSERT INTO account SELECT id + 1, balance FROM account WHERE true ON CONFLICT DO NOTHING",
        R"(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
           INSERT INTO account SELECT i, 0 FROM n)",
        "INSERT INTO note (text) VALUES (:data)", "SELECT count(*) FROM onefold_inbox",
        "DELETE FROM note WHERE text MATCH 'a'"}) {
    EXPECT_EQ(check(sql), "") << sql;
  }
}

/// But for VACUUM, which SQLite judges only when it runs, and then refuses as an ATTACH.
TEST_F(CheckStatements, WhatDoesNotIsRefusedBySqliteItself) {
  for (const char* sql :
       {"CREATE TABLE other (a)", "DROP TABLE account", "ALTER TABLE account ADD COLUMN a",
        "CREATE TEMP TABLE other (a)", "CREATE INDEX other ON account (balance)",
        "CREATE TRIGGER t AFTER INSERT ON account BEGIN SELECT 1; END", "BEGIN", "COMMIT",
        "SAVEPOINT a", "ATTACH 'other.db' AS other", "PRAGMA synchronous = OFF", "REINDEX",
        "ANALYZE"}) {
    EXPECT_NE(check(sql).find("does not work on rows"), std::string::npos) << sql << check(sql);
  }
  EXPECT_NE(check("DELETE FROM onefold_inbox").find("a table of Onefold"), std::string::npos);
  EXPECT_NE(check("UPDATE Onefold_position SET mark = 0").find("a table of Onefold"),
            std::string::npos);
}

TEST_F(CheckStatements, WhatIsNotThereIsNamed) {
  EXPECT_NE(check("DELETE FROM acount").find("no such table: acount"), std::string::npos);
  EXPECT_NE(check("UPDATE account SET balanse = 1").find("no such column: balanse"),
            std::string::npos);
  EXPECT_NE(check("UPDATE account SET balance = 1 RETURNING owner").find("no such column: owner"),
            std::string::npos);
}

}  // namespace
}  // namespace onefold
