#include "onefold/lab/depth_first.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "onefold/formats/state_digest.h"

namespace onefold::lab {
namespace {
constexpr std::size_t options_max = 64;
}

std::uint32_t Visited::enter(std::uint64_t state, std::uint32_t schedule) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t place = state & mask;; place = (place + 1) & mask) {
    Slot& slot = slots_[place];
    if (slot.schedule == 0) {
      slot = {state, schedule};
      ++size_;
      return schedule;
    }
    if (slot.state == state) return slot.schedule;
  }
}

void Visited::grow() {
  const std::vector<Slot> before =
      std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(1024, slots_.size() * 2)));
  size_ = 0;
  for (const Slot& slot : before) {
    if (slot.schedule != 0) enter(slot.state, slot.schedule);
  }
}

bool DepthFirst::Decision::turn() {
  const unsigned next = chosen + 1U;
  const std::uint64_t rest = next < options_max ? allowed >> next : 0;
  if (rest == 0) return false;
  chosen = static_cast<std::uint8_t>(next + static_cast<unsigned>(std::countr_zero(rest)));
  return true;
}

bool DepthFirst::next() {
  if (schedules_++ > 0) {
    while (!path_.empty() && !path_.back().turn()) path_.pop_back();
    if (path_.empty()) return false;
  }
  prefix_ = path_.size();
  place_ = 0;
  deviations_ = preemptions_ = 0;
  return true;
}

std::uint64_t DepthFirst::allowed(std::span<const Option> options) const {
  if (bounds_.deviations_max >= 0 && deviations_ >= bounds_.deviations_max) return 1;
  std::uint64_t allowed = 1;
  for (std::size_t place = 1; place < std::min(options.size(), options_max); ++place) {
    const bool too_many = options[place].interrupts && bounds_.preemptions_max >= 0 &&
                          preemptions_ >= bounds_.preemptions_max;
    if (!too_many) allowed |= std::uint64_t{1} << place;
  }
  return allowed;
}

std::size_t DepthFirst::choose(std::span<const Option> options) {
  if (place_ == path_.size()) path_.push_back({0, allowed(options)});
  const Decision& decision = path_[place_++];
  if (decision.chosen >= options.size()) {
    throw std::logic_error{"the schedule cannot be repeated: something is not deterministic"};
  }
  if (decision.chosen != 0) ++deviations_;
  if (options[decision.chosen].interrupts) ++preemptions_;
  return decision.chosen;
}

/// Where something is bounded, less can follow from a state with less left.
bool DepthFirst::enter(std::uint64_t state, std::size_t current) {
  if (bounds_.deviations_max >= 0 || bounds_.preemptions_max >= 0) {
    StateDigest digest;
    digest.add(state);
    digest.add(current);
    digest.add(static_cast<std::uint64_t>(deviations_));
    digest.add(static_cast<std::uint64_t>(preemptions_));
    state = digest.value();
  }
  // A schedule that comes back to a state of its own goes on: it has to find its way out, or it is
  // stuck.
  return visited_.enter(state, schedules_) == schedules_;
}

Schedule DepthFirst::schedule() const {
  Schedule schedule;
  for (std::size_t i = 0; i < std::min(place_, path_.size()); ++i) {
    schedule.push_back(path_[i].chosen);
  }
  return schedule;
}

}  // namespace onefold::lab
