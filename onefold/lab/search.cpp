#include "onefold/lab/search.h"

#include "onefold/lab/depth_first.h"
#include "onefold/lab/random_walk.h"

namespace onefold::lab {
namespace {

constexpr std::uint64_t checked_every = 1000;
constexpr std::uint64_t deadline_every = 64;

/// Runs a schedule twice, each time to its end.
std::optional<Defect> check_twice(Engine& engine, const Schedule& schedule) {
  Follower first{schedule};
  const Engine::Result one = engine.run(first);
  Follower second{schedule};
  const Engine::Result two = engine.run(second);
  if (one.trace_hash != two.trace_hash || one.steps != two.steps) {
    return Defect{"determinism",
                  "the same schedule has run differently the second time: a handler or a clock "
                  "depends on something that the lab does not control"};
  }
  return one.defect;
}

bool is_over(const Limits& limits, std::uint64_t schedules) {
  return schedules >= limits.schedules_max ||
         (schedules % deadline_every == 0 && std::chrono::steady_clock::now() >= limits.deadline);
}

/// One schedule more. False if it has a defect.
template <class Chooser>
bool add_schedule(Engine& engine, Chooser& guide, Sweep& sweep) {
  const Engine::Result result = engine.run(guide);
  ++sweep.schedules;
  sweep.steps += static_cast<std::uint64_t>(result.steps);
  sweep.defect = result.defect;
  if (!sweep.defect && sweep.schedules % checked_every == 0) {
    sweep.defect = check_twice(engine, guide.schedule());
  }
  if (sweep.defect) sweep.schedule = guide.schedule();
  return !sweep.defect;
}

}  // namespace

Sweep sweep_in_order(Engine& engine, const Limits& limits) {
  DepthFirst guide{{.deviations_max = limits.deviations_max,
                    .preemptions_max = limits.preemptions_max,
                    .prune = limits.prune}};
  Sweep sweep;
  while (!is_over(limits, sweep.schedules)) {
    if (!guide.next()) {
      sweep.closed = true;
      break;
    }
    if (!add_schedule(engine, guide, sweep)) break;
  }
  sweep.states = guide.states();
  return sweep;
}

Sweep sweep_at_random(Engine& engine, const Limits& limits, std::uint64_t seed,
                      std::uint64_t first) {
  Follower quiet{{}};
  const int steps_expected = engine.run(quiet).steps;
  Sweep sweep;
  while (!is_over(limits, sweep.schedules)) {
    RandomWalk guide{seed * 0x9E3779B97F4A7C15U + first + sweep.schedules, engine.world().size(),
                     steps_expected};
    if (!add_schedule(engine, guide, sweep)) break;
  }
  return sweep;
}

}  // namespace onefold::lab
