#pragma once

#include <string_view>

#include "onefold/error.h"

struct sqlite3;

namespace onefold::sqlite {

/// Whose statement failed. The same code means different things.
enum class Origin {
  handler,  ///< A handler's SQL: what it did wrong will go wrong again.
  text,     ///< A handler's SQL that cannot be prepared: as wrong for every other event.
  own,      ///< Ours: the schema is not the one we know, or the database is in trouble.
};

/// Decides by the extended result code and the origin, never by text (B04).
ErrorKind kind_of(int code, Origin origin) noexcept;

/// Throws the `Error` for a failed call on `database`: what SQLite says, and what we were doing.
[[noreturn]] void fail(::sqlite3* database, int code, Origin origin, std::string_view doing);

}  // namespace onefold::sqlite
