#include "onefold/formats/sql_text.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <array>

namespace onefold {
namespace {

using Names = std::vector<std::string>;

std::string postgres(std::string_view sql) {
  return number_parameters(sql, SqlDialect::postgres).text;
}
std::string mariadb(std::string_view sql) {
  return number_parameters(sql, SqlDialect::mariadb).text;
}

TEST(SqlText, ParametersGetTheNotationOfTheDatabase) {
  const std::string_view sql = "UPDATE a SET x = x + :amount WHERE id = :id AND x < :amount";
  const NumberedSql numbered = number_parameters(sql, SqlDialect::postgres);
  EXPECT_EQ(numbered.text, "UPDATE a SET x = x + $1 WHERE id = $2 AND x < $1");
  EXPECT_EQ(numbered.names, (Names{"amount", "id"}));
  const NumberedSql marked = number_parameters(sql, SqlDialect::mariadb);
  EXPECT_EQ(marked.text, "UPDATE a SET x = x + ? WHERE id = ? AND x < ?");
  EXPECT_EQ(marked.names, (Names{"amount", "id", "amount"}));
  const NumberedSql named = number_parameters(sql, SqlDialect::sqlite);
  EXPECT_EQ(named.text, sql);
  EXPECT_EQ(named.names, (Names{"amount", "id"}));
}

TEST(SqlText, WhatLooksLikeAParameterInATextIsNone) {
  for (const std::string_view sql :
       {"SELECT ':a'", "SELECT 'it''s :a'", "SELECT \":a\"", "SELECT 1 -- :a", "SELECT /* :a */ 1",
        "SELECT 1 /* :a", "SELECT ':a"}) {
    EXPECT_EQ(postgres(sql), sql);
    EXPECT_EQ(mariadb(sql), sql);
    EXPECT_TRUE(number_parameters(sql, SqlDialect::sqlite).names.empty()) << sql;
  }
}

TEST(SqlText, PostgresHasCastsDollarsEscapesAndNestedComments) {
  EXPECT_EQ(postgres("SELECT :a::int, :b :: text"), "SELECT $1::int, $2 :: text");
  EXPECT_EQ(postgres("SELECT $$ :a $$ || :b"), "SELECT $$ :a $$ || $1");
  EXPECT_EQ(postgres("SELECT $x$ :a $$ $y$ $x$ || :b"), "SELECT $x$ :a $$ $y$ $x$ || $1");
  EXPECT_EQ(postgres("SELECT a$b$ || :c || d$b$"), "SELECT a$b$ || $1 || d$b$");
  EXPECT_EQ(postgres(R"(SELECT E'\' :a' || :b)"), R"(SELECT E'\' :a' || $1)");
  EXPECT_EQ(postgres(R"(SELECT '\' || :b)"), R"(SELECT '\' || $1)");
  EXPECT_EQ(postgres("SELECT /* /* */ :a */ :b"), "SELECT /* /* */ :a */ $1");
  EXPECT_EQ(postgres("SELECT (ARRAY[1,2])[:a]"), "SELECT (ARRAY[1,2])[$1]");
  EXPECT_EQ(postgres("SELECT a[1:2]"), "SELECT a[1:2]");
}

TEST(SqlText, MariaDbHasBackslashesHashesAndCommentsThatRun) {
  EXPECT_EQ(mariadb(R"(SELECT '\' :a', :b)"), R"(SELECT '\' :a', ?)");
  EXPECT_EQ(mariadb(R"(SELECT "\" :a", `:c`, :b)"), R"(SELECT "\" :a", `:c`, ?)");
  EXPECT_EQ(mariadb("SELECT 1 # :a\n + :b"), "SELECT 1 # :a\n + ?");
  EXPECT_EQ(mariadb("SELECT 1--:a"), "SELECT 1--?");
  EXPECT_EQ(mariadb("SELECT 1 -- :a\n + :b"), "SELECT 1 -- :a\n + ?");
  EXPECT_EQ(mariadb("SELECT /* /* */ :a"), "SELECT /* /* */ ?");
  SqlLexer lexer{"/*! DROP */ /*M!1 DROP */ /* ! */", SqlDialect::mariadb};
  EXPECT_TRUE(is_executed(lexer.next().text));
  EXPECT_TRUE(is_executed(lexer.next().text));
  EXPECT_FALSE(is_executed(lexer.next().text));
  EXPECT_EQ(lexer.next().kind, SqlToken::Kind::end);
}

TEST(SqlText, SqliteHasBrackets) {
  EXPECT_EQ(number_parameters("SELECT [:a], :b", SqlDialect::sqlite).names, Names{"b"});
}

TEST(SqlText, TokensAreTheTextWithoutItsWhiteSpaceProperty) {
  const bool same = rc::check([] {
    const auto sql = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string{"ab1 \n'\"`[]$:*/-#\\E?;"}));
    for (const SqlDialect dialect :
         {SqlDialect::sqlite, SqlDialect::postgres, SqlDialect::mariadb}) {
      SqlLexer lexer{sql, dialect};
      std::size_t at = 0;
      for (SqlToken token = lexer.next(); token.kind != SqlToken::Kind::end; token = lexer.next()) {
        RC_ASSERT(!token.text.empty());
        RC_ASSERT(sql.find_first_not_of(" \n", at) == token.at);
        RC_ASSERT(sql.substr(token.at, token.text.size()) == token.text);
        at = token.at + token.text.size();
      }
      RC_ASSERT(sql.find_first_not_of(" \n", at) == std::string::npos);
    }
  });
  EXPECT_TRUE(same);
}

TEST(SqlNames, AreThoseWithAndWithoutQuotes) {
  std::set<std::string> names;
  collect_names("INSERT INTO Sales.\"Day Book\" VALUES (:line, 'no name') -- nor this",
                SqlDialect::postgres, names);
  EXPECT_EQ(names, (std::set<std::string>{"insert", "into", "sales", "Day Book", "values"}));
  names.clear();
  collect_names("DELETE FROM `Day` WHERE note = \"no name\"", SqlDialect::mariadb, names);
  EXPECT_EQ(names, (std::set<std::string>{"DELETE", "FROM", "Day", "WHERE", "note"}));
}

}  // namespace
}  // namespace onefold
