#include "onefold/stores/sqlite/failure.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cerrno>

namespace onefold::sqlite {
namespace {

const char* advice(ErrorKind kind, Origin origin) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
      return "; check the disk and the file's permissions";
    case ErrorKind::contract_violation:
      return "; a handler must leave transactions, savepoints, the schema, ATTACH, PRAGMA and the "
             "onefold_ tables alone";
    case ErrorKind::bad_configuration:
      return origin == Origin::own ? "; run `onefold migrate`"
                                   : "; correct the statement, or create what it names";
    default:
      return "";
  }
}

std::string words_of(::sqlite3* database, int code) {
  if (database == nullptr) return sqlite3_errstr(code);
  const char* const file = sqlite3_db_filename(database, "main");
  if ((code & 0xff) == SQLITE_BUSY && file != nullptr && *file != '\0') {
    return fmt::format("{} is being written by another program", file);
  }
  return sqlite3_errmsg(database);
}

/// Whether a failure to open, or to read what was opened, stays until a person changes something.
bool is_lasting(::sqlite3* database, int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_CANTOPEN: {
      const int error = database != nullptr ? sqlite3_system_errno(database) : 0;
      return error == 0 || kind_of_system(error) == ErrorKind::bad_configuration;
    }
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_NOLFS:
    case SQLITE_PERM:
      return true;
    default:
      return false;
  }
}

}  // namespace

ErrorKind kind_of(int code, Origin origin) noexcept {
  if (code == SQLITE_CONSTRAINT_COMMITHOOK) return ErrorKind::contract_violation;
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:  // Somebody stopped the statement; it is not its fault.
    case SQLITE_ABORT:      // The transaction was rolled back under a running statement.
    case SQLITE_SCHEMA:     // The schema kept changing while the statement was being prepared.
      return ErrorKind::contention;
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
    case SQLITE_PERM:
      return ErrorKind::unavailable;
    case SQLITE_AUTH:
      return ErrorKind::contract_violation;
    case SQLITE_ERROR:
      // Our own statements are right for our own schema, and a table that a deployment forgot must
      // not send every event to the dead letters.
      return origin == Origin::handler ? ErrorKind::permanent : ErrorKind::bad_configuration;
    default:
      return ErrorKind::permanent;
  }
}

FailureClass class_of(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      // A trigger speaks for nobody but itself; a wrong type is a value that does not fit.
      if (code == SQLITE_CONSTRAINT_TRIGGER) return FailureClass::statement;
      return code == SQLITE_CONSTRAINT_DATATYPE ? FailureClass::data : FailureClass::constraint;
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      return FailureClass::data;
    default:
      return FailureClass::statement;
  }
}

ErrorKind kind_of_system(int error) noexcept {
  switch (error) {
    case EACCES:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENODEV:
    case ENOENT:
    case ENOSYS:
    case ENOTDIR:
    case ENXIO:
    case EOPNOTSUPP:
    case EPERM:
    case EROFS:
      return ErrorKind::bad_configuration;
    default:
      return ErrorKind::unavailable;
  }
}

std::string reason_of(::sqlite3* database, int code) {
  return fmt::format("{} (SQLite code {})", words_of(database, code), code);
}

void fail(::sqlite3* database, int code, Origin origin, std::string_view doing) {
  const ErrorKind kind = kind_of(code, origin);
  // The reason comes first: lists cut what is long.
  throw Failure{
      kind, fmt::format("{} while {}{}", reason_of(database, code), doing, advice(kind, origin)),
      is_lasting(database, code), class_of(code)};
}

}  // namespace onefold::sqlite
