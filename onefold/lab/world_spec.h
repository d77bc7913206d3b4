#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/event.h"
#include "onefold/evidence.h"
#include "onefold/records.h"
#include "onefold/source.h"

/// What a world of the disorder lab is made of; `lab.h` explores it.
namespace onefold::lab {

/// Business rows of the model's one table `cell`; its statements are in stores/memory/memory.h.
using Cells = std::map<std::string, std::int64_t>;

/// Which database the model behaves as.
enum class Dialect {
  postgres,  ///< Failures of queued statements surface late.
  mariadb,   ///< Failures surface at once; of two that wait for each other the smaller gives up.
  sqlite,    ///< One writer: workers share a session and take turns, a whole batch each.
};

/// How often each kind of fault may happen in one schedule.
struct Faults {
  int crash = 0;                   ///< One worker dies before any of its steps.
  int crash_all = 0;               ///< All of them: the process.
  int in_doubt = 0;                ///< The answer to a COMMIT is lost, which has worked or has not.
  int refused = 0;                 ///< The database rolls back instead, and says so.
  int lost_acknowledgement = 0;    ///< The broker never hears of it.
  int failed_acknowledgement = 0;  ///< An error, before or after the broker has taken it.
  int redelivery = 0;  ///< A delivery in hand goes to another worker as well. Not of owned logs.
  int disconnect = 0;  ///< A worker's session breaks, and its transaction with it.
  int revoke = 0;      ///< An owned log moves to the next worker; the old one is not told.
  int restore = 0;     ///< The database goes back to an earlier state; a queue's broker with it.
  int promote = 0;     ///< The last commit is lost by a failover. Owned logs only.
  int clock_jump = 0;  ///< Wall time jumps by an hour or ten years, ahead or back.
  int early = 0;       ///< The time of what waits comes while others are still at work.
  int replay = 0;      ///< A person has all dead letters tried again.
  int discard = 0;     ///< A person gives up the first event that is set aside.
};

/// What is committed at a moment, for invariants.
struct Committed {
  const Cells& cells;
  std::vector<InboxRecord> inbox;
  std::vector<DeferredRecord> deferred;
};

/// Must hold in every committed state.
struct Invariant {
  std::string name;
  std::function<bool(const Committed&)> holds;
};

/// What a run has to end with, stated by the author of a world and not by the runtime.
struct Expected {
  Cells cells;
  std::map<std::string, std::string> set_aside = {};  ///< Event id to "dead" or "conflict".
};

/// What an exploration has to come across: one that never does has shown nothing.
enum class Landmark {
  duplicate_before_commit,  ///< Handed out while the first copy was not committed yet.
  duplicate_after_commit,
  in_doubt_committed,
  in_doubt_rolled_back,
  refused_commit,
  lost_acknowledgement,
  blocked,
  deadlock,
  crash_in_hand,  ///< A worker died between claim and acknowledgement.
  rerun,
  dead_letter,
  conflict,
  zombie_refused,  ///< A worker that had lost its partition could not commit.
  restore_healed,
  stopped,             ///< A consumer stopped, as `WorldSpec::stops` wants.
  retried,             ///< What had been set aside was applied.
  behind,              ///< An event waited behind an earlier one of its entity.
  settled_by_another,  ///< What a worker had in hand had left the waiting room.
  replayed,            ///< A person had a dead letter tried again.
};
inline constexpr std::size_t landmark_count = 19;
const char* to_string(Landmark landmark) noexcept;

/// A small closed world: a few events, a few workers, and what may go wrong. A plain description.
struct WorldSpec {
  std::string name;  ///< Letters, digits, '_' and '-': part of seeds.
  Consumer consumer = {};
  std::vector<Delivery> deliveries = {};  ///< In their order; a duplicate stands there twice.
  Cells cells = {};                       ///< At the start.
  int workers = 2;                        ///< 1 to 8.
  int waiters = 0;  ///< Workers of the waiting room besides, 0 to 2. Needed where events wait.
  SourceClass source = SourceClass::queue;
  std::optional<ClaimMode> claim = {};  ///< Absent: as the source suggests.
  Dialect dialect = Dialect::postgres;
  std::size_t rerun_max = 64;  ///< Events in one transaction of a rerun.
  Faults faults = {};
  std::optional<Expected> expected = {};
  std::vector<Invariant> invariants = {};
  /// The effects of events add up, so that the cells are the sum over the inbox at any time.
  bool additive = true;
  bool stops = false;  ///< The consumer has to stop, with nothing applied.
  /// At the end a person has all dead letters tried once more.
  bool replays_at_end = false;
  /// Several ends are right: only what holds at any time is asked for.
  bool open_end = false;
  std::vector<Landmark> must_reach = {};
};

}  // namespace onefold::lab
