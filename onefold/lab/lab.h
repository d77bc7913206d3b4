#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/lab/world_spec.h"

/// The disorder lab: runs a consumer's handlers through every order of steps, every crash and every
/// lost answer that a small world can have, in one thread, on the model of a database. What it
/// steps is the runtime itself, no copy.
///
///     const lab::Report report = lab::explore(worlds, {.schedules_max = 100'000});
///     if (report.violation) std::cout << report.violation->timeline;
namespace onefold::lab {

/// How much to explore. What ends first ends it.
struct Budget {
  std::uint64_t schedules_max = 1'000'000;                     ///< For each world.
  std::chrono::milliseconds time_max = std::chrono::hours{1};  ///< For all of them.
  int preemptions_max = -1;  ///< Switches away from a worker that could go on; -1: any number.
  int deviations_max = -1;   ///< Choices other than "nothing fails, nobody is interrupted".
  bool prune = true;         ///< States that were seen before are not entered again.
  /// First all schedules of all worlds without a deviation, then with one, then with two.
  bool cheap_first = true;
  /// Instead of all schedules in order: this many at random, half of them by PCT, each with a
  /// random half of the kinds of faults, and with or without duplicates.
  std::uint64_t random_schedules = 0;
  std::uint64_t seed = 1;  ///< Of the random ones.
  bool shrink = true;
};

struct Violation {
  std::string promise;  ///< "P1", "P2", ..., "counting", "liveness", "invariant", "determinism",
                        ///< "landmark".
  std::string what;
  std::string world;
  std::string seed;      ///< For `replay`.
  std::string cause;     ///< The choices that are not the default ones, in words.
  std::string timeline;  ///< A column for each worker, one for the database, one for the broker.
  int deviations = 0;
};

struct WorldReport {
  std::string name;
  std::uint64_t schedules = 0;
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  bool closed = false;  ///< There is no other schedule within the limits but those seen.
  double seconds = 0;   ///< Of the processor.
  std::set<Landmark> reached = {};
};

struct Report {
  std::vector<WorldReport> worlds;
  std::optional<Violation> violation;  ///< The first that was found, shrunk.
  std::uint64_t schedules() const;
  std::string summary() const;  ///< A table, a line for each world.
};

/// Explores the worlds until a violation is found or the budget is spent. Throws
/// `std::invalid_argument` for a world that cannot be built. One thread; several calls at once are
/// independent as far as the handlers are.
Report explore(std::span<const WorldSpec> worlds, const Budget& budget);

/// The schedule of a seed once more.
struct Replay {
  std::string timeline;
  std::optional<Violation> violation;
  std::uint64_t trace_hash = 0;
};
/// Throws `std::invalid_argument` if no such world is there or the seed cannot be read.
Replay replay(std::span<const WorldSpec> worlds, std::string_view seed);

}  // namespace onefold::lab
