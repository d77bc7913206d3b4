#include "onefold/stores/sqlite/sqlite.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "onefold/error.h"
#include "onefold/housekeeping.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

/// A database in a directory of its own, with one business table and one consumer.
class SqliteStore : public testing::Test {
 public:
  SqliteStore() {
    std::string pattern = (fs::temp_directory_path() / "onefold-sqlite-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    store_ = sqlite::open_store(options());
    store_->housekeeping()->migrate();
    consumer_ = store_->housekeeping()->adopt({.name = "billing", .rules = ""}, {});
    session_ = store_->connect();
    scope_ = session_->scope({consumer_, "", "shop", "uuid"}).value();
    const auto transaction = session_->begin();
    Statements& sql = transaction->statements();
    sql.execute("CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL)", {});
    sql.execute("INSERT INTO account VALUES ('a', 100)", {});
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  ~SqliteStore() override {
    session_.reset();
    store_.reset();
    fs::remove_all(directory_);
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

 protected:
  sqlite::Options options() const {
    return {.path = (directory_ / "shop.db").string(),
            .busy_timeout = std::chrono::milliseconds{20},
            .event_sources_max = 3};
  }
  std::int64_t balance() {
    const Rows rows = session_->begin()->statements().query("SELECT balance FROM account", {});
    return std::get<std::int64_t>(rows.at(0).at(0));
  }
  Evidence evidence(std::uint8_t number) const {
    Evidence one;
    one.key.scope = scope_;
    one.key.bytes.back() = number;
    one.event_source = "shop";
    one.event_id = "evt_1";
    one.recorded_at = Timestamp{std::chrono::microseconds{1000}};
    return one;
  }
  bool is_claimed(std::uint8_t number) {
    return store_->housekeeping()->evidence(evidence(number).key).has_value();
  }

  fs::path directory_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  ConsumerId consumer_ = 0;
  std::int32_t scope_ = 0;
};

template <class Work>
ErrorKind kind_thrown_by(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::bad_configuration;
}

constexpr const char* credit = "UPDATE account SET balance = balance + 10 WHERE id = 'a'";

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
       {"COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT a", "RELEASE onefold_event",
        "PRAGMA user_version", "ATTACH ':memory:' AS other", "DELETE FROM onefold_inbox",
        "DROP TABLE onefold_audit", "CREATE TEMP TABLE onefold_inbox (a)",
        "CREATE TRIGGER t AFTER INSERT ON onefold_inbox BEGIN SELECT 1; END"}) {
    auto transaction = session_->begin();
    transaction->savepoint();
    transaction->statements().execute(credit, {});
    sqlite3* const raw = sqlite::connection(*transaction);
    EXPECT_EQ(sqlite3_exec(raw, forbidden, nullptr, nullptr, nullptr), SQLITE_AUTH) << forbidden;
    EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::contract_violation);
    EXPECT_EQ(kind_thrown_by([&] { transaction->rollback_to_savepoint(); }),
              ErrorKind::contract_violation);
    EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
    transaction.reset();
    EXPECT_EQ(balance(), 100) << forbidden;
  }
}

TEST_F(SqliteStore, B02_TheSameThroughStatements) {
  const auto transaction = session_->begin();
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute("COMMIT", {}); }),
            ErrorKind::contract_violation);
  EXPECT_EQ(kind_thrown_by([&] { transaction->statements().execute(credit, {}); }),
            ErrorKind::contract_violation);
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
  EXPECT_EQ(sqlite::open_store(by_link)->housekeeping()->status().size(), 1U);
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
  EXPECT_EQ(sql.change("CREATE TABLE other (a)", {}), 0);
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
  auto transaction = session_->begin();
  Statements& sql = transaction->statements();
  sql.execute("CREATE TABLE entry (account TEXT REFERENCES account DEFERRABLE INITIALLY DEFERRED)",
              {});
  transaction->savepoint();
  sql.execute("INSERT INTO entry VALUES ('b')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::permanent);
  transaction->rollback_to_savepoint();
  sql.execute("INSERT INTO entry VALUES ('b')", {});
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::permanent);
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
  const auto records = store_->housekeeping()->deferred(filter);
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
  ASSERT_EQ(again.size(), 1U);
  EXPECT_FALSE(again[0].applied_now);
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

}  // namespace
}  // namespace onefold
