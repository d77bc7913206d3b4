#include "onefold/daemon/sql_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace onefold {
namespace {

using Names = std::vector<std::string>;

TEST(SqlText, FindsEachParameterOnceInOrderOfFirstUse) {
  const SqlText read = read_sql("UPDATE a SET n = n + :amount WHERE id = :id AND m < :amount");
  EXPECT_EQ(read.defect, "");
  EXPECT_EQ(read.parameters, (Names{"amount", "id"}));
  EXPECT_EQ(read.keyword, "UPDATE");
}

TEST(SqlText, QuotesCommentsIdentifiersAndCastsHideColons) {
  for (const char* sql : {
           "SELECT ':a', :b",
           "SELECT 'it''s :a', :b",
           "SELECT \":a\", \"x\"\":a\", :b",
           "SELECT [:a], :b",
           "SELECT `:a`, :b",
           "SELECT 1 -- :a; ?\n, :b",
           "SELECT /* :a ' ; */ :b",
           "SELECT x::a, :b",
           "SELECT :b::text",
           "SELECT '12:30', 'a?b', '$1 @x', :b",
           "-- ' :a\nSELECT :b",
       }) {
    const SqlText read = read_sql(sql);
    EXPECT_EQ(read.defect, "") << sql;
    EXPECT_EQ(read.parameters, Names{"b"}) << sql;
  }
}

TEST(SqlText, OneStatementMayEndInSemicolonsAndComments) {
  for (const char* sql : {"DELETE FROM a;", "DELETE FROM a ; ; -- b\n", ";DELETE FROM a",
                          "DELETE FROM a; /* ; */", "DELETE FROM a WHERE b = ';'"}) {
    EXPECT_EQ(read_sql(sql).defect, "") << sql;
  }
}

TEST(SqlText, SeveralStatementsAreRefusedWithTheirLine) {
  const SqlText read = read_sql("DELETE FROM a;\n\nDELETE FROM b");
  EXPECT_NE(read.defect.find("several statements"), std::string::npos);
  EXPECT_EQ(read.defect_line, 3U);
}

TEST(SqlText, NothingIsNoStatement) {
  for (const char* sql : {"", " \n\t", ";;", "-- SELECT 1", "/* SELECT 1 */"}) {
    EXPECT_EQ(read_sql(sql).defect, "there is no statement in it") << sql;
    EXPECT_EQ(read_sql(sql).defect_line, 1U) << sql;
  }
}

TEST(SqlText, WhatHasNoEndIsRefused) {
  EXPECT_EQ(read_sql("SELECT 'a").defect, "a quote (') has no end");
  EXPECT_EQ(read_sql("SELECT \"a").defect, "a quote (\") has no end");
  EXPECT_EQ(read_sql("SELECT [a").defect, "a bracket ([) has no end");
  EXPECT_EQ(read_sql("SELECT /* a").defect, "a comment has no end");
}

TEST(SqlText, OtherNotationsOfParametersAreRefused) {
  for (const char* sql : {"SELECT ?", "SELECT ?1", "SELECT @a", "SELECT $a", "SELECT $1",
                          "SELECT $$a$$", "SELECT $tag$ :b $tag$"}) {
    EXPECT_NE(read_sql(sql).defect.find("write parameters as :name"), std::string::npos) << sql;
  }
  EXPECT_EQ(read_sql("SELECT a$b FROM c").defect, "");
}

TEST(SqlText, TransactionsPragmasAndSchemaChangesAreRefused) {
  for (const char* sql :
       {"BEGIN", "begin immediate", "COMMIT", "END", "ROLLBACK", "SAVEPOINT a", "RELEASE a",
        "ATTACH 'a' AS b", "DETACH a", "PRAGMA x", "VACUUM", "REINDEX", "ANALYZE",
        "CREATE TABLE a (b)", "ALTER TABLE a ADD b", "DROP TABLE a", "/* x */ -- y\n PRAGMA z"}) {
    EXPECT_NE(read_sql(sql).defect.find("cannot be used in a handler"), std::string::npos) << sql;
  }
  for (const char* sql : {"INSERT INTO a SELECT 'COMMIT'", "REPLACE INTO a VALUES (1)",
                          "WITH begin AS (SELECT 1) DELETE FROM a", "(SELECT 1)",
                          "UPDATE a SET b = CASE WHEN c THEN 1 END"}) {
    EXPECT_EQ(read_sql(sql).defect, "") << sql;
  }
}

TEST(SqlText, TheLastReturningCounts) {
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING b, c AS d, a.e, f + 1").returning,
            (Names{"b", "d", "e", ""}));
  // Found by fuzzing: what was noted of the first one's column belonged to no token any more.
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING b RETURNING ,").returning, Names{});
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING - RETURNING c").returning, Names{"c"});
}

TEST(SqlText, OnlyWhatWorksOnRowsMayBegin) {
  for (const char* sql : {"GRANT ALL ON a TO b", "REVOKE ALL ON a FROM b", "SET x = 1",
                          "RENAME TABLE a TO b", "TRUNCATE a"}) {
    EXPECT_NE(read_sql(sql).defect.find("cannot be used in a handler"), std::string::npos) << sql;
    EXPECT_FALSE(read_sql(sql).hint.empty()) << sql;
  }
  for (const char* sql : {"EXPLAIN DELETE FROM a", "CALL a()", "DO $x", "COPY a FROM b", "LOCK a",
                          "PREPARE a", "EXECUTE a", "LOAD DATA", "UPDTE a SET b = 1", "5"}) {
    EXPECT_NE(read_sql(sql).defect.find("does not begin a statement"), std::string::npos) << sql;
  }
  EXPECT_EQ(read_sql("UPDTE a SET b = 1").hint, "did you mean \"UPDATE\"?");
}

TEST(SqlText, WhatDatabasesReadDifferentlyIsRefused) {
  const struct {
    std::string sql;
    const char* defect;
  } cases[] = {
      {"DELETE FROM a /*! WHERE b = 1 */", "which some databases execute"},
      {"/*!50000 DROP TABLE a */", "which some databases execute"},
      {"/*M! DROP TABLE a */ DELETE FROM a", "which some databases execute"},
      {"DELETE FROM a /* x /* y */ */", "a comment stands in a comment"},
      {"DELETE FROM a /* /* */ ; DROP TABLE a", "a comment stands in a comment"},
      {std::string{"DELETE FROM a\0; DROP TABLE b", 28}, "a NUL character"},
      {std::string{"\0", 1}, "a NUL character"},
  };
  for (const auto& each : cases) {
    EXPECT_NE(read_sql(each.sql).defect.find(each.defect), std::string::npos)
        << each.sql << ": " << read_sql(each.sql).defect;
  }
  for (const char* sql : {"DELETE FROM a /*+ hint */", "DELETE FROM a WHERE b = '/*!'",
                          "DELETE FROM a /* ! */", "DELETE FROM a /**/", "DELETE FROM a /***/"}) {
    EXPECT_EQ(read_sql(sql).defect, "") << sql;
  }
}

TEST(SqlText, ReturningHasNames) {
  const struct {
    const char* sql;
    Names columns;
  } cases[] = {
      {"UPDATE a SET b = 1", {}},
      {"UPDATE a SET b = 1 RETURNING b", {"b"}},
      {"update a set b = 1 returning b, c ;", {"b", "c"}},
      {"DELETE FROM a RETURNING a.b, main.a.c, d AS e, f+1 AS g, h + 1, 1, 'x', :p",
       {"b", "c", "e", "g", "", "", "", ""}},
      {"INSERT INTO a VALUES (1) RETURNING *", {"*"}},
      {"INSERT INTO a VALUES (1) RETURNING a.*, b", {"*", "b"}},
      {"INSERT INTO a VALUES (1) RETURNING coalesce(b, c) AS d, max(e, f)", {"d", ""}},
      {"INSERT INTO a VALUES (1) RETURNING b AS \"c d\", [e], `f`, \"g\"", {"c d", "e", "f", "g"}},
      {"INSERT INTO a VALUES (1) RETURNING b -- , c\n, d /* , e */", {"b", "d"}},
      {"WITH a AS (DELETE FROM b RETURNING c) SELECT c FROM a", {}},
      {"WITH a AS (DELETE FROM b RETURNING c) INSERT INTO d SELECT c FROM a RETURNING e", {"e"}},
      {"UPDATE a SET b = 'RETURNING c'", {}},
      {"UPDATE a SET b = CASE WHEN c THEN 1 END RETURNING CASE b WHEN 1 THEN 2 END AS d", {"d"}},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(read_sql(each.sql).defect, "") << each.sql;
    EXPECT_EQ(read_sql(each.sql).returning, each.columns) << each.sql;
  }
}

TEST(SqlText, EachDatabaseHasTextsAndOperatorsOfItsOwn) {
  struct Case {
    SqlDialect dialect;
    std::string_view sql;
    Names parameters;
  };
  using enum SqlDialect;
  const std::vector<Case> cases{
      {postgres, "UPDATE a SET b = $$it's :c$$ || :d", {"d"}},
      {postgres, R"(UPDATE a SET b = E'it\'s :c' || :d)", {"d"}},
      {postgres, "SELECT b[:c] FROM a WHERE d @> :e::jsonb AND f ? 'g' AND @h > 1", {"c", "e"}},
      {postgres, "UPDATE a SET b = :c::numeric(10, 2) RETURNING d", {"c"}},
      {mariadb, R"(UPDATE a SET b = 'it\'s :c' WHERE d = :e)", {"e"}},
      {mariadb, "UPDATE a SET b = \":c\" WHERE d = 5--:e # :f", {"e"}},
      {sqlite, "UPDATE a SET [:b] = :c", {"c"}},
  };
  for (const Case& each : cases) {
    const SqlText read = read_sql(each.sql, each.dialect);
    EXPECT_EQ(read.defect, "") << each.sql;
    EXPECT_EQ(read.parameters, each.parameters) << each.sql;
  }
  EXPECT_EQ(read_sql("SELECT $1", postgres).defect, "write parameters as :name, not with $");
  EXPECT_EQ(read_sql("SELECT $a$ b", postgres).defect, "a quote ($) has no end");
  EXPECT_EQ(read_sql("SELECT ?", mariadb).defect, "write parameters as :name, not with ?");
}

TEST(SqlText, BeginningIsOneShortLine) {
  EXPECT_EQ(sql_beginning("  INSERT\n  INTO a\tVALUES (1) \n"), "INSERT INTO a VALUES (1)");
  EXPECT_LT(sql_beginning(std::string(500, 'x')).size(), 70U);
}

/// Pieces that, put together, make a valid expression list for SQLite.
const Names& pieces() {
  static const Names all{":a",        ":b_1",       "'x :c'", "'it''s :d'", "x'00'",
                         "1 -- :e\n", "/* :f */ 2", "\"x\"",  "[x]",        "`x`",
                         ":G",        "(:h + 1)",   "- :i",   "'/* :j'",    "'--' || :k"};
  return all;
}

/// SQLite's own tokenizer is the judge.
RC_GTEST_PROP(SqlText, AgreesWithSqliteAboutParameters, ()) {
  std::string sql = "SELECT 0";
  for (const std::string& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces()))) {
    sql += ", " + piece;
  }
  sql += " FROM (SELECT 1 AS x)";
  sqlite3* raw = nullptr;
  RC_ASSERT(sqlite3_open(":memory:", &raw) == SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database{raw, sqlite3_close};
  sqlite3_stmt* statement = nullptr;
  RC_ASSERT(sqlite3_prepare_v2(raw, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> prepared{statement,
                                                                            sqlite3_finalize};
  Names expected;
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement); ++i) {
    expected.emplace_back(sqlite3_bind_parameter_name(statement, i) + 1);
  }
  const SqlText read = read_sql(sql);
  RC_ASSERT(read.defect.empty());
  RC_ASSERT(read.parameters == expected);
}

/// Columns of a table t (a, b, "c d").
const Names& columns() {
  static const Names all{"a",
                         "b",
                         "t.a",
                         "a AS x",
                         "a + b AS \"y z\"",
                         "a||b",
                         "1",
                         "max(a, b)",
                         "'x, y'",
                         ":p",
                         "(a)",
                         "\"c d\"",
                         "[a]",
                         "a /* , */",
                         "abs(a) AS `z`",
                         "CASE a WHEN 1 THEN b END AS w"};
  return all;
}

/// SQLite says how many there are, and what each that has a name is called.
RC_GTEST_PROP(SqlText, AgreesWithSqliteAboutReturnedColumns, ()) {
  std::string sql = "UPDATE t SET a = (SELECT b FROM t) RETURNING ";
  const auto chosen = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(columns())));
  for (std::size_t i = 0; i < chosen.size(); ++i) sql += (i == 0 ? "" : ", ") + chosen[i];
  sqlite3* raw = nullptr;
  RC_ASSERT(sqlite3_open(":memory:", &raw) == SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database{raw, sqlite3_close};
  RC_ASSERT(sqlite3_exec(raw, "CREATE TABLE t (a, b, \"c d\")", nullptr, nullptr, nullptr) ==
            SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  RC_ASSERT(sqlite3_prepare_v2(raw, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> prepared{statement,
                                                                            sqlite3_finalize};
  const Names found = read_sql(sql).returning;
  RC_ASSERT(found.size() == static_cast<std::size_t>(sqlite3_column_count(statement)));
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(found[i].empty() || found[i] == sqlite3_column_name(statement, static_cast<int>(i)));
  }
}

/// What SQLite takes as one whole statement is never called several, and the other way round.
RC_GTEST_PROP(SqlText, AgreesWithSqliteAboutWhereAStatementEnds, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("SELECT 1", ";", "-- ;\n", "/* ; */", " ", "';'", ", 2"));
  std::string sql = "SELECT 0";
  for (const std::string& part : parts) sql += part;
  sqlite3* raw = nullptr;
  RC_ASSERT(sqlite3_open(":memory:", &raw) == SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database{raw, sqlite3_close};
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v2(raw, sql.c_str(), -1, &statement, &tail);
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> prepared{statement,
                                                                            sqlite3_finalize};
  RC_PRE(code == SQLITE_OK);
  const bool more = read_sql(tail).defect != "there is no statement in it";
  const bool several = read_sql(sql).defect.find("several") != std::string::npos;
  RC_ASSERT(several == more);
}

RC_GTEST_PROP(SqlText, AnyBytesAreReadWithoutHarm, (const std::string& sql)) {
  for (const SqlDialect dialect : {SqlDialect::sqlite, SqlDialect::postgres, SqlDialect::mariadb}) {
    const SqlText read = read_sql(sql, dialect);
    RC_ASSERT((read.defect_line == 0) == read.defect.empty());
  }
  RC_ASSERT(sql_beginning(sql).find('\n') == std::string::npos);
}

}  // namespace
}  // namespace onefold
