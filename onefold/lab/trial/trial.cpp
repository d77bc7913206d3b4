#include "onefold/lab/trial/trial.h"

#include <algorithm>
#include <utility>

#include "onefold/error.h"
#include "onefold/lab/depth_first.h"
#include "onefold/lab/random_walk.h"
#include "onefold/lab/trial/advice.h"
#include "onefold/lab/trial/player.h"
#include "onefold/lab/trial/trial_seed.h"
#include "onefold/lab/trial/trial_shrink.h"

// The search: each single fault at each place, then at random. Every hundredth schedule is played
// twice, and both must be the same.

namespace onefold::lab {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::uint64_t checked_every = 100;
constexpr std::chrono::seconds shrinking_max{20};

TrialSeed seed_of(const FailingSchedule& failure, const TrialSpec& spec) {
  return {.any_order = spec.any_order,
          .events_max = spec.events_max,
          .left_out = failure.left_out,
          .day = spec.day,
          .digest = digest_of(spec),
          .schedule = failure.schedule};
}

TrialFailure describe(const FailingSchedule& failure, Player& player) {
  const Player::Told told = player.tell(failure.schedule);
  return {.kind = failure.defect.kind,
          .what = failure.defect.what,
          .seed = to_text(seed_of(failure, player.spec())),
          .cause = told.cause,
          .timeline = told.timeline,
          .differences = failure.defect.differences,
          .advice = advice_for(failure.defect.kind, told.cause, player.spec()),
          .deviations = deviations(failure.schedule)};
}

class Search {
 public:
  Search(Player& player, const TrialBudget& budget)
      : player_{player}, budget_{budget}, start_{SteadyClock::now()} {}

  void run() {
    Follower undisturbed{{}};
    const int steps_expected = player_.play(undisturbed).steps;
    DepthFirst in_order{{.deviations_max = 1, .preemptions_max = -1, .prune = false}};
    while (!is_over() && in_order.next()) {
      const Player::Result result = player_.play(in_order);
      note(result, in_order.schedule());
    }
    while (!is_over()) {
      RandomWalk walk{budget_.seed * 0x9E3779B97F4A7C15U + schedules_, player_.workers(),
                      steps_expected};
      const Player::Result result = player_.play(walk);
      note(result, walk.schedule());
    }
  }

  double seconds() const {
    return std::chrono::duration<double>(SteadyClock::now() - start_).count();
  }
  std::uint64_t schedules() const noexcept { return schedules_; }
  std::uint64_t steps() const noexcept { return steps_; }
  const std::optional<FailingSchedule>& failure() const noexcept { return failure_; }

 private:
  bool is_over() const {
    return failure_ || schedules_ >= budget_.schedules_max ||
           SteadyClock::now() - start_ >= budget_.time_max ||
           (budget_.is_stopped && budget_.is_stopped());
  }

  void note(const Player::Result& result, const Schedule& schedule) {
    ++schedules_;
    steps_ += static_cast<std::uint64_t>(result.steps);
    if (result.defect) {
      failure_ = FailingSchedule{{}, schedule, *result.defect};
    } else if (schedules_ % checked_every == 0) {
      check_again(result, schedule);
    }
    if (budget_.tell) budget_.tell(schedules_, seconds());
  }

  void check_again(const Player::Result& first, const Schedule& schedule) {
    Follower again{schedule};
    const Player::Result second = player_.play(again);
    if (second.trace == first.trace && !second.defect) return;
    failure_ = FailingSchedule{
        {},
        schedule,
        {"determinism",
         "the same schedule has run differently the second time: a statement depends "
         "on something that the lab does not control"}};
  }

  Player& player_;
  const TrialBudget& budget_;
  SteadyClock::time_point start_;
  std::uint64_t schedules_ = 0;
  std::uint64_t steps_ = 0;
  std::optional<FailingSchedule> failure_;
};

TrialReport report_of(const Search& search, const Player& player) {
  const Player::Counts& counts = player.counts();
  TrialReport report{.schedules = search.schedules(),
                     .steps = search.steps(),
                     .commits = counts.commits,
                     .duplicates_before = counts.duplicates_before,
                     .duplicates_after = counts.duplicates_after,
                     .faults = {},
                     .events = 0,
                     .seconds = search.seconds(),
                     .notices = player.notices(),
                     .failure = {}};
  for (const TrialSource& source : player.spec().sources) report.events += source.deliveries.size();
  for (std::size_t i = 0; i < trial_fault_count; ++i) {
    const auto kind = static_cast<TrialFaultKind>(i);
    if (budget_of(kind, player.spec()) > 0) report.faults[name_of(kind)] = counts.faults.at(i);
  }
  return report;
}

}  // namespace

TrialReport run_trial(const TrialSpec& spec, const TrialBudget& budget) {
  Setting setting{spec};
  Player player{setting};
  Search search{player, budget};
  search.run();
  TrialReport report = report_of(search, player);
  if (!search.failure()) return report;
  FailingSchedule failure = *search.failure();
  if (failure.defect.kind != "determinism") {
    failure = shrink(std::move(failure), player, SteadyClock::now() + shrinking_max);
  }
  report.failure = describe(failure, player);
  return report;
}

TrialReplay replay_trial(const TrialSpec& spec, std::string_view text) {
  const TrialSeed seed = trial_seed_from(text);
  TrialSpec wanted = spec;
  wanted.any_order = seed.any_order;
  wanted.events_max = seed.events_max;
  wanted.day = seed.day;
  Setting setting{wanted};
  if (digest_of(setting.spec()) != seed.digest) {
    throw Error{
        ErrorKind::bad_configuration,
        "the seed was found with other events: replay it with the same files, --events, and "
        "a database that knows as many of them"};
  }
  Player player{setting};
  player.leave_out(seed.left_out);
  const Player::Told told = player.tell(seed.schedule);
  TrialReplay replay{.timeline = told.timeline, .notices = player.notices(), .failure = {}};
  if (told.result.defect) {
    replay.failure = describe({seed.left_out, seed.schedule, *told.result.defect}, player);
  }
  return replay;
}

}  // namespace onefold::lab
