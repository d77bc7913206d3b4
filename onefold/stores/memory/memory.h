#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/records.h"
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
///     UPDATE cell SET amount = :amount WHERE name = :name
///     SELECT amount FROM cell WHERE name = :name
using Cells = std::map<std::string, std::int64_t>;

struct Options {
  int sources_max = event_sources_max;  ///< Event sources of a consumer with a scope of their own.
  /// `execute` behaves as on a pipelined connection: its failure surfaces at the next call.
  bool late_errors = false;
  /// Only one transaction is open at a time, as on SQLite: another `begin` has to wait.
  bool single_writer = false;
  /// Of sessions that wait for each other the one that has written least gives up, as on InnoDB;
  /// otherwise the one that has closed the circle.
  bool smallest_gives_up = false;
};

/// How a COMMIT ends, as a test or the disorder lab decides.
enum class CommitFate { worked, in_doubt_worked, in_doubt_rolled_back, refused };

/// How a step that was blocked is run again.
enum class Redo {
  all,   ///< Nothing of it has happened.
  rest,  ///< In its middle: its statements until then are answered as they were. For handlers.
};

/// What a scheduler knows of a model as a whole.
struct Insight {
  int last_session = 0;
  std::uint64_t versions = 0;   ///< How often what is committed has changed.
  std::uint64_t deadlocks = 0;  ///< That were found.
};

/// What a scheduler does to single sessions. They are numbered from 1 in the order of `connect`.
class Scheduling {
 public:
  virtual ~Scheduling() = default;
  /// Marks the session's open transaction, so that `undo_step` can take back what a step that was
  /// blocked has written since.
  virtual void mark_step(int session) = 0;
  virtual void undo_step(int session, Redo redo) = 0;
  /// Asked at every COMMIT that could work; in doubt, the session is broken as well.
  virtual void decide_commits(std::function<CommitFate(int session)> fate) = 0;
  /// The connection is lost: the transaction is rolled back, every later call throws `unavailable`.
  virtual void break_session(int session) = 0;
  virtual Insight insight() const = 0;
  /// Of what the session's open transaction has written, as `Model::digest`; 0: none is open.
  virtual std::uint64_t digest_of_writes(int session) const = 0;
  /// Its number, which no other ever has; 0: none is open.
  virtual std::uint64_t transaction(int session) const = 0;
};

/// Time as far as it matters to what waits, in the hands of a scheduler.
class Timekeeping {
 public:
  virtual ~Timekeeping() = default;
  /// From now on what is set aside for a time waits until time has passed once more. Without this,
  /// every time has come as soon as it is set.
  virtual void let_time_stand() = 0;
  virtual void pass_time() = 0;
  /// Whether something may be taken out of the waiting room; whether something waits for its time.
  virtual bool has_due(ConsumerId consumer) const = 0;
  virtual bool has_later() const = 0;
};

/// A database in memory. Sessions of one store see each other's commits.
///
/// Misuse that a real database could not even express (a second transaction on one session, an
/// evidence update of a key that was never claimed) throws `std::logic_error`.
class Model : public Store, public Scheduling, public Timekeeping {
 public:
  /// Committed business rows.
  virtual const Cells& cells() const = 0;
  /// Calls with every other committed row; a reference is valid until the next commit.
  virtual void visit(const std::function<void(const InboxRecord&)>& inbox,
                     const std::function<void(const DeferredRecord&)>& deferred) const = 0;
  /// A digest of what is committed (see state_digest.h), without times and numbers that tell in
  /// which order things were committed; `of_times`: of the inbox's times alone.
  virtual std::uint64_t digest(bool of_times) const = 0;
  /// Seeds business rows, as committed.
  virtual void put(const std::string& name, std::int64_t amount) = 0;
  /// A copy of everything committed, and the way back to it: a backup and its restore. A restore
  /// breaks all sessions: their next call throws `unavailable`.
  virtual std::shared_ptr<const void> snapshot() const = 0;
  virtual void restore(const std::shared_ptr<const void>& snapshot) = 0;
};

std::unique_ptr<Model> open_model(Options options = {});

}  // namespace onefold::memory
