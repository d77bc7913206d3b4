#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/event.h"
#include "onefold/evidence.h"
#include "onefold/statements.h"
#include "onefold/waiting.h"

/// The hot path's view of a database. The cold ones are in housekeeping.h
/// (schema), records.h (lists) and decisions.h (a person's acts).
///
/// Every method throws `Error`. Its kind says what to do: `contention` and `unavailable` end the
/// whole unit and blame no event; `permanent` is the statement's own fault.
namespace onefold {

/// What the runtime writes beside the business change. All of it commits with the transaction.
///
/// All but `claim` may be queued, as `Statements::execute`: what they throw then surfaces at the
/// next call that waits, at the savepoint or at commit.
class Ledger {
 public:
  virtual ~Ledger() = default;
  /// Claim-first inserts the rows with all that is known and says who was first; optimistic only
  /// looks. Keys are sorted and unique. A row that a rival holds uncommitted is waited for; a rival
  /// that rolls back leaves the key to us (B03). One answer per element, in order (B05).
  virtual std::vector<Claim> claim(std::span<const Evidence> wanted, ClaimMode mode) = 0;
  /// Gives back keys that were claimed first in this transaction, as if they had never been: an
  /// event that needs several was not entitled to all of them.
  virtual void withdraw(std::span<const Key> keys) = 0;
  /// Optimistic: inserts the complete rows; throws `contention` if a rival has one of the keys.
  /// Claim-first: rewrites our own uncommitted rows.
  virtual void record(std::span<const Evidence> evidence, ClaimMode mode) = 0;
  /// Inserts the rows that hold the bytes. Their inbox rows were inserted in this transaction, but
  /// for `conflict`, which has none. A repetition of the same key and fingerprint is counted. What
  /// was taken out of the waiting room is rewritten, see `Deferral::waiting`.
  virtual void defer(std::span<const Deferral> deferrals) = 0;
  /// Moves positions forward, never back. With none, touches the consumer's row, so that a commit
  /// that acknowledges is always a write (semantics 3.7).
  virtual void advance(ConsumerId consumer, std::span<const Position> positions) = 0;
};

enum class CommitResult {
  committed,  ///< The database said so.
  refused,    ///< Rolled back for sure: run the unit again.
  in_doubt,   ///< Sent, and the answer is lost: open another session; the claims decide (P4).
};

/// How a COMMIT ended, and in the database's words why, unless it went well.
struct CommitAnswer {
  CommitAnswer(CommitResult how, std::string reason = {}) : result{how}, why{std::move(reason)} {}
  CommitResult result;
  std::string why;
  friend bool operator==(const CommitAnswer& answer, CommitResult expected) {
    return answer.result == expected;
  }
};

/// The one transaction in which a batch becomes true. Rolls back on destruction.
class Transaction {
 public:
  virtual ~Transaction() = default;
  virtual Ledger& ledger() = 0;
  virtual WaitingRoom& waiting_room() = 0;
  virtual Statements& statements() = 0;
  /// Throws what is known to have gone wrong in it already, without waiting: so that a handler
  /// which broke the contract is named, and not the one that happens to come next.
  virtual void verify() = 0;
  /// The runtime's own, for reruns; replaces the previous one. First lets everything that is queued
  /// finish, and throws what it has to throw: the event since the previous savepoint is to blame.
  virtual void savepoint() = 0;
  /// Undoes everything since the savepoint, and heals the poison of a `permanent` error. Throws any
  /// other again: only the whole unit can be repeated, and nobody is to blame.
  virtual void rollback_to_savepoint() = 0;
  /// Throws `contract_violation` if a handler ended the transaction, and `permanent` (rolled back)
  /// if a deferred constraint of the business tables refuses.
  virtual CommitAnswer commit() = 0;
};

/// Names a scope (semantics 1.2): equal keys of two scopes never meet.
struct ScopeName {
  ConsumerId consumer = 0;
  std::string_view handler;         ///< Empty unless the scope is a single handler.
  std::string_view source_or_rule;  ///< The event source, or the business key rule.
  std::string_view key_form;        ///< "uuid", "ulid", "hashed", "position", "bytes", ...
  bool always = false;  ///< Not the name of an event source: the limit does not count it.
};

/// One connection, used by one thread, with at most one open transaction.
class Session {
 public:
  virtual ~Session() = default;
  virtual std::unique_ptr<Transaction> begin() = 0;
  /// All committed positions of a subscription; `at` equals `next`. Also while a transaction that
  /// has not moved them is open.
  virtual std::vector<Position> positions(ConsumerId consumer, std::string_view source) = 0;
  /// The number of a scope, allotted on first use in a transaction of its own: call it while no
  /// transaction is open. Absent if the consumer has its 10,000 event sources and this would be
  /// another one: the source then goes into the key.
  virtual std::optional<std::int32_t> scope(const ScopeName& name) = 0;
  /// What may be taken out of the waiting room. Call it while no transaction is open.
  virtual Due due(const DueQuery& query) = 0;
  /// Absent: the consumer is not paused. Call it while no transaction is open.
  virtual std::optional<PauseRecord> pause(ConsumerId consumer) = 0;
};

class Housekeeping;
class Records;
class Decisions;
class Replays;
class Runs;

struct StoreTraits {
  /// Nobody else can hold a claim while our transaction is open: looking before claiming, as the
  /// optimistic mode does, is then a second walk to the same place.
  bool single_writer = false;
  /// All sessions belong to one thread.
  bool one_thread = false;
  /// Its connections are lent, and it may be always the same one: only one is in use at a time.
  bool one_connection = false;
};

/// A database. Every thread connects for itself.
class Store {
 public:
  virtual ~Store() = default;
  virtual StoreTraits traits() const = 0;
  virtual std::unique_ptr<Session> connect() = 0;
  virtual std::unique_ptr<Housekeeping> housekeeping() = 0;
  virtual std::unique_ptr<Records> records() = 0;
  virtual std::unique_ptr<Decisions> decisions() = 0;
  virtual std::unique_ptr<Replays> replays() = 0;
  virtual std::unique_ptr<Runs> runs() = 0;
};

/// How many event sources of a consumer get a scope of their own.
inline constexpr int event_sources_max = 10'000;

}  // namespace onefold
