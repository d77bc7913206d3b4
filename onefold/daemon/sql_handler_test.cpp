#include "onefold/daemon/sql_handler.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onefold/daemon/sql_text.h"
#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold {
namespace {

constexpr const char* tables =
    "CREATE TABLE t (id TEXT PRIMARY KEY, a, b, c);"
    "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER CHECK (balance >= 0));"
    "INSERT INTO account VALUES (7, 10);";

/// Handlers on a real database: what they write is read back inside their transaction.
class SqlHandlerTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "sql_handler_" +
            testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
    for (const char* end : {"", "-wal", "-shm", ".onefold-lock"}) {
      std::filesystem::remove(path_ + end);
    }
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, tables, nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
    sqlite::Options options;
    options.path = path_;
    store_ = sqlite::open_store(options);
    store_->housekeeping()->migrate();
    session_ = store_->connect();
    transaction_ = session_->begin();
  }

  static HandlerConfig config(const std::string& sql, std::vector<std::string> used,
                              std::vector<ParameterConfig> parameters) {
    HandlerConfig handler;
    handler.name = "credit";
    handler.type = "*";
    handler.parameters = std::move(parameters);
    handler.statements.push_back({sql, std::move(used), std::nullopt, {}});
    return handler;
  }

  static Event event(std::optional<std::string> data) {
    Event event;
    event.id = "evt_1";
    event.source = "shop";
    event.type = "payment.received";
    event.data = std::move(data);
    return event;
  }

  Answer run(const HandlerConfig& handler, const Event& event) {
    Context context{*transaction_};
    const Answer answer = sql_handler(handler).handle(event, context);
    touched_ = context.touched();
    return answer;
  }

  Rows query(const std::string& sql) { return transaction_->statements().query(sql, {}); }

  std::string path_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Transaction> transaction_;
  bool touched_ = false;
};

TEST_F(SqlHandlerTest, BindsTypedParametersAndNoNumberPassesThroughADouble) {
  const HandlerConfig handler =
      config("INSERT INTO t VALUES (:event_id, :a, :b, :c)", {"event_id", "a", "b", "c"},
             {{"a", "/n", FieldType::int64, true},
              {"b", "/d", FieldType::decimal, true},
              {"c", "/none", FieldType::text, false}});
  const Answer answer = run(handler, event(R"({"n": 9007199254740993, "d": 10.10, "none": null})"));
  EXPECT_EQ(answer.kind, Answer::Kind::done);
  const Rows rows = query("SELECT id, a, b, c, typeof(b) FROM t");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][0], Value{std::string{"evt_1"}});
  EXPECT_EQ(rows[0][1], Value{std::int64_t{9007199254740993}});
  EXPECT_EQ(rows[0][2], Value{std::string{"10.10"}});
  EXPECT_EQ(rows[0][3], Value{Null{}});
  EXPECT_EQ(rows[0][4], Value{std::string{"text"}});
}

TEST_F(SqlHandlerTest, BuiltInParametersComeFromTheEvent) {
  const HandlerConfig handler = config(
      "INSERT INTO t VALUES (:event_source || :event_type, :event_subject, :event_time, "
      ":data)",
      {"event_source", "event_type", "event_subject", "event_time", "data"}, {});
  Event full = event(R"({"x":1})");
  full.subject = "order 5";
  full.time = parse_rfc3339("2026-11-30T15:00:00+01:00");
  run(handler, full);
  Rows rows = query("SELECT * FROM t");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][0], Value{std::string{"shoppayment.received"}});
  EXPECT_EQ(rows[0][1], Value{std::string{"order 5"}});
  EXPECT_EQ(rows[0][2], Value{std::string{"2026-11-30T14:00:00Z"}});
  EXPECT_EQ(rows[0][3], Value{std::string{R"({"x":1})"}});
  query("DELETE FROM t");
  run(handler, event(std::nullopt));
  rows = query("SELECT a, b, c FROM t");
  EXPECT_EQ(rows.at(0), (std::vector<Value>{Null{}, Null{}, Null{}}));
}

TEST_F(SqlHandlerTest, TimesLoseTheirZoneWhereADatabaseHasNone) {
  HandlerConfig handler = config("INSERT INTO t VALUES (:event_id, :event_time, :paid, NULL)",
                                 {"event_id", "event_time", "paid"},
                                 {{.name = "paid", .at = "/paid", .type = FieldType::timestamp}});
  Event paid = event(R"({"paid": "2026-11-30T15:00:00.5+01:00"})");
  paid.time = Timestamp{std::chrono::seconds{1}};
  for (const bool without_zone : {false, true}) {
    handler.times_without_zone = without_zone;
    paid.id = without_zone ? "without" : "with";
    ASSERT_EQ(run(handler, paid).kind, Answer::Kind::done);
  }
  EXPECT_EQ(query("SELECT a, b FROM t WHERE id = 'with'"),
            (Rows{{"1970-01-01T00:00:01Z", "2026-11-30T14:00:00.500000Z"}}));
  EXPECT_EQ(query("SELECT a, b FROM t WHERE id = 'without'"),
            (Rows{{"1970-01-01T00:00:01", "2026-11-30T14:00:00.500000"}}));
}

TEST_F(SqlHandlerTest, DataThatIsNoTextIsBoundAsBytes) {
  const HandlerConfig handler = config("INSERT INTO t (id, a) VALUES ('x', :data)", {"data"}, {});
  Event binary = event(std::string{"\x00\xff", 2});
  binary.content_type = "application/octet-stream";
  run(handler, binary);
  const Rows rows = query("SELECT typeof(a), hex(a) FROM t");
  EXPECT_EQ(rows.at(0), (std::vector<Value>{std::string{"blob"}, std::string{"00FF"}}));
}

TEST_F(SqlHandlerTest, WhatCannotBeReadIsRejectedBeforeTheDatabaseIsTouched) {
  const HandlerConfig handler =
      config("INSERT INTO t (id, a) VALUES (:event_id, :amount)", {"event_id", "amount"},
             {{"amount", "/order/amount", FieldType::int64, true}});
  for (const char* data : {R"({})", R"({"order":{"amount":null}})", R"({"order":{"amount":"5"}})",
                           R"({"order":{"amount":1.0}})", R"({"order":{"amount":9e99}})",
                           R"({"order":{"amount":9223372036854775808}})"}) {
    const Answer answer = run(handler, event(data));
    EXPECT_EQ(answer.kind, Answer::Kind::reject) << data;
    EXPECT_EQ(answer.failure, FailureClass::data) << data;
    EXPECT_FALSE(touched_) << data;
    EXPECT_NE(answer.note.find("parameter :amount: "), std::string::npos) << answer.note;
    EXPECT_NE(answer.note.find("/order/amount"), std::string::npos) << answer.note;
  }
  EXPECT_TRUE(query("SELECT * FROM t").empty());
}

TEST_F(SqlHandlerTest, DataThatIsNotJsonIsRejectedWithItsReason) {
  const HandlerConfig handler = config("INSERT INTO t (id, a) VALUES (:event_id, :a)",
                                       {"event_id", "a"}, {{"a", "/a", FieldType::json, true}});
  EXPECT_NE(run(handler, event("{\"a\":1,\"a\":2}")).note.find("DUPLICATE_KEY"), std::string::npos);
  EXPECT_NE(run(handler, event(std::nullopt)).note.find("no data"), std::string::npos);
  Event text = event("hello");
  text.content_type = "text/plain";
  EXPECT_NE(run(handler, text).note.find("text/plain"), std::string::npos);
  EXPECT_TRUE(query("SELECT * FROM t").empty());
}

TEST_F(SqlHandlerTest, AnUnmetRowCountNamesHandlerAndStatement) {
  HandlerConfig handler = config("INSERT INTO t (id) VALUES (:event_id)", {"event_id"},
                                 {{"account", "/account", FieldType::int64, true}});
  handler.statements.push_back(
      {"UPDATE account SET balance = balance - 1 WHERE id = :account", {"account"}, 1, {}});
  EXPECT_EQ(run(handler, event(R"({"account": 7})")).kind, Answer::Kind::done);
  query("DELETE FROM t");
  try {
    run(handler, event(R"({"account": 8})"));
    FAIL() << "no account 8";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_EQ(error.failure(), FailureClass::rows);
    const std::string text = error.what();
    EXPECT_NE(text.find("statement 2: "), std::string::npos) << text;
    EXPECT_NE(text.find("UPDATE account"), std::string::npos) << text;
  }
}

TEST_F(SqlHandlerTest, AConstraintIsTheEventsFailureAndTellsNoData) {
  const HandlerConfig handler = config("UPDATE account SET balance = balance - :n WHERE id = 7",
                                       {"n"}, {{"n", "/n", FieldType::int64, true}});
  try {
    run(handler, event(R"({"n": 987654})"));
    FAIL() << "the balance cannot be negative";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
    EXPECT_EQ(error.failure(), FailureClass::constraint);
    const std::string text = error.what();
    EXPECT_NE(text.find("statement 1: "), std::string::npos) << text;
    EXPECT_EQ(text.find("987654"), std::string::npos) << text;
  }
}

TEST_F(SqlHandlerTest, TheParserIsReusedWithoutLeftovers) {
  const HandlerConfig handler =
      config("INSERT INTO t (id, a) VALUES (:id, :a)", {"id", "a"},
             {{"id", "/id", FieldType::text, true}, {"a", "/a", FieldType::text, false}});
  const HandlerSpec spec = sql_handler(handler);
  Context context{*transaction_};
  spec.handle(event(R"({"id":"1","a":"long enough to need its own memory"})"), context);
  spec.handle(event(R"({"id":"2"})"), context);
  const Rows rows = query("SELECT id, a FROM t ORDER BY id");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1], (std::vector<Value>{std::string{"2"}, Null{}}));
}

/// Evidence of the effect.
class SqlResultTest : public SqlHandlerTest {
 protected:
  /// A handler with one statement that returns a row.
  static HandlerConfig returning(const std::string& sql, const std::string& columns,
                                 std::vector<ResultField> result) {
    const std::string whole = sql + " RETURNING " + columns;
    HandlerConfig handler =
        config(whole, {"account"}, {{"account", "/account", FieldType::int64, true}});
    handler.statements.back().returning = read_sql(whole).returning;
    handler.result = std::move(result);
    return handler;
  }
  std::string result(const HandlerConfig& handler, const char* data = R"({"account": 7})") {
    const Answer answer = run(handler, event(data));
    EXPECT_EQ(answer.kind, Answer::Kind::done) << answer.note;
    return answer.note;
  }
};

TEST_F(SqlResultTest, HoldsParametersExactly) {
  HandlerConfig handler = config("DELETE FROM t", {},
                                 {{"n", "/n", FieldType::int64, true},
                                  {"d", "/d", FieldType::decimal, true},
                                  {"r", "/r", FieldType::real, true},
                                  {"b", "/b", FieldType::boolean, true},
                                  {"t", "/t", FieldType::text, true},
                                  {"j", "/j", FieldType::json, true},
                                  {"x", "/x", FieldType::bytes, true},
                                  {"none", "/none", FieldType::text, false}});
  for (const char* name : {"n", "d", "r", "b", "t", "j", "x", "none", "event_id"}) {
    handler.result.push_back({.name = name, .parameter = name});
  }
  EXPECT_EQ(
      result(handler, R"({"n": 9223372036854775807, "d": 0.1000000000000000055511151, "r": 0.1,
                                "b": true, "t": "\"\u00e4\n", "j": {"a": 1.10}, "x": "AP8="})"),
      R"({"n":9223372036854775807,"d":"0.1000000000000000055511151","r":0.1,"b":true,)"
      R"("t":"\"ä\n","j":{"a": 1.10},"x":"00ff","none":null,"event_id":"evt_1"})");
}

TEST_F(SqlResultTest, HoldsColumnsOfTheReturnedRow) {
  const HandlerConfig handler = returning(
      "UPDATE account SET balance = balance + 9007199254740983 WHERE id = :account",
      "id, balance AS after, 'a' || id AS text, NULL AS none, x'0aff' AS bytes, 0.1 AS real",
      {{.name = "account", .parameter = "account"},
       {.name = "after", .column = 1},
       {.name = "text", .column = 2},
       {.name = "none", .column = 3},
       {.name = "bytes", .column = 4},
       {.name = "real", .column = 5}});
  EXPECT_EQ(result(handler), R"({"account":7,"after":9007199254740993,"text":"a7","none":null,)"
                             R"("bytes":"0aff","real":0.1})");
  EXPECT_EQ(query("SELECT balance FROM account").at(0).at(0),
            Value{std::int64_t{9007199254740993}});
}

TEST_F(SqlResultTest, NeedsExactlyOneRow) {
  const HandlerConfig handler = returning("UPDATE account SET balance = 1 WHERE id = :account",
                                          "balance", {{.name = "balance", .column = 0}});
  query("INSERT INTO account VALUES (8, 10)");
  for (const char* data : {R"({"account": 9})", R"({"account": 7})"}) {
    HandlerConfig each = handler;
    const bool none = std::string_view{data}.find('9') != std::string_view::npos;
    if (!none) {
      each.statements.back().sql = "UPDATE account SET balance = 1 RETURNING balance";
      each.statements.back().parameters.clear();
    }
    try {
      run(each, event(data));
      FAIL() << data;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::permanent);
      EXPECT_NE(std::string{error.what()}.find(
                    none ? "statement 1: expected 1 row for the result, got 0" : "got 2"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST_F(SqlResultTest, WhatJsonCannotHoldIsTheEventsFailure) {
  for (const char* expression :
       {"9e999", "-9e999", "CAST(x'ff' AS TEXT)", "CAST(zeroblob(40000) AS BLOB)"}) {
    const HandlerConfig handler =
        returning("UPDATE account SET balance = 1 WHERE id = :account",
                  std::string{expression} + " AS odd", {{.name = "odd", .column = 0}});
    try {
      run(handler, event(R"({"account": 7})"));
      FAIL() << expression;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::permanent);
      EXPECT_NE(std::string{error.what()}.find("result \"odd\": "), std::string::npos);
    }
  }
}

TEST_F(SqlResultTest, AnotherNumberOfColumnsStopsTheConsumer) {
  HandlerConfig handler = returning("UPDATE account SET balance = 1 WHERE id = :account",
                                    "id, balance", {{.name = "balance", .column = 1}});
  handler.statements.back().returning = {"id", "balance", "more"};
  try {
    run(handler, event(R"({"account": 7})"));
    FAIL() << "the row has two columns";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
  }
}

TEST(SqlConsumer, CarriesAllThatIsConfigured) {
  ConsumerConfig config;
  config.name = "billing";
  config.batch_max = 7;
  config.retry.attempts = 7;
  config.order = OrderRule{.entity = "/a"};
  config.unsupported = Unsupported::ignore;
  config.claim = ClaimMode::optimistic;
  config.scope = Scope::handler;
  config.keys = {{"payment", {"/payment_id"}}};
  config.fingerprint = {FingerprintRule::Kind::bytes, {}};
  HandlerConfig handler;
  handler.keys = {{"order", {"/order_id"}}};
  handler.name = "credit";
  handler.type = "payment.*";
  handler.version = 4;
  handler.entity = "/account";
  config.handlers = {handler};
  const Consumer consumer = sql_consumer(config);
  EXPECT_EQ(consumer.name, "billing");
  EXPECT_EQ(consumer.batch_max, 7U);
  EXPECT_EQ(consumer.retry.attempts, 7);
  EXPECT_EQ(consumer.order->entity, "/a");
  EXPECT_EQ(consumer.unsupported, Unsupported::ignore);
  EXPECT_EQ(consumer.claim, ClaimMode::optimistic);
  EXPECT_EQ(consumer.scope, Scope::handler);
  ASSERT_EQ(consumer.keys.size(), 1U);
  EXPECT_EQ(consumer.keys[0].rule, "payment");
  EXPECT_EQ(consumer.fingerprint.kind, FingerprintRule::Kind::bytes);
  ASSERT_EQ(consumer.handlers.size(), 1U);
  ASSERT_EQ(consumer.handlers[0].keys.size(), 1U);
  EXPECT_EQ(consumer.handlers[0].keys[0].rule, "order");
  EXPECT_EQ(consumer.handlers[0].name, "credit");
  EXPECT_EQ(consumer.handlers[0].type, "payment.*");
  EXPECT_EQ(consumer.handlers[0].version, 4);
  EXPECT_EQ(consumer.handlers[0].entity, "/account");
}

}  // namespace
}  // namespace onefold
