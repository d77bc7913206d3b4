#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "onefold/lab/choice.h"

namespace onefold::lab {

/// One schedule at random. By swarm: a random half of the kinds of faults is switched off in it.
/// Either it chooses anew at each step, or by PCT: workers have priorities, which change at a few
/// random moments, and the first that can goes on (Burckhardt and others, 2010).
class RandomWalk final : public Guide {
 public:
  RandomWalk(std::uint64_t seed, std::size_t workers, int steps_expected);
  std::size_t choose(std::span<const Option> options) override;
  bool wants_states() const override { return false; }
  bool enter(std::uint64_t /*state*/, std::size_t /*current*/) override { return true; }
  const Schedule& schedule() const noexcept { return schedule_; }

 private:
  bool is_on(Act act) const { return (switched_on_ >> static_cast<unsigned>(act) & 1U) != 0; }
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(random_() >> 16U) % limit;
  }
  std::size_t by_priority(std::span<const Option> options);

  std::mt19937_64 random_;
  std::uint32_t switched_on_ = 0;
  bool by_priority_;
  std::vector<std::uint32_t> priorities_;
  std::vector<int> changes_;  ///< At which steps a priority falls.
  int step_ = 0;
  std::uint32_t lowest_ = 1000;
  Schedule schedule_;
};

}  // namespace onefold::lab
