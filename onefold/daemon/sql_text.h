#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/formats/sql_text.h"

namespace onefold {

/// What can be said about a SQL statement without a database.
struct SqlText {
  std::vector<std::string> parameters;  ///< Names without the colon, in order of their first use.
  std::string keyword;                  ///< The first word, upper-case; empty if there is none.
  std::string defect;                   ///< Why the text cannot be a handler's statement, or empty.
  std::size_t defect_line = 0;          ///< From 1, within the text; 0 without a defect.
  std::string hint;                     ///< What to do about the defect; may be empty.
  /// The columns of the statement's own RETURNING, by their names: a column's own, or the one after
  /// AS; empty for an expression without one. `*` is a name like the others.
  std::vector<std::string> returning;
};

/// Finds the parameters of one statement: `:name` outside of texts, quoted names, comments and
/// ::casts, as the dialect has them.
///
/// Refused: no statement, several in one text, a quote or comment without an end, parameters in
/// another notation (?, @name, $1; "?" and "@" are operators of PostgreSQL), a NUL character,
/// comments that databases read differently (one within another, and those that some of them
/// execute), and all statements but those that read or change rows: INSERT, UPDATE, DELETE,
/// REPLACE, MERGE, SELECT, VALUES, WITH.
SqlText read_sql(std::string_view sql, SqlDialect dialect = SqlDialect::sqlite);

/// The beginning of a statement on one line, for messages. Statements come from the configuration:
/// they carry no event data.
std::string sql_beginning(std::string_view sql);

}  // namespace onefold
