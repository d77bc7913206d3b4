#pragma once

#include <string>
#include <string_view>

#include "onefold/error.h"

struct st_mysql;
struct st_mysql_stmt;

namespace onefold::mariadb {

/// Whose statement failed. The same number means different things.
enum class Origin {
  handler,  ///< A handler's SQL: what it did wrong will go wrong again.
  text,     ///< A handler's SQL that cannot be prepared: as wrong for every other event.
  own,      ///< Ours: the schema is not the one we know, or the server is in trouble.
  opening,  ///< Connecting, and the settings of a connection.
};

/// What the client or the server says of a call: a number and an SQLSTATE, and a text that is for
/// people alone.
struct Reason {
  unsigned int code = 0;
  std::string state;
  std::string text;
};
Reason reason_of(::st_mysql* connection);
Reason reason_of(::st_mysql_stmt* statement);

/// Decides by number and origin, never by text (B04).
ErrorKind kind_of(unsigned int code, Origin origin) noexcept;
/// What a handler's own failure is.
FailureClass class_of(unsigned int code) noexcept;
/// The connection is gone, or about to be.
bool is_lost(unsigned int code) noexcept;

/// The reason for a message, without the values that the server puts into some of its texts.
std::string words_of(const Reason& reason, Origin origin);

/// Throws the `Error`: what MariaDB says, what we were doing, and what to do about it.
[[noreturn]] void fail(const Reason& reason, Origin origin, std::string_view doing);

}  // namespace onefold::mariadb
