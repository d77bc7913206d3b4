#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onefold/event.h"
#include "onefold/store.h"

namespace onefold {

/// What a handler decided. A value, not an exception: a refusal is an ordinary answer.
struct Answer {
  enum class Kind { done, retry, reject };
  Kind kind = Kind::done;
  /// done: the result kept as evidence, those of several handlers in a line each; otherwise the
  /// reason.
  std::string note;
  FailureClass failure = FailureClass::rejected;  ///< Unless it is done.

  static Answer done(std::string result = {}) { return {Kind::done, std::move(result)}; }
  /// Run again later: the event waits, and its entity's later events behind it, while all others go
  /// on. When the policy's attempts are used up the event is dead.
  static Answer retry(std::string reason) {
    return {Kind::retry, std::move(reason), FailureClass::transient};
  }
  /// This event will never do: it is dead now, and a person is told why.
  static Answer reject(std::string reason) { return {Kind::reject, std::move(reason)}; }
  /// A failure of another class; the policy says whether it is tried again.
  static Answer fail(FailureClass failure, std::string reason) {
    return {Kind::reject, std::move(reason), failure};
  }
};

/// What a handler may touch while its transaction is open.
class Context {
 public:
  explicit Context(Transaction& transaction) : transaction_{transaction} {}

  /// SQL in the transaction that also holds the claim. Never BEGIN, COMMIT or ROLLBACK.
  Statements& sql() {
    touched_ = true;
    return transaction_.statements();
  }
  /// For the raw handle of the database: `sqlite::connection(context.transaction())`. Constant,
  /// since ending it is the runtime's alone.
  const Transaction& transaction() {
    touched_ = true;
    return transaction_;
  }
  /// The handler has asked for the database: its refusal must be rolled back.
  bool touched() const noexcept { return touched_; }

 private:
  Transaction& transaction_;
  bool touched_ = false;
};

/// Applies one event. It may run any number of times; only what commits counts (P1).
///
/// An exception counts as `retry` with its text; an `Error` of kind `permanent` as `fail`.
/// Runs on the worker's thread. Effects outside the given transaction are not covered by any
/// promise.
using Handler = std::function<Answer(const Event&, Context&)>;

/// Applies several events in one call, oldest first: for statements that cost less for many rows
/// than for each. One answer for each event, or none at all if all are done.
///
/// It gets the fresh events of a batch that follow each other and lead to this handler alone. If
/// one cannot be applied, everything is rolled back and each is handed over alone, so that exactly
/// the failing one is set aside: a call with one event must do the same as its part of a larger
/// one. Otherwise as `Handler`.
using BatchHandler = std::function<std::vector<Answer>(std::span<const Event* const>, Context&)>;

}  // namespace onefold
