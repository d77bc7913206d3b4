#include <algorithm>
#include <ctime>
#include <list>
#include <memory>
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

/// Explores one world, a stage at a time.
class Exploration {
 public:
  Exploration(const WorldSpec& world, const Budget& budget, SteadyTime deadline)
      : world_{world}, budget_{budget}, deadline_{deadline} {
    report_.name = world.name;
  }

  /// All schedules with at most so many deviations; -1: all there are.
  void in_order(int deviations_max) {
    const std::clock_t start = std::clock();
    if (!engine_) engine_ = std::make_unique<Engine>(world_);
    add(*engine_, sweep_in_order(*engine_, limits(deviations_max)), seed());
    note_time(start);
  }

  /// Half of it without duplicates, which hide losses.
  void at_random() {
    const std::clock_t start = std::clock();
    Seed alone = seed();
    alone.left_out = duplicates_of(world_);
    for (const Seed& which : {seed(), alone}) {
      Engine engine{world_of(which, world_)};
      Limits half = limits(-1);
      half.schedules_max = (budget_.random_schedules + 1) / 2;
      add(engine, sweep_at_random(engine, half, budget_.seed, report_.schedules), which);
      if (failure_) break;
    }
    note_time(start);
  }

  /// What went wrong, made small.
  std::optional<Violation> violation() {
    if (!failure_) return {};
    const SteadyTime until = std::chrono::steady_clock::now() + shrinking_max;
    if (budget_.shrink) *failure_ = lab::shrink(*failure_, world_, until);
    return describe(*failure_, world_);
  }
  const WorldReport& report() const noexcept { return report_; }

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

 private:
  Seed seed() const {
    return {.world = world_.name, .workers = world_.workers, .left_out = {}, .schedule = {}};
  }

  void note_time(std::clock_t start) {
    report_.seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
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

  const WorldSpec& world_;
  const Budget& budget_;
  SteadyTime deadline_;
  std::unique_ptr<Engine> engine_;
  WorldReport report_;
  std::optional<Failure> failure_;
};

/// How many deviations the stages of a search allow, cheap ones first.
std::vector<int> stages_of(const Budget& budget) {
  std::vector<int> stages;
  for (int cheap = 0; budget.cheap_first && cheap <= most_cheap_deviations; ++cheap) {
    if (budget.deviations_max < 0 || cheap < budget.deviations_max) stages.push_back(cheap);
  }
  stages.push_back(budget.deviations_max);
  return stages;
}

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
  const SteadyTime deadline = std::chrono::steady_clock::now() + budget.time_max;
  std::list<Exploration> explorations;
  for (const WorldSpec& world : worlds) explorations.emplace_back(world, budget, deadline);
  std::optional<Violation> violation;
  const auto all = [&](const auto& stage) {
    for (Exploration& exploration : explorations) {
      if (violation) return;
      stage(exploration);
      violation = exploration.violation();
    }
  };
  if (budget.random_schedules > 0) {
    all([](Exploration& exploration) { exploration.at_random(); });
  } else {
    for (const int deviations_max : stages_of(budget)) {
      all([&](Exploration& exploration) { exploration.in_order(deviations_max); });
    }
  }
  Report report;
  for (const Exploration& exploration : explorations) {
    report.worlds.push_back(exploration.report());
    if (!violation) violation = exploration.missing_landmark();
  }
  report.violation = std::move(violation);
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
