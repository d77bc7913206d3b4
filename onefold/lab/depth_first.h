#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onefold/lab/choice.h"

namespace onefold::lab {

/// The states that were entered, with the schedule that came first. A flat hash table: there are
/// millions.
class Visited {
 public:
  /// The schedule that has entered the state first; `schedule` if there was none.
  std::uint32_t enter(std::uint64_t state, std::uint32_t schedule);
  std::size_t size() const noexcept { return size_; }

 private:
  struct Slot {
    std::uint64_t state = 0;
    std::uint32_t schedule = 0;  ///< 0: empty.
  };
  void grow();

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

/// All schedules of a world, by repeating each from the start with its last choice changed.
class DepthFirst final : public Guide {
 public:
  struct Bounds {
    int deviations_max = -1;   ///< Choices other than the default ones; -1: any number.
    int preemptions_max = -1;  ///< Of those the ones that interrupt a worker.
    bool prune = true;
  };
  explicit DepthFirst(const Bounds& bounds) : bounds_{bounds} {}

  /// Turns to the next schedule; also before the first. False: there is none.
  bool next();
  std::size_t choose(std::span<const Option> options) override;
  bool wants_states() const override { return bounds_.prune && place_ >= prefix_; }
  bool enter(std::uint64_t state, std::size_t current) override;

  Schedule schedule() const;
  std::size_t states() const noexcept { return visited_.size(); }

 private:
  struct Decision {
    std::uint8_t chosen = 0;
    std::uint64_t allowed = 1;  ///< A bit for each option.
    bool turn();                ///< To the next that is allowed.
  };
  std::uint64_t allowed(std::span<const Option> options) const;

  Bounds bounds_;
  std::vector<Decision> path_;
  std::size_t place_ = 0;   ///< Of the next choice of the schedule that is running.
  std::size_t prefix_ = 0;  ///< So many are repeated.
  int deviations_ = 0;
  int preemptions_ = 0;
  std::uint32_t schedules_ = 0;
  Visited visited_;
};

}  // namespace onefold::lab
