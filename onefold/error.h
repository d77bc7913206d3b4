#pragma once

#include <stdexcept>
#include <string>

#include "onefold/failure.h"

namespace onefold {

/// Why something failed, as far as it changes what to do about it.
enum class ErrorKind {
  unavailable,      ///< The database or broker is away, full or broken: reconnect, try again.
  contention,       ///< A rival won, a deadlock, a lock that took too long: repeat the whole unit.
  commit_in_doubt,  ///< COMMIT was sent and its answer lost: only the claims can tell (P4).
  contract_violation,  ///< A handler ended our transaction or wrote around it: stop.
  bad_configuration,   ///< A person must change something before this can work.
  permanent,           ///< This event, statement or value will fail again: a handler's own error.
};

/// Every failure of a store, a source or a handler. Ask what to do about it, not what it is.
///
/// Decisions of a handler are values (`Answer`), not errors; our own mistakes are assertions. A
/// handler may throw `permanent`, which fails the event by its class; any other kind is taken for
/// the database's word and ends the whole unit, or the consumer. Out of `Runner` come only
/// `contract_violation` and `bad_configuration`; out of opening a database also `unavailable` and
/// `contention`.
class Error : public std::runtime_error {
 public:
  /// `message` says what happened, where, and what to do about it; never an event's data.
  Error(ErrorKind kind, const std::string& message, FailureClass failure = FailureClass::rejected)
      : std::runtime_error{message}, kind_{kind}, failure_{failure} {}

  ErrorKind kind() const noexcept { return kind_; }
  /// Of a `permanent` error: what failed. Stores tell constraints, data, rows and the rest apart.
  FailureClass failure() const noexcept { return failure_; }
  /// The same work may succeed later. Nobody is blamed for it.
  bool retryable() const noexcept {
    return kind_ == ErrorKind::unavailable || kind_ == ErrorKind::contention || in_doubt();
  }
  /// The session cannot be trusted any more: open another one.
  bool needs_reconnect() const noexcept { return kind_ == ErrorKind::unavailable || in_doubt(); }
  bool in_doubt() const noexcept { return kind_ == ErrorKind::commit_in_doubt; }
  bool contract_violation() const noexcept { return kind_ == ErrorKind::contract_violation; }

 private:
  ErrorKind kind_;
  FailureClass failure_;
};

/// Ends a step from within, past every handler: how a test's scheduler lets a call wait or a
/// process die. Neither an `Error` nor a `std::exception`, and never thrown outside of tests.
struct Interruption {};

}  // namespace onefold
