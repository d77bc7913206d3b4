#include "onefold/lab/trial/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "onefold/error.h"
#include "onefold/formats/text.h"

namespace onefold::lab {
namespace {

constexpr int busy_milliseconds = 5000;

int flags_of(Reader::Access access) {
  switch (access) {
    case Reader::Access::read:
      return SQLITE_OPEN_READONLY;
    case Reader::Access::write:
      return SQLITE_OPEN_READWRITE;
    case Reader::Access::create:
      break;
  }
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
}

}  // namespace

Reader::Reader(const std::string& path, Access access) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, flags_of(access) | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("cannot open the database {}: {}", path, sqlite3_errmsg(raw))};
  }
  sqlite3_busy_timeout(raw, busy_milliseconds);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_autocheckpoint(raw, 0);
}

sqlite3_stmt* Reader::statement(const std::string& sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return known->second.get();
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(handle(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  std::unique_ptr<sqlite3_stmt, Close> prepared{raw};
  if (code != SQLITE_OK) fail(code, sql);
  return statements_.emplace(sql, std::move(prepared)).first->second.get();
}

void Reader::execute(const char* sql) {
  const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
}

void Reader::fail(int code, const std::string& sql) const {
  throw Error{(code & 0xff) == SQLITE_BUSY ? ErrorKind::contention : ErrorKind::bad_configuration,
              fmt::format("SQLite: {} (in \"{}\")", sqlite3_errmsg(handle()),
                          printable(single_spaced(sql), 100))};
}

std::string value_text(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
      return std::to_string(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
      return fmt::format("{}", sqlite3_column_double(row, column));
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
      const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
      return "'" + std::string{text, bytes} + "'";
    }
    case SQLITE_BLOB: {
      const auto* data = static_cast<const unsigned char*>(sqlite3_column_blob(row, column));
      const int bytes = sqlite3_column_bytes(row, column);
      std::string text = "x'";
      for (int i = 0; i < bytes; ++i) text += fmt::format("{:02x}", data[i]);
      return text + "'";
    }
    default:
      return "NULL";
  }
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string{"\"\""} : std::string{c};
  return text + "\"";
}

}  // namespace onefold::lab
