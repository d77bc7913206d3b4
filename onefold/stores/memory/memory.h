#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/store.h"

/// The reference model: what a READ COMMITTED database does, in memory and in one thread. Tests and
/// the disorder lab run the real worker on it; it is not for production, nothing is durable.
namespace onefold::memory {

/// Thrown by a call that would have to wait for another session's open transaction. Not an `Error`:
/// only the scheduler may catch it. The call has written nothing; the step's writes are undone, the
/// worker waits until `holder` has ended, and the step runs again from its start (semantics 9).
/// Where waiting would close a circle of waiters, the call throws `Error` of kind `contention`.
struct Blocked : Interruption {
  explicit Blocked(int session) : holder{session} {}
  int holder = 0;  ///< The number of the session that holds the row.
};

/// The one business table, `cell (name TEXT PRIMARY KEY, amount INTEGER NOT NULL)`. The model knows
/// exactly these statements, which are valid SQL for every store:
///
///     INSERT INTO cell (name, amount) VALUES (:name, :amount)
///     UPDATE cell SET amount = amount + :amount WHERE name = :name
///     SELECT amount FROM cell WHERE name = :name
using Cells = std::map<std::string, std::int64_t>;

struct Options {
  int sources_max = event_sources_max;  ///< Event sources of a consumer with a scope of their own.
  /// `execute` behaves as on a pipelined connection: its failure surfaces at the next call.
  bool late_errors = false;
};

/// A database in memory. Sessions of one store see each other's commits.
///
/// Misuse that a real database could not even express (a second transaction on one session, an
/// evidence update of a key that was never claimed) throws `std::logic_error`.
class Model : public Store {
 public:
  /// Committed business rows.
  virtual const Cells& cells() const = 0;
  /// Seeds business rows, as committed.
  virtual void put(const std::string& name, std::int64_t amount) = 0;
  /// Marks the open transaction of session `number`, so that `undo_step` can take back what a step
  /// that was blocked has written since. Sessions are numbered from 1 in the order of `connect`.
  virtual void mark_step(int session) = 0;
  virtual void undo_step(int session) = 0;
  /// A copy of everything committed, and the way back to it: a backup and its restore. A restore
  /// breaks all sessions: their next call throws `unavailable`.
  virtual std::shared_ptr<const void> snapshot() const = 0;
  virtual void restore(const std::shared_ptr<const void>& snapshot) = 0;
};

std::unique_ptr<Model> open_model(Options options = {});

}  // namespace onefold::memory
