#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace onefold::lab {

/// What can happen next. In the first group one of them is chosen before every step; in the others
/// within a step that commits or acknowledges.
enum class Act : std::uint8_t {
  rest,  ///< Everything is done: the schedule ends.
  step,
  crash,
  crash_all,
  disconnect,
  redeliver,
  revoke,
  restore,
  promote,
  early,
  replay,
  discard,
  clock_jump,

  commit,
  commit_in_doubt_worked,
  commit_in_doubt_rolled_back,
  commit_refused,

  acknowledge,
  acknowledgement_lost,
  acknowledgement_refused,  ///< An error, and the broker has not taken it.
  acknowledged_with_error,  ///< An error, and the broker has taken it.

  hand_out_one,  ///< Of what could be received, one delivery alone has arrived.
};
const char* to_string(Act act) noexcept;

struct Option {
  Act act = Act::step;
  int who = -1;             ///< The worker, where there is one.
  int what = 0;             ///< Which delivery, which earlier state, how many commits, how far.
  bool interrupts = false;  ///< Another worker could go on.
};

/// The choices of one schedule. Choice 0 is always "the same worker goes on, nothing fails"; what
/// comes after the end is 0. A choice among one is none and not in here.
using Schedule = std::vector<std::uint8_t>;

/// Decides a schedule while it runs.
class Guide {
 public:
  virtual ~Guide() = default;
  /// One of several options, by its place.
  virtual std::size_t choose(std::span<const Option> options) = 0;
  /// Whether `enter` is to be called before the next step: it costs a digest.
  virtual bool wants_states() const = 0;
  /// A state that the schedule has come to, and which worker goes on by default. False: what
  /// follows from here is known.
  virtual bool enter(std::uint64_t state, std::size_t current) = 0;
};

/// Follows a schedule, then takes the default for as long as it lasts.
class Follower final : public Guide {
 public:
  explicit Follower(Schedule schedule) : schedule_{std::move(schedule)} {}
  std::size_t choose(std::span<const Option> options) override {
    std::size_t choice = taken_.size() < schedule_.size() ? schedule_[taken_.size()] : 0U;
    if (choice >= options.size()) choice = 0;
    taken_.push_back(static_cast<std::uint8_t>(choice));
    return choice;
  }
  bool wants_states() const override { return false; }
  bool enter(std::uint64_t /*state*/, std::size_t /*current*/) override { return true; }
  /// What was chosen: as the schedule, but for choices that there were not.
  const Schedule& taken() const noexcept { return taken_; }

 private:
  Schedule schedule_;
  Schedule taken_;
};

/// Choices other than the default ones.
std::size_t deviations(const Schedule& schedule) noexcept;

}  // namespace onefold::lab
