#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Telling the code of a SQL statement from its texts and comments.
namespace onefold {

/// Whose rules decide where a text or a comment ends.
enum class SqlDialect {
  sqlite,    ///< 'text', "name", `name`, [name], -- and /* */ comments.
  postgres,  ///< 'text', E'text\'', "name", $$text$$, -- and nested /* */ comments, ::casts.
  mariadb,   ///< 'text\'', "text\"", `name`, -- followed by space, #, /* */ and /*! code */.
};

struct SqlToken {
  enum class Kind {
    end,
    word,       ///< A name or keyword without quotes.
    parameter,  ///< ":name".
    text,       ///< A value in quotes, with them.
    name,       ///< An identifier in quotes, with them.
    symbol,     ///< One character of anything else; "::" is one symbol.
    comment,    ///< Also one that a database executes; see `is_executed`.
    unclosed,   ///< A text, name or comment without an end.
  };
  Kind kind = Kind::end;
  std::size_t at = 0;  ///< Where it begins.
  std::string_view text;
};

/// Cuts a statement into tokens. White space is skipped.
class SqlLexer {
 public:
  SqlLexer(std::string_view sql, SqlDialect dialect) noexcept : sql_{sql}, dialect_{dialect} {}
  SqlToken next();

 private:
  SqlToken make(SqlToken::Kind kind, std::size_t end);
  SqlToken quoted(char quote, SqlToken::Kind kind, bool backslash, std::size_t prefix = 0);
  SqlToken bracketed();
  SqlToken dollar();
  SqlToken colon();
  SqlToken word();
  SqlToken comment();
  SqlToken line_comment();
  bool begins_line_comment() const noexcept;
  char peek(std::size_t ahead) const noexcept;

  std::string_view sql_;
  SqlDialect dialect_;
  std::size_t at_ = 0;
};

/// Adds every word and every name in quotes (without them) of a statement: its tables are among
/// them. Words are taken as they stand, or in lower case for PostgreSQL, as it would.
void collect_names(std::string_view sql, SqlDialect dialect, std::set<std::string>& names);

/// Whether MySQL or MariaDB execute what stands in such a comment.
bool is_executed(std::string_view comment) noexcept;

/// A statement in which `:name` has become what the database knows.
struct NumberedSql {
  std::string text;                ///< "$1" for PostgreSQL, "?" for MariaDB.
  std::vector<std::string> names;  ///< Without the colon, in the order of the values to bind: each
                                   ///< once for PostgreSQL, at each use for MariaDB.
};
/// Leaves SQLite's own text as it is: it knows names. What is unclosed is left to the database.
NumberedSql number_parameters(std::string_view sql, SqlDialect dialect);

}  // namespace onefold
