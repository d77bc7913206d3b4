#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace onefold::lab {

/// A connection of the lab's own to a database, beside those of the store: for looking at it, and
/// for making it ready. Never checkpoints by itself. Used by one thread.
class Reader {
 public:
  enum class Access { read, write, create };
  /// Throws `Error`.
  Reader(const std::string& path, Access access);

  sqlite3* handle() const noexcept { return handle_.get(); }
  /// The prepared statement, at its start. It stays prepared, and must be reset after its use.
  sqlite3_stmt* statement(const std::string& sql);
  /// Runs statements to their end.
  void execute(const char* sql);
  /// Calls `take` with the statement at each row.
  template <class Take>
  void each(const std::string& sql, Take take) {
    sqlite3_stmt* const row = statement(sql);
    int code = sqlite3_step(row);
    for (; code == SQLITE_ROW; code = sqlite3_step(row)) take(row);
    sqlite3_reset(row);
    if (code != SQLITE_DONE) fail(code, sql);
  }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  [[noreturn]] void fail(int code, const std::string& sql) const;

  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Close>> statements_;
};

/// A column of a row as SQL writes it: NULL, 5, 0.5, 'text', x'00'.
std::string value_text(sqlite3_stmt* row, int column);
/// A name as SQL writes it.
std::string quoted(const std::string& name);

}  // namespace onefold::lab
