#include "onefold/stores/sqlite/statement.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>

namespace onefold::sqlite {
namespace {

constexpr std::size_t beginning_length = 60;

std::string beginning_of(std::string_view sql) {
  std::string text{sql.substr(0, beginning_length)};
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (sql.size() > beginning_length) text += "...";
  return text;
}

/// Whether nothing but white space, semicolons and comments is left.
bool is_blank(std::string_view rest) noexcept {
  while (!rest.empty()) {
    if (rest.starts_with("--")) {
      rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    } else if (std::string_view{" \t\r\n\f;"}.find(rest.front()) != std::string_view::npos) {
      rest.remove_prefix(1);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

Statement::Statement(::sqlite3* database, std::string_view sql, Origin origin)
    : database_{database}, origin_{origin} {
  if (sql.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      sql.find('\0') != std::string_view::npos) {
    throw Error{ErrorKind::permanent,
                fmt::format("SQLite: a statement is too long or holds a NUL: {}",
                            beginning_of(sql.substr(0, sql.find('\0')))),
                FailureClass::statement};
  }
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle_, &tail);
  if (code != SQLITE_OK) {
    const Origin whose = origin == Origin::handler ? Origin::text : origin;
    fail(database, code, whose, fmt::format("preparing \"{}\"", beginning_of(sql)));
  }
  const auto used = static_cast<std::size_t>(tail - sql.data());
  const bool more = !is_blank(sql.substr(used));
  if (handle_ == nullptr || more) {
    sqlite3_finalize(handle_);
    throw Error{ErrorKind::permanent,
                fmt::format("SQLite: {} in \"{}\"; give each statement by itself",
                            more ? "more than one statement" : "no statement", beginning_of(sql)),
                FailureClass::statement};
  }
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

std::string Statement::beginning() const {
  const char* sql = sqlite3_sql(handle_);
  return beginning_of(sql == nullptr ? "" : sql);
}

void Statement::check(int code) {
  if (code != SQLITE_OK) fail_with(code);
}

void Statement::fail_with(int code) {
  // SQLite forgets its message at the next call, so it is taken before the reset.
  try {
    fail(database_, code, origin_, fmt::format("running \"{}\"", beginning()));
  } catch (const Error&) {
    reset();
    if (origin_ == Origin::handler && (code & 0xff) == SQLITE_ERROR) require_preparable();
    throw;
  }
}

void Statement::require_preparable() const {
  ::sqlite3_stmt* again = nullptr;
  const int code = sqlite3_prepare_v3(database_, sqlite3_sql(handle_), -1, 0, &again, nullptr);
  sqlite3_finalize(again);
  if (code == SQLITE_OK) return;
  fail(database_, code, Origin::text, fmt::format("preparing \"{}\" anew", beginning()));
}

Statement& Statement::null(int index) {
  check(sqlite3_bind_null(handle_, index));
  return *this;
}

Statement& Statement::integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_, index, value));
  return *this;
}

Statement& Statement::real(int index, double value) {
  check(sqlite3_bind_double(handle_, index, value));
  return *this;
}

Statement& Statement::text(int index, std::string_view value) {
  // A null pointer would be taken for NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::text_or_null(int index, std::string_view value) {
  return value.empty() ? null(index) : text(index, value);
}

Statement& Statement::blob(int index, std::span<const std::uint8_t> value) {
  const void* data = value.data() == nullptr ? static_cast<const void*>("") : value.data();
  check(sqlite3_bind_blob64(handle_, index, data, value.size(), SQLITE_STATIC));
  return *this;
}

int Statement::step_code() noexcept {
  return sqlite3_step(handle_);
}

bool Statement::step() {
  const int code = step_code();
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail_with(code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() noexcept {
  sqlite3_reset(handle_);
}

bool Statement::is_null(int column) const noexcept {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer_at(int column) const noexcept {
  return sqlite3_column_int64(handle_, column);
}

std::string Statement::text_at(int column) const {
  // As text, so that a database of another encoding is converted.
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return data == nullptr ? std::string{} : std::string{data, size};
}

std::span<const std::uint8_t> Statement::blob_at(int column) const noexcept {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return {data, data == nullptr ? 0 : size};
}

void Statement::copy_blob(int column, std::array<std::uint8_t, 16>& to) const noexcept {
  const auto bytes = blob_at(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), to.size()), to.begin());
}

}  // namespace onefold::sqlite
