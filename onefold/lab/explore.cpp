#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "onefold/lab/lab.h"
#include "onefold/lab/search.h"
#include "onefold/lab/seed.h"
#include "onefold/lab/shrink.h"

namespace onefold::lab {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::chrono::seconds shrinking_max{20};
constexpr int most_cheap_deviations = 2;

/// Deliveries of events that came earlier already.
std::vector<std::size_t> duplicates_of(const WorldSpec& spec) {
  std::vector<std::size_t> duplicates;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < spec.deliveries.size(); ++i) {
    const Delivery& delivery = spec.deliveries[i];
    if (!seen.emplace(delivery.event.source + '\n' + delivery.event.id, delivery.raw).second) {
      duplicates.push_back(i);
    }
  }
  return duplicates;
}

Violation describe(const Failure& failure, const WorldSpec& whole) {
  Engine engine{world_of(failure.seed, whole)};
  Follower follower{failure.seed.schedule};
  engine.world().reset();
  Timeline timeline{engine.world()};
  engine.run(follower, &timeline);
  Violation violation{.promise = failure.defect.promise,
                      .what = failure.defect.what,
                      .world = whole.name,
                      .seed = to_text(failure.seed, whole),
                      .cause = timeline.cause(),
                      .timeline = timeline.text(),
                      .deviations = static_cast<int>(deviations(failure.seed.schedule))};
  violation.timeline += "VIOLATION " + violation.promise + ": " + violation.what +
                        "\nCause: " + violation.cause + "\nSeed: " + violation.seed + "\n";
  return violation;
}

/// Explores one world.
class Exploration {
 public:
  Exploration(const WorldSpec& world, const Budget& budget, SteadyTime deadline)
      : world_{world}, budget_{budget}, deadline_{deadline} {
    report_.name = world.name;
  }

  std::optional<Violation> run() {
    const SteadyTime start = std::chrono::steady_clock::now();
    budget_.random_schedules > 0 ? at_random() : in_order();
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (failure_) {
      if (budget_.shrink) {
        *failure_ =
            lab::shrink(*failure_, world_, std::chrono::steady_clock::now() + shrinking_max);
      }
      return describe(*failure_, world_);
    }
    return missing_landmark();
  }
  const WorldReport& report() const noexcept { return report_; }

 private:
  Seed seed() const {
    return {.world = world_.name, .workers = world_.workers, .left_out = {}, .schedule = {}};
  }

  void in_order() {
    Engine engine{world_};
    if (budget_.cheap_first) {
      for (int cheap = 1; cheap <= most_cheap_deviations; ++cheap) {
        if (budget_.deviations_max >= 0 && cheap >= budget_.deviations_max) break;
        add(engine, sweep_in_order(engine, limits(cheap)), seed());
        if (failure_) return;
      }
    }
    add(engine, sweep_in_order(engine, limits(budget_.deviations_max)), seed());
  }

  /// Half of it without duplicates, which hide losses.
  void at_random() {
    Seed alone = seed();
    alone.left_out = duplicates_of(world_);
    for (const Seed& which : {seed(), alone}) {
      Engine engine{world_of(which, world_)};
      Limits half = limits(-1);
      half.schedules_max = (budget_.random_schedules + 1) / 2;
      add(engine, sweep_at_random(engine, half, budget_.seed, report_.schedules), which);
      if (failure_) return;
    }
  }

  Limits limits(int deviations_max) const {
    const std::uint64_t used = report_.schedules;
    return {.schedules_max = budget_.schedules_max > used ? budget_.schedules_max - used : 0,
            .deadline = deadline_,
            .deviations_max = deviations_max,
            .preemptions_max = budget_.preemptions_max,
            .prune = budget_.prune};
  }

  void add(const Engine& engine, const Sweep& sweep, Seed seed) {
    report_.schedules += sweep.schedules;
    report_.steps += sweep.steps;
    report_.states = std::max(report_.states, sweep.states);
    report_.closed = sweep.closed;
    for (std::size_t i = 0; i < landmark_count; ++i) {
      if (engine.reached().test(i)) report_.reached.insert(static_cast<Landmark>(i));
    }
    if (!sweep.defect) return;
    seed.schedule = sweep.schedule;
    failure_ = Failure{std::move(seed), *sweep.defect};
  }

  /// A world in which something never happens shows nothing about it.
  std::optional<Violation> missing_landmark() const {
    for (const Landmark landmark : world_.must_reach) {
      if (report_.reached.contains(landmark)) continue;
      const std::string what =
          "in none of " + std::to_string(report_.schedules) + " schedules was there: ";
      return Violation{.promise = "landmark",
                       .what = what + to_string(landmark),
                       .world = world_.name,
                       .seed = {},
                       .cause = {},
                       .timeline = {},
                       .deviations = 0};
    }
    return {};
  }

  const WorldSpec& world_;
  const Budget& budget_;
  SteadyTime deadline_;
  WorldReport report_;
  std::optional<Failure> failure_;
};

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

std::uint64_t Report::schedules() const {
  return std::transform_reduce(worlds.begin(), worlds.end(), std::uint64_t{0}, std::plus<>{},
                               [](const WorldReport& world) { return world.schedules; });
}

std::string Report::summary() const {
  std::string text;
  for (const WorldReport& world : worlds) {
    const double seconds = std::max(world.seconds, 1e-6);
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(world.schedules) / seconds);
    text += padded(world.name, 32) + padded(std::to_string(world.schedules), 10) + " schedules, " +
            padded(std::to_string(world.states), 8) + " states, " +
            padded(std::to_string(rate), 7) + "/s, " + (world.closed ? "closed" : "not closed") +
            "\n";
  }
  return text;
}

Report explore(std::span<const WorldSpec> worlds, const Budget& budget) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const SteadyTime deadline = now + budget.time_max;
  Report report;
  for (const WorldSpec& world : worlds) {
    Exploration exploration{world, budget, deadline};
    report.violation = exploration.run();
    report.worlds.push_back(exploration.report());
    if (report.violation || std::chrono::steady_clock::now() >= deadline) break;
  }
  return report;
}

Replay replay(std::span<const WorldSpec> worlds, std::string_view text) {
  const Seed seed = seed_from(text);
  const WorldSpec& whole = find_world(worlds, seed);
  Engine engine{world_of(seed, whole)};
  Follower follower{seed.schedule};
  engine.world().reset();
  Timeline timeline{engine.world()};
  const Engine::Result result = engine.run(follower, &timeline);
  Replay answer{.timeline = timeline.text(), .violation = {}, .trace_hash = result.trace_hash};
  if (result.defect) {
    answer.violation = describe(Failure{seed, *result.defect}, whole);
    answer.timeline = answer.violation->timeline;
  }
  return answer;
}

}  // namespace onefold::lab
