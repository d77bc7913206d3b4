#include <cmath>
#include <limits>

#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

class PostgresStatements : public PostgresStore {
 protected:
  Value value(std::string_view sql, Parameters parameters = {}) {
    return session_->begin()->statements().query(sql, parameters).at(0).at(0);
  }
  std::optional<ErrorKind> kind_of(std::string_view sql, Parameters parameters = {}) {
    const auto transaction = session_->begin();
    return kind_thrown_by([&] { transaction->statements().query(sql, parameters); });
  }
};

TEST_F(PostgresStatements, ValuesComeBackAsTheyWent) {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{255}, std::byte{39}};
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(value("SELECT :v::int8", {{"v", most}}), Value{most});
  EXPECT_EQ(value("SELECT :v::float8", {{"v", 0.1}}), Value{0.1});
  EXPECT_EQ(value("SELECT :v::bool", {{"v", true}}), Value{true});
  EXPECT_EQ(value("SELECT :v", {{"v", std::string{"é'\\"}}}), Value{std::string{"é'\\"}});
  EXPECT_EQ(value("SELECT :v", {{"v", bytes}}), Value{bytes});
  EXPECT_EQ(value("SELECT :v::int8", {{"v", Null{}}}), Value{Null{}});
  EXPECT_EQ(value("SELECT 7::int2"), Value{std::int64_t{7}});
  EXPECT_EQ(value("SELECT 1.5::float4"), Value{1.5});
}

TEST_F(PostgresStatements, TheServerInfersDecimalsTimesAndTheLike) {
  EXPECT_EQ(value("SELECT :v::numeric(12,2) + 1", {{"v", std::string{"12345678.90"}}}),
            Value{std::string{"12345679.90"}});
  EXPECT_EQ(value("SELECT :v::timestamptz", {{"v", std::string{"2026-11-30T14:00:00+02:00"}}}),
            Value{std::string{"2026-11-30 12:00:00+00"}});
  EXPECT_EQ(value("SELECT :v::jsonb ->> 'a'", {{"v", std::string{R"({"a": "b"})"}}}),
            Value{std::string{"b"}});
  EXPECT_EQ(value("SELECT 1 WHERE :amount > 100", {{"amount", std::int64_t{3'000'000'000}}}),
            Value{std::int64_t{1}});
  plain().execute("CREATE TABLE typed (small int, exact numeric(10, 2), at timestamptz)");
  const auto transaction = session_->begin();
  transaction->statements().execute(
      "INSERT INTO typed VALUES (:small, :exact, :at)",
      {{"small", std::int64_t{5}}, {"exact", std::string{"1.25"}}, {"at", std::string{"now"}}}, 1);
  transaction->statements().execute("INSERT INTO typed VALUES (:small, :exact, :at)",
                                    {{"small", Null{}}, {"exact", Null{}}, {"at", Null{}}}, 1);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(plain().value("SELECT exact FROM typed WHERE small = 5"), "1.25");
}

TEST_F(PostgresStatements, AFailureSaysWhatKindOfThingHasFailed) {
  using enum FailureClass;
  const auto class_of = [&](std::string_view sql, Parameters parameters = {},
                            std::optional<std::int64_t> expected_rows = {}) {
    const auto transaction = session_->begin();
    try {
      transaction->statements().execute(sql, parameters, expected_rows);
      transaction->savepoint();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::permanent) << error.what();
      return error.failure();
    }
    ADD_FAILURE() << sql;
    return rejected;
  };
  EXPECT_EQ(class_of("INSERT INTO account VALUES ('a', 1)"), constraint);
  EXPECT_EQ(class_of("INSERT INTO account VALUES ('c', -1)"), constraint);
  EXPECT_EQ(class_of("INSERT INTO account VALUES ('c', NULL)"), constraint);
  EXPECT_EQ(class_of("UPDATE account SET balance = 1 / (balance - balance)"), data);
  EXPECT_EQ(class_of("UPDATE account SET balance = :b", {{"b", std::string{"ten"}}}), data);
  EXPECT_EQ(class_of("UPDATE account SET id = :i", {{"i", std::string{"a\0b", 3}}}), data);
  EXPECT_EQ(class_of("UPDATE account SET balance = 1 WHERE id = 'z'", {}, 1), rows);
  EXPECT_EQ(class_of("DO $$ BEGIN RAISE EXCEPTION 'no'; END $$"), statement);
  EXPECT_EQ(class_of("UPDATE account SET balance = :b"), statement);
}

/// By their code and the statement, never by words: the server's language is the operator's choice.
TEST_F(PostgresStatements, B04_ErrorsAreToldByTheirCodesInEveryLanguage) {
  for (const char* language : {"C", "de_DE.UTF-8", "ru_RU.UTF-8"}) {
    Options options = this->options();
    options.connection = database_->url(std::string{"%20-clc_messages%3D"} + language);
    session_ = open_store(options)->connect();
    EXPECT_EQ(kind_of("INSERT INTO account VALUES ('a', 1)"), ErrorKind::permanent);
    EXPECT_EQ(kind_of("INSERT INTO account VALUES ('c', -1)"), ErrorKind::permanent);
    EXPECT_EQ(kind_of("INSERT INTO account VALUES ('c', NULL)"), ErrorKind::permanent);
    EXPECT_EQ(kind_of("SELECT 1 / 0"), ErrorKind::permanent);
    EXPECT_EQ(kind_of("SELECT :v::int4", {{"v", std::string{"secret"}}}), ErrorKind::permanent);
    EXPECT_EQ(kind_of("SELECT * FROM nowhere"), ErrorKind::bad_configuration);
    EXPECT_EQ(kind_of("SELECT nothing FROM account"), ErrorKind::bad_configuration);
    EXPECT_EQ(kind_of("SELEC 1"), ErrorKind::bad_configuration);
    EXPECT_EQ(kind_of("SELECT pg_terminate_backend(pg_backend_pid())"), ErrorKind::unavailable);
    session_ = open_store(options)->connect();
    const auto transaction = session_->begin();
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    const auto holder = rival_->begin();
    EXPECT_EQ(kind_thrown_by([&] { claim(*holder, 1); }), ErrorKind::contention);
  }
}

TEST_F(PostgresStatements, MessagesDoNotShowValues) {
  const auto transaction = session_->begin();
  transaction->savepoint();
  for (const auto& [sql, value] : {std::pair{"SELECT :v::int4", "secret"},
                                   {"SELECT :v::timestamptz", "secret"},
                                   {"INSERT INTO account VALUES (:v, 1), (:v, 1)", "secret"},
                                   {"INSERT INTO account VALUES (:v, -1)", "secret"}}) {
    const std::string words =
        words_thrown_by([&] { transaction->statements().query(sql, {{"v", std::string{value}}}); });
    EXPECT_NE(words, "") << sql;
    EXPECT_EQ(words.find("secret"), std::string::npos) << words;
    transaction->rollback_to_savepoint();
  }
}

TEST_F(PostgresStatements, ATextThatPostgresqlCannotHoldIsPermanent) {
  EXPECT_EQ(kind_of("SELECT :v", {{"v", std::string{"a\0b", 3}}}), ErrorKind::permanent);
  EXPECT_EQ(kind_of("SELECT :v", {{"v", std::string{"\xff"}}}), ErrorKind::permanent);
  EXPECT_EQ(kind_of("SELECT :v", {}), ErrorKind::permanent);
}

TEST_F(PostgresStatements, RowsAreCountedOnlyWhereTheyAreChanged) {
  const auto transaction = session_->begin();
  Statements& sql = transaction->statements();
  EXPECT_EQ(sql.change("UPDATE account SET balance = 1", {}), 2);
  EXPECT_EQ(sql.change("SELECT * FROM account", {}), 0);
  EXPECT_EQ(sql.change("INSERT INTO account VALUES ('c', 1) ON CONFLICT DO NOTHING", {}), 1);
  EXPECT_EQ(sql.change("INSERT INTO account VALUES ('c', 1) ON CONFLICT DO NOTHING", {}), 0);
  EXPECT_EQ(sql.change("DELETE FROM account RETURNING id", {}), 3);
}

TEST_F(PostgresStatements, AMismatchOfRowsNeverCommits) {
  const auto transaction = session_->begin();
  claim(*transaction, 1);
  transaction->statements().execute(credit, {});
  transaction->statements().execute("UPDATE account SET balance = 0 WHERE id = 'nobody'", {}, 1);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::permanent);
  EXPECT_FALSE(is_claimed(1));
  EXPECT_EQ(balance("a"), "100");
}

TEST_F(PostgresStatements, MoreTextsThanAreRememberedStillWork) {
  const auto transaction = session_->begin();
  for (int i = 0; i < 600; ++i) {
    transaction->statements().execute(
        "UPDATE account SET balance = balance + 1 WHERE id = 'a' AND " + std::to_string(i) +
            " = :i",
        {{"i", std::int64_t{i}}}, 1);
  }
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(balance("a"), "700");
  EXPECT_EQ(value("SELECT balance FROM account WHERE id = :id", {{"id", std::string{"a"}}}),
            Value{std::int64_t{700}});
}

TEST_F(PostgresStatements, F22_ATableThatChangesUnderAPreparedStatementIsMetOnce) {
  const std::string_view sql = "SELECT * FROM account WHERE id = 'a'";
  EXPECT_EQ(kind_of(sql), std::nullopt);
  plain().execute("ALTER TABLE account ADD COLUMN note text");
  EXPECT_EQ(kind_of(sql), ErrorKind::contention);
  EXPECT_EQ(kind_of(sql), std::nullopt);
  plain().execute("DROP TABLE account");
  EXPECT_EQ(kind_of(sql), ErrorKind::bad_configuration);
}

}  // namespace
}  // namespace onefold::postgres
