#include "onefold/stores/mariadb/failure.h"

#include <errmsg.h>
#include <fmt/core.h>
#include <mysql.h>
#include <mysqld_error.h>

namespace onefold::mariadb {
namespace {

bool is_contention(unsigned int code) noexcept {
  switch (code) {
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_LOCK_DEADLOCK:
    case ER_CHECKREAD:  // The row changed since the snapshot.
    case ER_LOCK_TABLE_FULL:
    case ER_QUERY_INTERRUPTED:  // Somebody stopped the statement; it is not its fault.
    case ER_STATEMENT_TIMEOUT:
    case ER_LOCK_ABORTED:
      return true;
    default:
      return false;
  }
}

/// The server, its disk or its memory is in trouble, or it is not the one that takes writes.
bool is_trouble(unsigned int code) noexcept {
  switch (code) {
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED:
    case ER_MAX_PREPARED_STMT_COUNT_REACHED:
    case ER_TOO_MANY_CONCURRENT_TRXS:
    case ER_OUT_OF_RESOURCES:
    case ER_OUTOFMEMORY:
    case ER_OUT_OF_SORTMEMORY:
    case ER_DISK_FULL:
    case ER_RECORD_FILE_FULL:
    case ER_GET_ERRNO:
    case ER_ERROR_ON_READ:
    case ER_ERROR_ON_WRITE:
    case ER_ERROR_DURING_COMMIT:
    case ER_CRASHED_ON_USAGE:
    case ER_NOT_KEYFILE:
    case ER_OPTION_PREVENTS_STATEMENT:  // read_only: a replica, or a server that is being replaced.
    case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
    case ER_UNKNOWN_COM_ERROR:  // Galera: the node is not ready.
    case ER_HOST_IS_BLOCKED:
    case CR_OUT_OF_MEMORY:
      return true;
    default:
      return false;
  }
}

/// What only a person can change, whatever the event says.
bool is_configuration(unsigned int code) noexcept {
  switch (code) {
    case ER_NO_SUCH_TABLE:
    case ER_NO_SUCH_TABLE_IN_ENGINE:
    case ER_BAD_TABLE_ERROR:
    case ER_BAD_FIELD_ERROR:
    case ER_BAD_DB_ERROR:
    case ER_NO_DB_ERROR:
    case ER_SP_DOES_NOT_EXIST:
    case ER_FUNC_INEXISTENT_NAME_COLLISION:
    case ER_BINLOG_STMT_MODE_AND_ROW_ENGINE:  // READ COMMITTED, logged by statement.
    case ER_DBACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_PROCACCESS_DENIED_ERROR:
    case ER_VIEW_INVALID:
    case ER_MUST_CHANGE_PASSWORD:
      return true;
    default:
      return false;
  }
}

/// The rest of a text behind its last `marker`: names of keys and columns, where values come first.
std::string_view behind(std::string_view text, std::string_view marker) noexcept {
  const std::size_t found = text.rfind(marker);
  return found == std::string_view::npos ? std::string_view{} : text.substr(found + marker.size());
}

/// Texts that hold names, and no values.
bool is_free_of_values(unsigned int code) noexcept {
  switch (code) {
    case ER_BAD_NULL_ERROR:
    case ER_NO_DEFAULT_FOR_FIELD:
    case ER_DATA_TOO_LONG:
    case ER_WARN_DATA_OUT_OF_RANGE:
    case ER_NO_REFERENCED_ROW_2:
    case ER_ROW_IS_REFERENCED_2:
    case ER_CONSTRAINT_FAILED:
      return true;
    default:
      return is_contention(code) || is_trouble(code) || is_configuration(code) || is_lost(code);
  }
}

const char* advice(ErrorKind kind, Origin origin) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
      return "; check the server and the way to it";
    case ErrorKind::contract_violation:
      return "; a handler must leave transactions, DDL, SET, USE and LOCK alone, and read results "
             "to their end";
    case ErrorKind::bad_configuration:
      if (origin == Origin::own) return "; run `onefold migrate`, and check the privileges";
      if (origin == Origin::opening) return "; check the address, the user and the privileges";
      return "; correct the statement, or create and grant what it names";
    default:
      return "";
  }
}

}  // namespace

Reason reason_of(::st_mysql* connection) {
  return {mysql_errno(connection), mysql_sqlstate(connection), mysql_error(connection)};
}

Reason reason_of(::st_mysql_stmt* statement) {
  return {mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement), mysql_stmt_error(statement)};
}

bool is_lost(unsigned int code) noexcept {
  switch (code) {
    case CR_SOCKET_CREATE_ERROR:
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case CR_IPSOCK_ERROR:
    case CR_UNKNOWN_HOST:
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_HANDSHAKE_ERR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case CR_SSL_CONNECTION_ERROR:
    case CR_MALFORMED_PACKET:
    case CR_ERR_NET_READ:
    case CR_ERR_NET_WRITE:
    case CR_ERR_NET_UNCOMPRESS:
    case ER_SERVER_SHUTDOWN:
    case ER_NORMAL_SHUTDOWN:
    case ER_CONNECTION_KILLED:
    case ER_NEW_ABORTING_CONNECTION:
    case ER_ABORTING_CONNECTION:
    case ER_FORCING_CLOSE:
    case ER_NET_READ_ERROR:
    case ER_NET_READ_INTERRUPTED:
    case ER_NET_ERROR_ON_WRITE:
    case ER_NET_WRITE_INTERRUPTED:
    case ER_NET_PACKETS_OUT_OF_ORDER:
    case ER_NET_FCNTL_ERROR:
    case ER_HANDSHAKE_ERROR:
      return true;
    default:
      return false;
  }
}

ErrorKind kind_of(unsigned int code, Origin origin) noexcept {
  if (is_contention(code)) return ErrorKind::contention;
  if (is_lost(code) || is_trouble(code)) return ErrorKind::unavailable;
  if (code == CR_COMMANDS_OUT_OF_SYNC) return ErrorKind::contract_violation;
  if (is_configuration(code) || origin != Origin::handler) return ErrorKind::bad_configuration;
  return ErrorKind::permanent;
}

FailureClass class_of(unsigned int code) noexcept {
  switch (code) {
    case ER_DUP_ENTRY:
    case ER_DUP_ENTRY_WITH_KEY_NAME:
    case ER_DUP_KEY:
    case ER_BAD_NULL_ERROR:
    case ER_NO_DEFAULT_FOR_FIELD:
    case ER_NO_REFERENCED_ROW:
    case ER_NO_REFERENCED_ROW_2:
    case ER_ROW_IS_REFERENCED:
    case ER_ROW_IS_REFERENCED_2:
    case ER_CONSTRAINT_FAILED:
      return FailureClass::constraint;
    case ER_DATA_TOO_LONG:
    case ER_WARN_DATA_OUT_OF_RANGE:
    case ER_DATA_OUT_OF_RANGE:
    case ER_TRUNCATED_WRONG_VALUE:
    case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD:
    case ER_DIVISION_BY_ZERO:
    case ER_INVALID_CHARACTER_STRING:
    case ER_CANNOT_CONVERT_CHARACTER:
    case WARN_DATA_TRUNCATED:
      return FailureClass::data;
    default:
      return FailureClass::statement;
  }
}

std::string words_of(const Reason& reason, Origin origin) {
  const std::string number = fmt::format(" (MariaDB error {}, {})", reason.code, reason.state);
  if (reason.code == ER_DUP_ENTRY || reason.code == ER_DUP_ENTRY_WITH_KEY_NAME) {
    // What stands before it is the value. In another language there is no such marker.
    const auto key = behind(reason.text, "' for key '");
    return fmt::format("a row with the same values exists{}{}{}", key.empty() ? "" : " under key '",
                       key, number);
  }
  // What is prepared or opened has no values yet.
  const bool early = origin == Origin::text || origin == Origin::opening;
  if (early || is_free_of_values(reason.code)) return reason.text + number;
  if (reason.code == ER_SIGNAL_EXCEPTION) {
    return "a trigger or procedure refuses" + number;
  }
  const auto column = behind(reason.text, "' for column ");
  return fmt::format("a value does not fit{}{}{}", column.empty() ? "" : " column ", column,
                     number);
}

void fail(const Reason& reason, Origin origin, std::string_view doing) {
  const ErrorKind kind = kind_of(reason.code, origin);
  throw Error{kind,
              fmt::format("{} while {}{}", words_of(reason, origin), doing, advice(kind, origin)),
              class_of(reason.code)};
}

}  // namespace onefold::mariadb
