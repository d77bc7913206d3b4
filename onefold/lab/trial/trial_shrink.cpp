#include "onefold/lab/trial/trial_shrink.h"

#include <algorithm>
#include <utility>

#include "onefold/lab/depth_first.h"

namespace onefold::lab {
namespace {

constexpr int few_deviations = 2;
constexpr int schedules_for_few = 2000;

class Shrinker {
 public:
  Shrinker(FailingSchedule failure, Player& player, std::chrono::steady_clock::time_point deadline)
      : best_{std::move(failure)}, player_{player}, deadline_{deadline} {}

  FailingSchedule shrink() {
    find_fewer();
    shorten();
    while (drop_an_event() && !is_late()) shorten();
    find_fewer();
    return best_;
  }

 private:
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  bool adopt(const std::vector<std::size_t>& left_out, const Schedule& schedule) {
    Follower follower{schedule};
    const Player::Result result = player_.play(follower);
    if (!result.defect || result.defect->kind != best_.defect.kind) return false;
    best_ = {left_out, follower.taken(), *result.defect};
    Schedule& kept = best_.schedule;
    while (!kept.empty() && kept.back() == 0) kept.pop_back();
    return true;
  }

  bool fails_undisturbed() {
    Follower undisturbed{{}};
    return player_.play(undisturbed).defect.has_value();
  }

  /// Choices one by one: without it, or as if it had not been asked for.
  void shorten() {
    for (bool better = true; better && !is_late();) {
      better = false;
      for (std::size_t i = best_.schedule.size(); i-- > 0;) {
        if (i >= best_.schedule.size() || best_.schedule[i] == 0) continue;
        Schedule without = best_.schedule;
        without[i] = 0;
        if (adopt(best_.left_out, without)) {
          better = true;
          continue;
        }
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        better = adopt(best_.left_out, without) || better;
      }
    }
  }

  /// The fewest choices at all, if one or two do, and of those the easiest to understand.
  void find_fewer() {
    const auto is = static_cast<int>(deviations(best_.schedule));
    find(best_.left_out, std::min(is, few_deviations));
  }

  bool find(const std::vector<std::size_t>& left_out, int deviations_max) {
    for (int count = 0; count <= deviations_max; ++count) {
      if (find_with(left_out, count)) return true;
    }
    return false;
  }

  bool find_with(const std::vector<std::size_t>& left_out, int count) {
    std::optional<Schedule> easiest;
    std::optional<TrialFaultKind> its_worst;
    DepthFirst guide{{.deviations_max = count, .preemptions_max = -1, .prune = false}};
    for (int i = 0; i < schedules_for_few && guide.next() && !is_late(); ++i) {
      const Player::Result result = player_.play(guide);
      if (!result.defect || result.defect->kind != best_.defect.kind) continue;
      if (easiest && result.worst >= its_worst) continue;
      easiest = guide.schedule();
      its_worst = result.worst;
    }
    return easiest && adopt(left_out, *easiest);
  }

  /// The same choices may mean something else without an event: they are looked for anew.
  bool drop_an_event() {
    std::size_t events = 0;
    for (const TrialSource& source : player_.spec().sources) events += source.deliveries.size();
    for (std::size_t i = events; i-- > 0 && !is_late();) {
      if (std::ranges::find(best_.left_out, i) != best_.left_out.end()) continue;
      if (best_.left_out.size() + 1 == events) break;
      std::vector<std::size_t> fewer = best_.left_out;
      fewer.push_back(i);
      std::ranges::sort(fewer);
      player_.leave_out(fewer);
      const auto is = static_cast<int>(deviations(best_.schedule));
      // An event alone may break what two together keep: that would be another failure.
      if (is > 0 && fails_undisturbed()) continue;
      if (adopt(fewer, best_.schedule) || find(fewer, std::min(is, few_deviations))) return true;
    }
    player_.leave_out(best_.left_out);
    return false;
  }

  FailingSchedule best_;
  Player& player_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

FailingSchedule shrink(FailingSchedule failure, Player& player,
                       std::chrono::steady_clock::time_point deadline) {
  return Shrinker{std::move(failure), player, deadline}.shrink();
}

}  // namespace onefold::lab
