#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/decisions.h"
#include "onefold/evidence.h"

/// Replays as objects: many events are tried again, at a rate, and what became of them is counted:
/// events that were set aside, or those of a range of a source. `onefold run` does the work; what
/// it has done survives its end.
namespace onefold {

enum class ReplayState {
  running,
  paused,  ///< By a person, or because an event of the ramp has failed again.
  cancelled,
  done,
};
const char* to_string(ReplayState state) noexcept;
std::optional<ReplayState> replay_state_from(std::string_view name) noexcept;

/// Where a range ends: what the consumer had passed of a partition when the replay was started.
struct RangeEnd {
  std::string incarnation;
  std::string partition;
  Offset end;
  bool operator==(const RangeEnd&) const = default;
};

/// Deliveries of a source that the consumer has passed already, handed out once more. They keep
/// their identity: what was applied is a duplicate, and what was lost is applied.
struct SourceRange {
  std::string source = {};               ///< Empty: no range; the replay takes what is set aside.
  std::uint64_t from = 0;                ///< Deliveries before this offset are left out.
  std::optional<std::uint64_t> to = {};  ///< As it was asked for; `ends` regard it already.
  std::vector<RangeEnd> ends = {};       ///< Pinned by the start; what comes later is outside.
};

struct ReplayRequest {
  std::string id;              ///< A UUIDv7, made by whoever asks.
  std::string consumer;        ///< Never empty.
  DeferredFilter filter = {};  ///< Only `dead` and `quarantine` can be replayed.
  SourceRange range = {};      ///< Instead of the filter. Its ends are found by the start.
  std::int64_t rate = 0;       ///< Events a second; 0: as fast as they are applied.
  /// So many first, then so many more, then ..., then the rest. Each waits until those before have
  /// been applied; if one of them fails again, the replay pauses.
  std::vector<std::int64_t> ramp = {1, 10, 100};
  Decision decision;
};

struct ReplayRecord {
  std::string id;
  std::string consumer;
  DeferredFilter filter;
  SourceRange range;
  std::int64_t up_to = 0;  ///< Rows that came later are not part of it.
  std::int64_t rate = 0;
  std::vector<std::int64_t> ramp;
  std::string who;
  std::string reason;
  ReplayState state = ReplayState::running;
  std::string note;  ///< Why it is paused.
  Timestamp started_at;
  std::optional<Timestamp> ended_at;
  std::int64_t selected = 0;  ///< Rows that it began with.
  std::int64_t due = 0;       ///< Of those, how many were made due so far.
  std::int64_t applied = 0;   ///< Of those, how many are settled.
  std::int64_t failed = 0;    ///< Of those, how many are dead again, or in conflict.
  std::int64_t gone = 0;      ///< Of those, how many a person has settled meanwhile.

  // Of a range: `due` counts deliveries that were handed out and whose transaction is committed,
  // `failed` those that are dead or in conflict. `selected` and `gone` stay 0.
  std::int64_t duplicate = 0;  ///< Had been applied, or wait already.
  std::int64_t stale = 0;
  std::int64_t deferred = 0;  ///< Wait for another try, and go on by themselves.
  std::int64_t conflict = 0;  ///< Counted in `failed`, too.
  std::int64_t ignored = 0;
  std::int64_t accepted = 0;  ///< Failures that a person has seen: they do not pause it again.
  bool is_of_range() const noexcept { return !range.source.empty(); }
  /// Rows that had left before their turn; known when it is done.
  std::int64_t skipped() const noexcept;
  /// Made due, and nothing has become of them yet.
  std::int64_t open() const noexcept { return is_of_range() ? 0 : due - applied - failed - gone; }
};

/// What a replay would do.
struct ReplayPreview {
  std::int64_t selected = 0;
  std::int64_t up_to = 0;
};

struct StartedReplay {
  ReplayRecord replay;
  bool is_new = true;  ///< False: the same one was running or paused already, and goes on.
};

/// On a connection of its own, used by one thread; every call is one transaction, and every
/// decision leaves an audit row in it. Throws `Error`.
class Replays {
 public:
  virtual ~Replays() = default;
  virtual ReplayPreview preview(const DeferredFilter& filter) = 0;
  /// The same range with its ends, where the consumer stands now. Throws `bad_configuration` for an
  /// unknown consumer.
  virtual SourceRange preview(std::string_view consumer, SourceRange wanted) = 0;
  /// Pins what there is now. Asking twice is asking once: while a replay of the same consumer and
  /// filter has not ended, that one is the answer. Throws `bad_configuration` for an unknown
  /// consumer.
  virtual StartedReplay start(const ReplayRequest& request) = 0;
  /// The newest first; with an id only that one. At most 1,000.
  virtual std::vector<ReplayRecord> list(std::string_view id) = 0;
  /// Pauses, resumes or cancels. What is due already goes on but for a cancelled replay, whose rows
  /// are dead again; one that had paused because events failed tries these again first. Absent:
  /// there is no such replay. One that has ended stays as it is.
  virtual std::optional<ReplayRecord> change(std::string_view id, ReplayState state,
                                             const Decision& decision) = 0;
  /// Makes the next rows of the consumer's running replays due, as rate and ramp allow, and ends
  /// those of which nothing is left. Several processes may call it at the same time. Returns how
  /// many rows were made due.
  virtual std::int64_t advance(ConsumerId consumer) = 0;
  /// A running replay of a range is done; or pauses, if `note` says why. Its positions go when it
  /// has ended. One that does not run is left alone.
  virtual void finish_range(std::string_view id, const std::string& note) = 0;
};

/// The name under which the positions of a replay of a range stand beside those of sources.
std::string replay_position_source(std::string_view id);
bool is_replay_position_source(std::string_view source) noexcept;

/// The name of the decision in the audit: "replay pause", "replay resume", "replay cancel".
const char* audit_action(ReplayState wanted) noexcept;

/// At most so many rows of a replay are due and not settled, so that it can be paused at any time.
inline constexpr std::int64_t replay_open_max = 1000;

/// How many rows may be made due now. `elapsed` since rows were last made due.
std::int64_t replay_allowance(const ReplayRecord& replay, std::chrono::microseconds elapsed);
/// Why a replay in its ramp has to pause; empty: it need not.
std::string replay_objection(const ReplayRecord& replay);

}  // namespace onefold
