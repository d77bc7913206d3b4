#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/deferred.h"
#include "onefold/event.h"
#include "onefold/evidence.h"
#include "onefold/failure.h"

/// The one waiting room: what is set aside in `deferred`, seen from the transaction that takes it
/// out again (semantics 2 and 4.2).
namespace onefold {

/// A consumer that takes no events, and why.
struct Pause {
  ConsumerId consumer = 0;
  std::string who;                                 ///< "breaker", or a person.
  std::string reason;                              ///< In one sentence.
  FailureClass failure = FailureClass::statement;  ///< What the breaker has counted.
  /// Events that are dead since then for that class wait for another try instead: their failure
  /// was not their own. Absent: none do.
  std::optional<Timestamp> failing_since = {};
  std::chrono::milliseconds probe_in{0};  ///< When the first event is tried.
};

/// What must not be overtaken: is anything of this entity in front?
struct Front {
  std::string_view entity;
  /// The deferred row that asks; only rows with smaller ids count for `behind`. Absent: a fresh
  /// event, in front of which is all that waits.
  std::optional<std::int64_t> before = {};
};

/// What became of taken events of one replay, see replays.h.
struct ReplayTally {
  std::string replay;
  std::int64_t applied = 0;  ///< Also stale, and what turned out to be applied already.
  std::int64_t failed = 0;   ///< Dead again, or in conflict.
  // Of a range of a source, where `applied` is what it says.
  std::int64_t received = 0;
  std::int64_t duplicate = 0;
  std::int64_t stale = 0;
  std::int64_t deferred = 0;
  std::int64_t conflict = 0;  ///< Counted in `failed`, too.
  std::int64_t ignored = 0;
};

/// All of it commits with the transaction. Throws as `Ledger` does; nothing is queued.
class WaitingRoom {
 public:
  virtual ~WaitingRoom() = default;
  /// Takes events for this transaction, by compare-and-set (semantics 2.3): whoever raises `turn`
  /// holds the event, and its inbox rows, until the transaction ends. Sorted by id. One answer per
  /// element, in order: fresh is ours; otherwise somebody else has settled it, and the answer is
  /// what the inbox has under its first key (`known` without a time if that row is gone).
  /// Throws `bad_configuration` if the inbox row of an event that was taken is missing or final:
  /// only a change by hand can bring that about.
  virtual std::vector<Claim> take(std::span<const Waiting* const> events) = 0;
  /// Ends the wait of taken events: their rows go, with the bytes. To set one aside again is
  /// `Ledger::defer` with `Deferral::waiting`.
  virtual void leave(std::span<const std::int64_t> ids) = 0;
  /// For each, whether a committed row, or one of this transaction, is in front of it: one of the
  /// same consumer and entity with the reason `retry`, or `behind` and `before` it.
  virtual std::vector<bool> blocked(ConsumerId consumer, std::span<const Front> fronts) = 0;
  /// Pauses a consumer, unless it is paused already: then only `failing_since` is regarded. Rows
  /// that are dead for that class, with a first failure at `failing_since` or later, become
  /// `retry`, due at once, and their inbox rows `deferred`.
  virtual void pause(const Pause& pause) = 0;
  /// A probe has ended: the pause ends too, or the next probe comes after `next_in`.
  virtual void probed(ConsumerId consumer, bool worked, std::chrono::milliseconds next_in) = 0;
  /// Adds to the counts of replays, whose rows are locked by that. One that is not there is not
  /// regarded; if `received` is not 0, throws `contention` for one that has ended.
  virtual void tally(std::span<const ReplayTally> tallies) = 0;
};

struct DueQuery {
  ConsumerId consumer = 0;
  std::size_t limit = 0;
  /// Of a paused consumer: the one `retry` or due row that was tried the longest time ago, if its
  /// next probe is due, whether the row is or not. At most one is returned.
  bool probe = false;
};

/// What may be handed out now. Level-triggered: it depends on what is committed, and on no signal.
struct Due {
  /// In the order of their ids. With raw bytes and data.
  std::vector<DeferredRecord> events;
  /// When the next one's time comes, if `events` is empty; absent: nothing waits for a time.
  std::optional<std::chrono::microseconds> next_in;
};

/// A pause as it is committed.
struct PauseRecord {
  std::string consumer;
  std::string who;
  std::string reason;
  Timestamp since;
  int probes = 0;                         ///< That failed.
  std::chrono::microseconds probe_in{0};  ///< Until the next one; 0: now.
};

}  // namespace onefold
