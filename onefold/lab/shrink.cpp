#include "onefold/lab/shrink.h"

#include <algorithm>
#include <utility>

#include "onefold/lab/search.h"

namespace onefold::lab {
namespace {

constexpr std::uint64_t schedules_for_few = 3000;
constexpr int few_deviations = 2;

class Shrinker {
 public:
  Shrinker(Failure failure, const WorldSpec& whole, std::chrono::steady_clock::time_point deadline)
      : best_{std::move(failure)}, whole_{whole}, deadline_{deadline} {}

  Failure shrink() {
    shorten();
    while (smaller_world() && !is_late()) shorten();
    return best_;
  }

 private:
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  bool adopt(Engine& engine, const Seed& seed) {
    Follower follower{seed.schedule};
    const Engine::Result result = engine.run(follower);
    if (!result.defect || result.defect->promise != best_.defect.promise) return false;
    best_ = {seed, *result.defect};
    best_.seed.schedule = follower.taken();
    while (!best_.seed.schedule.empty() && best_.seed.schedule.back() == 0) {
      best_.seed.schedule.pop_back();
    }
    return true;
  }

  /// Fewer choices in the same world.
  void shorten() {
    Engine engine{world_of(best_.seed, whole_)};
    find_few(engine, best_.seed);
    bool better = true;
    while (better && !is_late()) {
      better = false;
      for (std::size_t i = best_.seed.schedule.size(); i-- > 0;) {
        if (i >= best_.seed.schedule.size() || best_.seed.schedule[i] == 0) continue;
        Seed without = best_.seed;
        without.schedule[i] = 0;
        better = adopt(engine, without) || better;
        if (i >= best_.seed.schedule.size() || best_.seed.schedule[i] == 0) continue;
        Seed shorter = best_.seed;
        shorter.schedule.erase(shorter.schedule.begin() + static_cast<std::ptrdiff_t>(i));
        if (deviations(shorter.schedule) < deviations(best_.seed.schedule)) {
          better = adopt(engine, shorter) || better;
        }
      }
    }
  }

  /// The fewest choices at all, if one or two do.
  bool find_few(Engine& engine, const Seed& seed) {
    const auto is = static_cast<int>(deviations(best_.seed.schedule));
    const bool same_world =
        seed.left_out == best_.seed.left_out && seed.workers == best_.seed.workers;
    const int most = same_world ? is - 1 : is;
    for (int count = 0; count <= std::min(most, few_deviations); ++count) {
      const Sweep sweep = sweep_in_order(engine, {.schedules_max = schedules_for_few,
                                                  .deadline = deadline_,
                                                  .deviations_max = count,
                                                  .prune = true});
      if (!sweep.defect || sweep.defect->promise != best_.defect.promise) continue;
      Seed found = seed;
      found.schedule = sweep.schedule;
      if (adopt(engine, found)) return true;
    }
    return false;
  }

  /// One delivery or one worker less, if the same goes wrong without it.
  bool smaller_world() {
    for (std::size_t i = whole_.deliveries.size(); i-- > 0;) {
      if (std::ranges::find(best_.seed.left_out, i) != best_.seed.left_out.end()) continue;
      if (best_.seed.left_out.size() + 1 == whole_.deliveries.size()) break;
      Seed smaller = best_.seed;
      smaller.left_out.push_back(i);
      std::ranges::sort(smaller.left_out);
      if (holds_in(smaller)) return true;
    }
    if (best_.seed.workers > 1) {
      Seed smaller = best_.seed;
      --smaller.workers;
      if (holds_in(smaller)) return true;
    }
    return false;
  }

  bool holds_in(const Seed& smaller) {
    if (is_late()) return false;
    Engine engine{world_of(smaller, whole_)};
    return adopt(engine, smaller) || find_few(engine, smaller);
  }

  Failure best_;
  const WorldSpec& whole_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

Failure shrink(Failure failure, const WorldSpec& whole,
               std::chrono::steady_clock::time_point deadline) {
  return Shrinker{std::move(failure), whole, deadline}.shrink();
}

}  // namespace onefold::lab
