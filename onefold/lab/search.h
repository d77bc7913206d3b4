#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "onefold/lab/engine.h"

namespace onefold::lab {

/// What a search may cost, and where it must stop.
struct Limits {
  std::uint64_t schedules_max = 0;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  int deviations_max = -1;
  int preemptions_max = -1;
  bool prune = true;
};

/// What a search has seen.
struct Sweep {
  std::uint64_t schedules = 0;
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  bool closed = false;
  std::optional<Defect> defect;
  Schedule schedule;  ///< Of the defect.
};

/// All schedules in order, until one has a defect. Every thousandth is run twice more, unpruned:
/// both must be the same, and right.
Sweep sweep_in_order(Engine& engine, const Limits& limits);
/// Schedules at random: number `first`, `first` + 1, ... of this seed.
Sweep sweep_at_random(Engine& engine, const Limits& limits, std::uint64_t seed,
                      std::uint64_t first);

}  // namespace onefold::lab
