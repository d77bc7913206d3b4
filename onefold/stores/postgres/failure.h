#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "onefold/error.h"

namespace onefold::postgres {

/// Which statement failed. The same code means different things.
enum class Part {
  handler,   ///< A handler's SQL: what it did wrong will go wrong again.
  own,       ///< Ours: the schema is not the one we know, or the database is in trouble.
  claim,     ///< Ours, an insert into the inbox: a rival has the key.
  touch,     ///< Ours, of the consumer's row: divides by zero if there is none.
  tripwire,  ///< Ours, before COMMIT: divides by zero if the transaction is another one.
  commit,    ///< COMMIT itself.
};

/// Decides by the SQLSTATE and the statement, never by text (B04).
ErrorKind kind_of(std::string_view code, Part part) noexcept;

/// What a handler's own failure is, by its SQLSTATE.
FailureClass class_of(std::string_view code) noexcept;

/// A failure of the server, or of the connection to it.
class Failure : public Error {
 public:
  Failure(ErrorKind kind, const std::string& message, std::string code, Part part)
      : Error{kind, message, class_of(code)}, code_{std::move(code)}, part_{part} {}
  /// Five characters; empty if the connection was lost.
  const std::string& code() const noexcept { return code_; }
  Part part() const noexcept { return part_; }

 private:
  std::string code_;
  Part part_;
};

/// Of a result that says so. `doing` is what the statement was for.
Failure failure_of(const ::PGresult* result, Part part, std::string_view doing);
/// Of a connection that is gone.
Failure lost(const ::PGconn* connection, Part part, std::string_view doing);

}  // namespace onefold::postgres
