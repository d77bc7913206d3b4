#pragma once

#include <set>
#include <string>
#include <vector>

namespace onefold::lab {

/// The tables that the statements can write, also by triggers and foreign keys: the others need not
/// be compared. Throws `Error` if one cannot be prepared.
std::set<std::string> tables_written_by(const std::vector<std::string>& statements,
                                        const std::string& database);

/// The tables whose rows get their INTEGER PRIMARY KEY from SQLite in one of the statements, as its
/// programs show (EXPLAIN): a key that the statement gives is checked for being an integer.
std::set<std::string> tables_numbered_by(const std::vector<std::string>& statements,
                                         const std::string& database);

}  // namespace onefold::lab
