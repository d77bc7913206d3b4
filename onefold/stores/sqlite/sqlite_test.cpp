#include "onefold/stores/sqlite/sqlite.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/records.h"
#include "onefold/stores/sqlite/test_store.h"

namespace onefold::sqlite {
namespace {

constexpr const char* entry_table =
    "CREATE TABLE entry (account TEXT REFERENCES account DEFERRABLE INITIALLY DEFERRED)";

TEST_F(SqliteStore, B04_AnswersWithTheKindOfTheExtendedCode) {
  const auto transaction = session_->begin();
  transaction->savepoint();
  Statements& sql = transaction->statements();
  EXPECT_EQ(kind_thrown_by([&] { sql.execute("INSERT INTO account VALUES ('a', 1)", {}); }),
            ErrorKind::permanent);
  EXPECT_EQ(kind_thrown_by([&] { sql.execute(credit, {}); }), ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  sql.execute(credit, {}, 1);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(balance(), 110);
}

TEST_F(SqliteStore, B02_HandlerThatCommitsOnTheRawHandleIsRefusedAndFound) {
  for (const char* forbidden :
       {"COMMIT",
        "ROLLBACK",
        "BEGIN",
        "SAVEPOINT a",
        "RELEASE onefold_event",
        "PRAGMA user_version",
        "ATTACH ':memory:' AS other",
        "DELETE FROM onefold_inbox",
        "DROP TABLE onefold_audit",
        "CREATE TEMP TABLE onefold_inbox (a)",
        "DROP TABLE account",
        "CREATE TABLE other (a)",
        "CREATE TEMP TABLE other (a)",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE account ADD COLUMN a",
        "CREATE INDEX i ON account (balance)",
        "CREATE VIRTUAL TABLE v USING fts5 (a)",
        "REINDEX account",
        "ANALYZE",
        "CREATE TRIGGER t AFTER INSERT ON onefold_inbox BEGIN SELECT 1; END"}) {
    auto transaction = session_->begin();
    transaction->savepoint();
    transaction->statements().execute(credit, {});
    sqlite3* const raw = sqlite::connection(*transaction);
    EXPECT_NE(sqlite3_exec(raw, forbidden, nullptr, nullptr, nullptr), SQLITE_OK) << forbidden;
    EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::contract_violation);
    EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }),
              ErrorKind::contract_violation);
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
    transaction.reset();
    EXPECT_EQ(balance(), 100) << forbidden;
  }
}

TEST_F(SqliteStore, B02_TheSameThroughStatements) {
  for (const char* forbidden : {"COMMIT", "DROP TABLE account", "CREATE TABLE other (a)"}) {
    const auto transaction = session_->begin();
    EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(forbidden, {}); }),
              ErrorKind::contract_violation)
        << forbidden;
    EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(credit, {}); }),
              ErrorKind::contract_violation);
  }
}

TEST_F(SqliteStore, TransactionEndedByOrRollbackWritesNothingMore) {
  auto transaction = session_->begin();
  sqlite3* const raw = sqlite::connection(*transaction);
  EXPECT_EQ(sqlite3_exec(raw, "INSERT OR ROLLBACK INTO account VALUES ('a', 1)", nullptr, nullptr,
                         nullptr),
            SQLITE_CONSTRAINT_PRIMARYKEY);
  // The handler goes on, outside any transaction: the write must not stay.
  EXPECT_NE(sqlite3_exec(raw, credit, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
  transaction.reset();
  EXPECT_EQ(balance(), 100);
}

TEST_F(SqliteStore, FullDatabaseEndsTheTransactionAndNothingIsLost) {
  auto transaction = session_->begin();
  transaction->savepoint();
  transaction->ledger().claim(std::vector{evidence(1)}, ClaimMode::claim_first);
  sqlite3* const raw = sqlite::connection(*transaction);
  // The file may not grow any more. The pragma is refused to handlers, so the limit is set here.
  sqlite3_set_authorizer(raw, nullptr, nullptr);
  ASSERT_EQ(sqlite3_exec(raw, "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr), SQLITE_OK);
  Statements& sql = transaction->statements();
  EXPECT_EQ(kind_thrown_by(
                [&] { sql.execute("CREATE TABLE large AS SELECT zeroblob(100000) AS a", {}); }),
            ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { sql.execute(credit, {}); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::unavailable);
  transaction.reset();
  session_ = store_->connect();
  EXPECT_EQ(balance(), 100);
  EXPECT_FALSE(is_claimed(1));
}

TEST_F(SqliteStore, B25_WaitsOnlyAtBegin) {
  auto holder = session_->begin();
  const auto rival = store_->connect();
  EXPECT_EQ(kind_thrown_by([&] { rival->begin(); }), ErrorKind::contention);
  holder.reset();
  auto second = rival->begin();
  second->statements().execute(credit, {});
  EXPECT_EQ(second->commit(), CommitResult::committed);
}

TEST_F(SqliteStore, OneRunnerPerDatabase) {
  try {
    sqlite::open_store(options());
    FAIL() << "two runners";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::contention);
    EXPECT_NE(std::string{error.what()}.find("process " + std::to_string(::getpid())),
              std::string::npos);
  }
  fs::create_symlink(directory_ / "shop.db", directory_ / "other.db");
  sqlite::Options by_link = options();
  by_link.path = (directory_ / "other.db").string();
  EXPECT_EQ(kind_thrown_by([&] { sqlite::open_store(by_link); }), ErrorKind::contention);
  by_link.role = sqlite::Role::visitor;
  EXPECT_EQ(sqlite::open_store(by_link)->records()->status().size(), 1U);
  session_.reset();
  store_.reset();
  store_ = sqlite::open_store(options());
  session_ = store_->connect();
  EXPECT_EQ(balance(), 100);
}

TEST_F(SqliteStore, VisitorsLeaveTheLogToTheRunner) {
  session_.reset();
  store_.reset();
  const fs::path log = directory_ / "shop.db-wal";
  sqlite::Options visitor = options();
  visitor.role = sqlite::Role::visitor;
  sqlite::open_store(visitor)->housekeeping()->adopt({.name = "mail", .rules = ""}, {});
  EXPECT_GT(fs::file_size(log), 0U);
  sqlite::open_store(options())->connect()->begin();
  EXPECT_FALSE(fs::exists(log));
}

TEST_F(SqliteStore, SaysWhatIsWrongWithStatements) {
  Rows rows;
  const auto fails_with = [&](const char* sql, Parameters parameters, const char* expected,
                              ErrorKind kind = ErrorKind::permanent) {
    auto transaction = session_->begin();
    try {
      transaction->statements().execute(sql, parameters, 1);
      ADD_FAILURE() << sql;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string{error.what()}.find(expected), std::string::npos) << error.what();
    }
  };
  fails_with("UPDATE account SET balance = 1 WHERE id = :id", {{"id", std::string{"x"}}},
             "expected 1 row, changed 0: UPDATE account");
  fails_with("UPDATE account SET balance = :amount", {{"id", Null{}}}, ":amount");
  fails_with("UPDATE account SET balance = ?", {}, "has no name");
  fails_with("SELECT 1; SELECT 2", {}, "more than one statement");
  fails_with(" -- nothing", {}, "no statement");
  // What no event can mend stops the consumer instead of setting every event aside.
  fails_with("SELECT balance FROM acount", {}, "no such table: acount",
             ErrorKind::bad_configuration);
  fails_with("SELEC 1", {}, "syntax error", ErrorKind::bad_configuration);
  auto transaction = session_->begin();
  transaction->statements().execute("UPDATE account SET balance = 1; -- done\n /* */ ", {}, 1);
}

TEST_F(SqliteStore, ATableThatGoesAwayStopsTheConsumerAndBlamesNobody) {
  EXPECT_EQ(session_->begin()->statements().change(credit, {}), 1);
  as_another_program("ALTER TABLE account RENAME TO gone");
  // Prepared already, so that SQLite finds out when it runs.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto transaction = session_->begin();
    try {
      transaction->statements().execute(credit, {}, 1);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      EXPECT_NE(std::string{error.what()}.find("no such table: account"), std::string::npos);
    }
  }
  as_another_program("ALTER TABLE gone RENAME TO account");
  EXPECT_EQ(session_->begin()->statements().change(credit, {}), 1);
}

TEST_F(SqliteStore, AStatementThatCanBePreparedIsToBlameForItsFailure) {
  const auto transaction = session_->begin();
  transaction->savepoint();
  try {
    transaction->statements().query("SELECT abs(balance - 100 + :least) FROM account",
                                    {{"least", std::int64_t{INT64_MIN}}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_NE(std::string{error.what()}.find("integer overflow"), std::string::npos);
  }
  transaction->rollback_to_savepoint();
  EXPECT_EQ(transaction->statements().change(credit, {}), 1);
}

TEST_F(SqliteStore, NotANumberIsRefusedInsteadOfStoredAsNull) {
  const auto transaction = session_->begin();
  transaction->savepoint();
  const char* const sql = "SELECT :rate, :more";
  try {
    transaction->statements().query(sql, {{"more", 1.0}, {"rate", std::nan("")}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_NE(std::string{error.what()}.find(":rate"), std::string::npos) << error.what();
  }
  transaction->rollback_to_savepoint();
  const double most = std::numeric_limits<double>::infinity();
  EXPECT_EQ(transaction->statements().query(sql, {{"more", 1.0}, {"rate", most}}),
            (Rows{{most, 1.0}}));
}

TEST_F(SqliteStore, ValuesComeBackAsTheyWent) {
  auto transaction = session_->begin();
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{255}};
  const std::string text{"a\0b", 3};
  const Rows rows =
      transaction->statements().query("SELECT :null, :integer, :real, :yes, :text, :bytes, :empty",
                                      {{"unused", Null{}},
                                       {"null", Null{}},
                                       {"integer", std::int64_t{INT64_MIN}},
                                       {"real", 0.1},
                                       {"yes", true},
                                       {"text", text},
                                       {"bytes", bytes},
                                       {"empty", std::vector<std::byte>{}}});
  const std::vector<Value> expected{Null{}, std::int64_t{INT64_MIN}, 0.1, std::int64_t{1}, text,
                                    bytes,  std::vector<std::byte>{}};
  EXPECT_EQ(rows.at(0), expected);
}

TEST_F(SqliteStore, CountsTheRowsOfThisStatementOnly) {
  auto transaction = session_->begin();
  Statements& sql = transaction->statements();
  EXPECT_EQ(sql.change(credit, {}), 1);
  EXPECT_EQ(sql.change("SELECT 1", {}), 0);
  EXPECT_EQ(sql.query("UPDATE account SET balance = 5 RETURNING balance", {}).size(), 1U);
}

TEST_F(SqliteStore, UnfinishedStatementsOfHandlersDoNotStopACommit) {
  auto transaction = session_->begin();
  sqlite3_stmt* left = nullptr;
  ASSERT_EQ(
      sqlite3_prepare_v2(sqlite::connection(*transaction),
                         "UPDATE account SET balance = 7 RETURNING balance", -1, &left, nullptr),
      SQLITE_OK);
  ASSERT_EQ(sqlite3_step(left), SQLITE_ROW);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(balance(), 7);
  sqlite3_finalize(left);
}

TEST_F(SqliteStore, DeferredForeignKeysAreSettledAtTheEndOfEachEvent) {
  as_another_program(entry_table);
  auto transaction = session_->begin();
  Statements& sql = transaction->statements();
  transaction->savepoint();
  sql.execute("INSERT INTO entry VALUES ('b')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::permanent);
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  sql.execute("INSERT INTO entry VALUES ('b')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::permanent);
}

TEST_F(SqliteStore, NoEventRescuesTheDeferredForeignKeyOfAnother) {
  as_another_program(entry_table);
  auto transaction = session_->begin();
  Statements& sql = transaction->statements();
  // In one event, in any order.
  sql.execute("INSERT INTO entry VALUES ('b')", {});
  sql.execute("INSERT INTO account VALUES ('b', 0)", {});
  EXPECT_NO_THROW(transaction->verify());
  sql.execute("INSERT INTO entry VALUES ('c')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->verify(); }), ErrorKind::permanent);
  EXPECT_EQ(kind_thrown_by([&] { sql.execute("INSERT INTO account VALUES ('c', 0)", {}); }),
            ErrorKind::permanent);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::permanent);
}

TEST_F(SqliteStore, CountingAndListingSortNothing) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(options().path.c_str(), &raw), SQLITE_OK);
  for (const char* sql : {inbox_counts_sql, deferred_counts_sql, inbox_scan_sql}) {
    sqlite3_stmt* plan = nullptr;
    const std::string explain = std::string{"EXPLAIN QUERY PLAN "} + sql;
    ASSERT_EQ(sqlite3_prepare_v2(raw, explain.c_str(), -1, &plan, nullptr), SQLITE_OK);
    std::string text;
    while (sqlite3_step(plan) == SQLITE_ROW) {
      text += std::string{reinterpret_cast<const char*>(sqlite3_column_text(plan, 3))} + "\n";
    }
    sqlite3_finalize(plan);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << text;
    if (sql == inbox_counts_sql) {
      EXPECT_NE(text.find("SEARCH i USING PRIMARY KEY (scope=?)"), std::string::npos) << text;
    }
    if (sql == inbox_scan_sql) {
      EXPECT_NE(text.find("USING PRIMARY KEY (scope=? AND key>?)"), std::string::npos) << text;
    }
  }
  sqlite3_close(raw);
}

TEST_F(SqliteStore, ScopesAreFewAndStay) {
  EXPECT_EQ(session_->scope({consumer_, "", "shop", "uuid"}), scope_);
  const auto second = session_->scope({consumer_, "", "web", "uuid"});
  EXPECT_NE(second, scope_);
  EXPECT_TRUE(session_->scope({consumer_, "", "desk", "uuid"}).has_value());
  EXPECT_FALSE(session_->scope({consumer_, "", "late", "uuid"}).has_value());
  EXPECT_TRUE(session_->scope({consumer_, "", "shop", "hashed"}).has_value());
  EXPECT_TRUE(session_->scope({consumer_, "", "*", "source+hashed", true}).has_value());
  EXPECT_EQ(session_->scope({consumer_, "", "web", "uuid"}), second);
}

TEST_F(SqliteStore, PositionsAreUnsignedAndNeverGoBack) {
  const auto partition = std::make_shared<const Partition>(Partition{"orders", "i", ""});
  const auto advance = [&](Offset next) {
    auto transaction = session_->begin();
    const std::vector<Position> positions{{partition, {}, next}};
    transaction->ledger().advance(consumer_, positions);
    ASSERT_EQ(transaction->commit(), CommitResult::committed);
  };
  const auto stored = [&] { return session_->positions(consumer_, "orders").at(0).next; };
  advance({0, INT64_MAX});
  advance({0, UINT64_MAX});
  EXPECT_EQ(stored(), (Offset{0, UINT64_MAX}));
  advance({0, 5});
  EXPECT_EQ(stored(), (Offset{0, UINT64_MAX}));
  advance({UINT64_MAX, 0});
  advance({1, UINT64_MAX});
  EXPECT_EQ(stored(), (Offset{UINT64_MAX, 0}));
}

TEST_F(SqliteStore, DeferredRowsKeepHeadersThatAreNotText) {
  Delivery delivery;
  delivery.event.headers = {{"a", "x"}, {"a", "\xff\x01"}};
  delivery.raw = std::string{"\0\xfe", 2};
  const std::vector<std::string> errors{"first", "second"};
  auto transaction = session_->begin();
  Deferral deferral;
  deferral.key = evidence(1).key;
  deferral.consumer = consumer_;
  deferral.source = "orders";
  deferral.delivery = &delivery;
  deferral.reason = DeferralReason::conflict;
  deferral.errors = errors;
  transaction->ledger().defer(std::vector{deferral, deferral});
  ASSERT_EQ(transaction->commit(), CommitResult::committed);
  DeferredFilter filter;
  filter.reason = "conflict";
  const auto records = store_->records()->deferred(filter);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].count, 2);
  EXPECT_EQ(records[0].event.headers, delivery.event.headers);
  EXPECT_EQ(records[0].raw, delivery.raw);
  EXPECT_EQ(records[0].errors, errors);
}

TEST_F(SqliteStore, OptimisticRecordMeetsARival) {
  session_->begin()->ledger().claim(std::vector{evidence(1)}, ClaimMode::optimistic);
  auto transaction = session_->begin();
  transaction->ledger().record(std::vector{evidence(1)}, ClaimMode::optimistic);
  EXPECT_EQ(kind_thrown_by([&] {
              transaction->ledger().record(std::vector{evidence(1)}, ClaimMode::optimistic);
            }),
            ErrorKind::contention);
}

TEST_F(SqliteStore, MigrationsRefuseAnotherSchema) {
  auto housekeeping = store_->housekeeping();
  const auto again = housekeeping->migrate();
  ASSERT_EQ(again.size(), 3U);
  for (const Migration& each : again) EXPECT_FALSE(each.applied_now) << each.name;
  housekeeping->check_schema();
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(options().path.c_str(), &raw), SQLITE_OK);
  sqlite3_exec(raw, "UPDATE onefold_migration SET checksum = '0'", nullptr, nullptr, nullptr);
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->check_schema(); }), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->migrate(); }), ErrorKind::bad_configuration);
  sqlite3_exec(raw, "DELETE FROM onefold_migration", nullptr, nullptr, nullptr);
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->check_schema(); }), ErrorKind::bad_configuration);
  sqlite3_close(raw);
}

TEST_F(SqliteStore, RefusesWhatIsNoDatabase) {
  const fs::path text = directory_ / "text.db";
  std::ofstream{text} << std::string(5000, 'x');
  sqlite::Options wrong = options();
  wrong.path = text.string();
  EXPECT_EQ(kind_thrown_by([&] { sqlite::open_store(wrong); }), ErrorKind::bad_configuration);
  wrong.path = (directory_ / "missing" / "shop.db").string();
  EXPECT_EQ(kind_thrown_by([&] { sqlite::open_store(wrong); }), ErrorKind::bad_configuration);
  wrong.path = "";
  EXPECT_EQ(kind_thrown_by([&] { sqlite::open_store(wrong); }), ErrorKind::bad_configuration);
}

TEST_F(SqliteStore, WhatIsPendingCanBeAppliedByHand) {
  const std::string path = (directory_ / "by_hand.db").string();
  const auto store = open_store({.path = path});
  const auto housekeeping = store->housekeeping();
  const auto pending = housekeeping->pending();
  ASSERT_EQ(pending.size(), 3U);
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->check_schema(); }), ErrorKind::bad_configuration);
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  for (const Migration& each : pending) {
    EXPECT_EQ(sqlite3_exec(raw, each.sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw);
  }
  sqlite3_close(raw);
  EXPECT_NO_THROW(housekeeping->check_schema());
  EXPECT_TRUE(housekeeping->pending().empty());
  for (const Migration& each : housekeeping->migrate()) EXPECT_FALSE(each.applied_now);
}

TEST_F(SqliteStore, WhatWasSetAsideByAnEarlierVersionIsKept) {
  const std::string path = (directory_ / "earlier.db").string();
  const auto store = open_store({.path = path});
  const auto pending = store->housekeeping()->pending();
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  const auto run = [&](const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw);
  };
  run(pending.at(0).sql);
  run(pending.at(1).sql);
  run("INSERT INTO onefold_consumer VALUES (1, 'billing', '', 'claim-first', 0, NULL)");
  for (const char* id : {"41", "42"}) {
    run(std::string{"INSERT INTO onefold_deferred (id, scope, key, fingerprint, consumer, reason, "
                    "handler, errors, attempts, count, source, event_id, event_source, event_type, "
                    "event_subject, content_type, headers, raw, first_at, last_at) VALUES ("} +
        id + ", 1, x'0" + id[1] +
        "', x'02', 1, 'dead', 'credit', '[\"why\"]', 3, 2, 'orders', 'e1', "
        "'shop', 'paid', '', '', '[]', x'00ff', 5, 6)");
  }
  run("DELETE FROM onefold_deferred WHERE id = 42");
  for (const Migration& each : store->housekeeping()->migrate()) {
    EXPECT_EQ(each.applied_now, each.version == 3);
  }
  const auto rows = store->records()->deferred({});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.at(0).id, 41);
  EXPECT_EQ(rows.at(0).raw, std::string("\0\xff", 2));
  EXPECT_EQ(rows.at(0).errors, std::vector<std::string>{"why"});
  EXPECT_EQ(rows.at(0).count, 2);
  EXPECT_FALSE(rows.at(0).decoded) << "its data is not known: it is read anew";
  run("INSERT INTO onefold_deferred (scope, key, fingerprint, consumer, reason, failure, handler, "
      "errors, attempts, turn, source, event_id, event_source, event_type, event_subject, "
      "content_type, headers, first_at, last_at, decoded, raw) VALUES (1, x'05', x'02', 1, "
      "'retry', "
      "'', '', '[]', 0, 0, '', '', '', '', '', '', '[]', 0, 0, 1, x'')");
  EXPECT_EQ(sqlite3_last_insert_rowid(raw), 43) << "numbers are not used again";
  sqlite3_close(raw);
}

TEST_F(SqliteStore, AnExaminationSaysWhichStatementsCannotWork) {
  const std::vector<std::string> statements{std::string{credit}, "UPDATE nowhere SET a = 1"};
  const auto findings = store_->housekeeping()->examine(statements);
  const auto found = std::ranges::find(findings, "statements", &Finding::topic);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, Finding::Severity::failure);
  EXPECT_NE(found->text.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace onefold::sqlite
