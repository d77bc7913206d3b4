#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/source.h"

/// The disorder lab on a real SQLite database: runs a team's own handlers on copies of its database
/// through many orders of steps, crashes and lost answers, and compares what comes out with an
/// undisturbed run. What it steps is the runtime itself, on the store itself.
namespace onefold::lab {

struct TrialSource {
  SourceFactory source;              ///< For its name, class and rules: it is never opened.
  std::vector<Delivery> deliveries;  ///< Decoded, in their order.
  bool id_is_place = false;          ///< Ids are made of the place: a second copy gets another.
};

/// A SELECT that must return no row in any committed state.
struct TrialInvariant {
  std::string name;  ///< "CONSUMER.NAME"
  std::string sql;
};

/// Which consumer reads which source, by their places.
struct TrialSubscription {
  std::size_t consumer = 0;
  std::size_t source = 0;
};

struct TrialSpec {
  std::string database;  ///< The SQLite file. It is only read.
  std::vector<Consumer> consumers;
  std::vector<TrialSource> sources;
  std::vector<TrialSubscription> subscriptions;
  std::vector<TrialInvariant> invariants;
  /// All that the handlers execute: tables that none of it can write are not compared. Empty: it is
  /// not known, and all tables are.
  std::vector<std::string> statements = {};
  std::vector<std::string> ignored = {};  ///< "TABLE.COLUMN": not compared.
  /// Of each source so many are taken, the first that the database does not know yet.
  std::size_t events_max = 6;
  /// Every source is taken for a queue that gives no order, with two workers.
  bool any_order = false;
  std::int64_t day = 0;  ///< Since 1970; its midnight is what SQL takes for now.
};

/// How much to try. What ends first ends it.
struct TrialBudget {
  std::uint64_t schedules_max = UINT64_MAX;
  std::chrono::milliseconds time_max{10'000};  ///< Shrinking a failure comes on top of it.
  std::uint64_t seed = 1;
  std::function<bool()> is_stopped = {};                                   ///< Asked often.
  std::function<void(std::uint64_t schedules, double seconds)> tell = {};  ///< Called often.
};

/// The smallest schedule that was found.
struct TrialFailure {
  std::string kind;  ///< "result", "decision", "invariant", "liveness", "stopped", "determinism"
  std::string what;
  std::string seed;  ///< For `replay_trial`.
  std::string cause;
  std::string timeline;
  std::vector<std::string> differences;  ///< The first rows that differ, a line each.
  std::string advice;
  std::size_t deviations = 0;
};

struct TrialReport {
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  std::uint64_t commits = 0;
  std::uint64_t duplicates_before = 0;  ///< Handed out before the first copy was committed.
  std::uint64_t duplicates_after = 0;
  std::map<std::string, std::uint64_t> faults;  ///< Kind to how often; all kinds that there are.
  std::size_t events = 0;
  double seconds = 0;
  std::vector<std::string> notices;  ///< What is not compared, and why.
  std::optional<TrialFailure> failure;
};

/// Explores until a failure is found or the budget is spent: each single fault at each place, then
/// at random. One thread; meanwhile the time and the random numbers of every SQLite connection that
/// this process opens are the lab's. Throws `Error`: `bad_configuration` for what a person has to
/// change first, such as a database that knows all the events.
TrialReport run_trial(const TrialSpec& spec, const TrialBudget& budget);

struct TrialReplay {
  std::string timeline;
  std::vector<std::string> notices;
  std::optional<TrialFailure> failure;
};
/// The schedule of a seed once more. `any_order`, `events_max` and `day` are those of the seed.
/// Throws `std::invalid_argument` if it cannot be read, and `Error` of kind `bad_configuration` if
/// the events are not the ones that it was found with.
TrialReplay replay_trial(const TrialSpec& spec, std::string_view seed);

/// A kind of fault that the lab can cause, and how often at most in one schedule.
struct TrialFault {
  std::string name;
  std::string meaning;
  int budget = 0;
};
std::vector<TrialFault> faults_of(const TrialSpec& spec);

}  // namespace onefold::lab
