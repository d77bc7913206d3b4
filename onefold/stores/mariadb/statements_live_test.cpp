#include <cmath>
#include <limits>

#include "onefold/stores/mariadb/test_store.h"

namespace onefold::mariadb {
namespace {

class MariadbStatements : public MariadbStore {
 protected:
  void SetUp() override {
    MariadbStore::SetUp();
    if (database_ == nullptr) return;
    transaction_ = session_->begin();
  }
  void TearDown() override {
    transaction_.reset();
    MariadbStore::TearDown();
  }
  Statements& sql() { return transaction_->statements(); }
  Value value_of(std::string_view query, Parameters parameters = {}) {
    return sql().query(query, parameters).at(0).at(0);
  }
  /// Starts anew after an error.
  Error failure_of(std::string_view statement, Parameters parameters = {}) {
    const Error error = error_of([&] { sql().change(statement, parameters); });
    transaction_.reset();
    transaction_ = session_->begin();
    return error;
  }

  std::unique_ptr<Transaction> transaction_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

TEST_F(MariadbStatements, EveryKindOfValueComesBackAsItWent) {
  const std::string text{"\u00e9 \U0001F600 '\\\0x", 12};
  const auto bytes = bytes_of(std::string_view{"\0\xff\x80 ", 4});
  plain_->execute("CREATE TABLE kinds (i BIGINT, d DOUBLE, b BOOLEAN, t TEXT, y BLOB, n INT)");
  sql().execute("INSERT INTO kinds VALUES (:i, :d, :b, :t, :y, :n)",
                {{"i", std::numeric_limits<std::int64_t>::min()},
                 {"d", 0.1},
                 {"b", true},
                 {"t", text},
                 {"y", bytes},
                 {"n", Null{}}},
                1);
  const auto row = sql().query("SELECT i, d, b, t, y, n FROM kinds", {}).at(0);
  EXPECT_EQ(row.at(0), Value{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(row.at(1), Value{0.1});
  EXPECT_EQ(row.at(2), Value{std::int64_t{1}});
  EXPECT_EQ(row.at(3), Value{text});
  EXPECT_EQ(row.at(4), Value{bytes});
  EXPECT_EQ(row.at(5), Value{Null{}});
}

TEST_F(MariadbStatements, DecimalsTimesAndLargeNumbersAreTexts) {
  EXPECT_EQ(value_of("SELECT CAST('12345678901234567890.1234' AS DECIMAL(30,4))"),
            Value{std::string{"12345678901234567890.1234"}});
  EXPECT_EQ(value_of("SELECT CAST(18446744073709551615 AS UNSIGNED)"),
            Value{std::string{"18446744073709551615"}});
  EXPECT_EQ(value_of("SELECT CAST(7 AS UNSIGNED)"), Value{std::int64_t{7}});
  EXPECT_EQ(value_of("SELECT TIMESTAMP'2026-11-30 14:00:00.5'"),
            Value{std::string{"2026-11-30 14:00:00.5"}});
  EXPECT_EQ(value_of("SELECT DATE'2026-11-30'"), Value{std::string{"2026-11-30"}});
}

TEST_F(MariadbStatements, ADecimalThatIsCastIsExact) {
  plain_->execute("CREATE TABLE money (amount DECIMAL(30,10) NOT NULL)");
  plain_->execute("INSERT INTO money VALUES (0.1)");
  sql().execute("UPDATE money SET amount = amount + CAST(:amount AS DECIMAL(30,10))",
                {{"amount", std::string{"12345678901234567890.0000000002"}}}, 1);
  EXPECT_EQ(value_of("SELECT amount FROM money"),
            Value{std::string{"12345678901234567890.1000000002"}});
}

TEST_F(MariadbStatements, ATimeLosesItsZ) {
  plain_->execute("CREATE TABLE moment (at DATETIME(6))");
  const std::vector<Parameter> time{{"time", std::string{"2026-11-30T14:00:00.123456Z"}}};
  EXPECT_EQ(failure_of("INSERT INTO moment VALUES (:time)", time).kind(), ErrorKind::permanent);
  EXPECT_EQ(sql().change("INSERT INTO moment VALUES (TRIM(TRAILING 'Z' FROM :time))", time), 1);
  EXPECT_EQ(value_of("SELECT at FROM moment"), Value{std::string{"2026-11-30 14:00:00.123456"}});
}

TEST_F(MariadbStatements, ARowThatIsFoundCountsThoughItStaysAsItIs) {
  EXPECT_EQ(sql().change("UPDATE account SET balance = balance WHERE id = 'a'", {}), 1);
  EXPECT_EQ(sql().change("UPDATE account SET balance = balance WHERE id = 'z'", {}), 0);
  EXPECT_EQ(sql().change("DELETE FROM account", {}), 2);
}

TEST_F(MariadbStatements, WhatReadsChangesNothing) {
  EXPECT_EQ(sql().change("SELECT id FROM account", {}), 0);
  EXPECT_EQ(sql().change("INSERT INTO account VALUES ('c', 1), ('d', 2) RETURNING id", {}), 2);
  EXPECT_EQ(sql().query("INSERT INTO account VALUES ('e', 1) RETURNING id, balance", {}).size(),
            1U);
  EXPECT_EQ(value_of("SELECT COUNT(*) FROM account"), Value{std::int64_t{5}});
}

TEST_F(MariadbStatements, ParametersMayBeRepeatedAndGivenInAnyOrder) {
  const std::vector<Parameter> there{{"a", std::int64_t{1}}, {"b", std::int64_t{2}}};
  const std::vector<Parameter> back{{"b", std::int64_t{20}}, {"a", std::int64_t{10}}};
  constexpr std::string_view sum = "SELECT :a * 100 + :b + :a # :c\n + 0 -- :d";
  EXPECT_EQ(value_of(sum, there), Value{std::int64_t{103}});
  EXPECT_EQ(value_of(sum, back), Value{std::int64_t{1030}});
  EXPECT_EQ(value_of("SELECT ':a' , :a", there), Value{std::string{":a"}});
}

TEST_F(MariadbStatements, AColumnMayChangeBetweenTwoRuns) {
  plain_->execute("CREATE TABLE moving (a VARCHAR(5))");
  sql().execute("INSERT INTO moving VALUES ('x')", {});
  EXPECT_EQ(transaction_->commit(), CommitResult::committed);
  transaction_ = session_->begin();
  EXPECT_EQ(value_of("SELECT a FROM moving"), Value{std::string{"x"}});
  EXPECT_EQ(transaction_->commit(), CommitResult::committed);
  plain_->execute("ALTER TABLE moving MODIFY a LONGTEXT");
  plain_->execute("UPDATE moving SET a = REPEAT('y', 100000)");
  transaction_ = session_->begin();
  EXPECT_EQ(value_of("SELECT a FROM moving"), Value{std::string(100'000, 'y')});
}

TEST_F(MariadbStatements, AProcedureMayReturnRowsAndResults) {
  plain_->execute(
      "CREATE OR REPLACE PROCEDURE two() BEGIN SELECT 1; UPDATE account SET balance = balance + 1 "
      "WHERE id = 'a'; SELECT 2; END");
  sql().execute("CALL two()", {});
  EXPECT_EQ(value_of("SELECT balance FROM account WHERE id = 'a'"), Value{std::int64_t{101}});
  plain_->execute("DROP PROCEDURE two");
}

TEST_F(MariadbStatements, WhatCannotBePreparedIsNoEventsFault) {
  for (const char* statement :
       {"SELECT * FROM nowhere", "SELECT nothing FROM account", "SELEC 1", "SELECT 1; SELECT 2",
        "SELECT ?", "SELECT * FROM nowhere.at_all", "CALL nobody()", ""}) {
    EXPECT_EQ(failure_of(statement).kind(), ErrorKind::bad_configuration) << statement;
  }
}

TEST_F(MariadbStatements, ATableThatGoesIsNoEventsFault) {
  plain_->execute("CREATE TABLE passing (a INT)");
  sql().execute("INSERT INTO passing VALUES (1)", {});
  EXPECT_EQ(transaction_->commit(), CommitResult::committed);
  transaction_.reset();
  plain_->execute("DROP TABLE passing");
  transaction_ = session_->begin();
  EXPECT_EQ(failure_of("INSERT INTO passing VALUES (1)").kind(), ErrorKind::bad_configuration);
}

TEST_F(MariadbStatements, ARevokedPrivilegeIsNoEventsFault) {
  const std::string user = "'" + database_->name() + "'@'%'";
  PlainClient& server = database_->server();
  server.execute("CREATE OR REPLACE USER " + user + " IDENTIFIED BY 'secret'");
  server.execute("GRANT ALL ON " + database_->name() + ".* TO " + user);
  Options options = this->options();
  const std::size_t at = options.connection.find("root");
  options.connection.replace(at, 4, database_->name() + ":secret");
  const auto store = open_store(options);
  EXPECT_EQ(store->connect()->begin()->statements().change(credit, {}), 1);
  server.execute("REVOKE UPDATE ON " + database_->name() + ".* FROM " + user);
  const auto session = store->connect();  // Others keep what they had for the whole database.
  const auto transaction = session->begin();
  const Error error = error_of([&] { transaction->statements().change(credit, {}); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_configuration) << error.what();
  server.execute("DROP USER " + user);
  const Error refused = error_of([&] { open_store(options); });
  EXPECT_EQ(refused.kind(), ErrorKind::bad_configuration) << refused.what();
  EXPECT_EQ(std::string{refused.what()}.find("secret"), std::string::npos) << refused.what();
}

TEST_F(MariadbStatements, MessagesHoldNoValues) {
  plain_->execute(
      "CREATE TABLE strict_one (id VARCHAR(20) PRIMARY KEY, n TINYINT, d DATE, "
      "account VARCHAR(20), CONSTRAINT known_account FOREIGN KEY (account) "
      "REFERENCES account (id)) ENGINE=InnoDB");
  plain_->execute("INSERT INTO strict_one VALUES ('sesame', 1, NULL, 'a')");
  struct Case {
    const char* sql;
    const char* mentioned;
  };
  const std::vector<Parameter> word{{"v", std::string{"sesame"}}};
  for (const Case& each : {
           Case{"INSERT INTO strict_one VALUES (:v, 1, NULL, 'a')", "PRIMARY"},
           Case{"INSERT INTO strict_one VALUES ('1', :v, NULL, 'a')", "`n`"},
           Case{"INSERT INTO strict_one VALUES ('1', 1, :v, 'a')", "`d`"},
           Case{"INSERT INTO strict_one VALUES ('1', 1, NULL, :v)", "known_account"},
           Case{"INSERT INTO strict_one VALUES (CONCAT(:v, REPEAT('x', 20)), 1, NULL, 'a')",
                "'id'"},
           Case{"UPDATE account SET balance = balance - 1000 - LENGTH(:v)", "not_in_debt"},
           Case{"UPDATE account SET balance = balance + 9223372036854775807 + LENGTH(:v)", ""},
           Case{"SELECT JSON_TABLE(:v)", ""},
       }) {
    const Error error = failure_of(each.sql, word);
    EXPECT_EQ(std::string{error.what()}.find("sesame"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find(each.mentioned), std::string::npos) << error.what();
  }
}

TEST_F(MariadbStatements, B11_TextThatIsNotUtf8IsTheEventsFaultAndNULIsNone) {
  plain_->execute("CREATE TABLE note (line VARCHAR(20) CHARACTER SET utf8mb4)");
  constexpr std::string_view insert = "INSERT INTO note VALUES (:line)";
  EXPECT_EQ(failure_of(insert, {{"line", std::string{"\xff\xfe"}}}).kind(), ErrorKind::permanent);
  const std::string nul{"a\0b", 3};
  EXPECT_EQ(sql().change(insert, {{"line", nul}}), 1);
  EXPECT_EQ(value_of("SELECT line FROM note"), Value{nul});
}

TEST_F(MariadbStatements, WhatTheServerCannotTakeIsTheEventsFault) {
  const Error error = failure_of("SELECT LENGTH(:v)", {{"v", std::string(20U << 20U, 'x')}});
  EXPECT_EQ(error.kind(), ErrorKind::permanent);
  EXPECT_NE(std::string{error.what()}.find("max_allowed_packet"), std::string::npos);
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(failure_of("SELECT :v", {{"v", number}}).kind(), ErrorKind::permanent);
  }
  EXPECT_EQ(value_of("SELECT LENGTH(:v)", {{"v", std::string(8U << 20U, 'x')}}),
            Value{std::int64_t{8U << 20U}});
}

TEST_F(MariadbStatements, ValuesAreNeverCut) {
  plain_->execute("CREATE TABLE narrow (t VARCHAR(3), n TINYINT, d DECIMAL(3,1))");
  EXPECT_EQ(failure_of("INSERT INTO narrow (t) VALUES ('four')").kind(), ErrorKind::permanent);
  EXPECT_EQ(failure_of("INSERT INTO narrow (n) VALUES (300)").kind(), ErrorKind::permanent);
  EXPECT_EQ(failure_of("INSERT INTO narrow (n) VALUES ('7 apples')").kind(), ErrorKind::permanent);
  EXPECT_EQ(failure_of("INSERT INTO narrow (d) VALUES (1000)").kind(), ErrorKind::permanent);
}

}  // namespace
}  // namespace onefold::mariadb
