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

TEST(SqlText, TheLastReturningCounts) {
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING b, c AS d, a.e, f + 1").returning,
            (Names{"b", "d", "e", ""}));
  // Found by fuzzing: what was noted of the first one's column belonged to no token any more.
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING b RETURNING ,").returning, Names{});
  EXPECT_EQ(read_sql("DELETE FROM a RETURNING - RETURNING c").returning, Names{"c"});
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
  const SqlText read = read_sql(sql);
  RC_ASSERT((read.defect_line == 0) == read.defect.empty());
  RC_ASSERT(sql_beginning(sql).find('\n') == std::string::npos);
}

}  // namespace
}  // namespace onefold
