#pragma once

#include <string>
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

/// What a handler's own failure is.
FailureClass class_of(int code) noexcept;

/// The same for a file that is being opened, by `errno`: what only a person can change (a missing
/// folder, no permission) is `bad_configuration`, anything else `unavailable`.
ErrorKind kind_of_system(int error) noexcept;

/// A failure of SQLite, which knows whether waiting can help.
class Failure : public Error {
 public:
  Failure(ErrorKind kind, const std::string& message, bool lasts, FailureClass failure)
      : Error{kind, message, failure}, lasts_{lasts} {}
  /// A person must change something: there is no such folder, or the file is no database.
  bool lasts() const noexcept { return lasts_; }

 private:
  bool lasts_;
};

/// What SQLite says about the call on `database` that has just failed.
std::string reason_of(::sqlite3* database, int code);

/// Throws the `Failure` of a call on `database`: what SQLite says, and what we were doing.
[[noreturn]] void fail(::sqlite3* database, int code, Origin origin, std::string_view doing);

}  // namespace onefold::sqlite
