#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "onefold/lab/choice.h"
#include "onefold/lab/oracle.h"
#include "onefold/lab/timeline.h"
#include "onefold/lab/world.h"

namespace onefold::lab {

/// Runs schedules of one world, one after the other, each from the start.
class Engine {
 public:
  explicit Engine(const WorldSpec& spec);
  ~Engine();

  enum class End { quiet, cut, violated };
  struct Result {
    End end = End::quiet;
    std::optional<Defect> defect;
    std::uint64_t trace_hash = 0;
    int steps = 0;
  };
  Result run(Guide& guide, Timeline* timeline = nullptr);
  static constexpr int steps_max = 5000;  ///< Of a schedule that comes to its end.

  World& world() noexcept { return world_; }
  const std::bitset<landmark_count>& reached() const noexcept { return reached_; }

 private:
  void learn_references();
  void reset();
  // What can be chosen.
  void list_steps();
  void list_faults();
  bool may_go_on(std::size_t number) const;
  bool goes_on_alone();
  void list_persons(bool any_in_hand);
  bool is_quiet();
  bool goes_on_later();
  Option choose(Guide& guide);
  // What was chosen.
  void act(const Option& option);
  void act_on_waiting(Act act);
  void step(std::size_t number);
  void step_blocked(std::size_t number, int holder);
  void remember();
  void restore(std::size_t commits_back);
  void restart();
  memory::CommitFate commit_fate();
  Act acknowledgement_fate();
  // What has come of it.
  void judge();
  void note_handed(std::size_t number);
  void notice_change();
  void finish(bool quiet);
  void check_totals();
  std::string stuck() const;
  std::uint64_t state();
  void reach(Landmark landmark) { reached_.set(static_cast<std::size_t>(landmark)); }
  void describe(const Option& option);

  /// A committed state that a restore can go back to.
  struct Past {
    std::shared_ptr<const void> database;
    Broker::Past broker;
    std::uint64_t digest = 0;
  };

  World world_;
  Oracle oracle_;
  std::bitset<landmark_count> reached_;

  // Of the schedule that is running.
  Guide* guide_ = nullptr;
  Timeline* timeline_ = nullptr;
  Faults left_;
  std::vector<Option> options_;
  std::size_t current_ = 0;  ///< Who goes on unless another is chosen.
  std::size_t actor_ = 0;    ///< Whose step it is, or was.
  int steps_ = 0;
  bool counts_are_exact_ = true;
  bool restored_ = false;
  bool restarted_ = false;
  bool replayed_at_end_ = false;
  bool lost_acknowledgement_ = false;
  std::optional<std::size_t> zombie_;
  std::uint64_t versions_ = 0;
  std::uint64_t deadlocks_ = 0;
  std::vector<Past> history_;
  Totals totals_;  ///< Of workers that have crashed.
  std::optional<Defect> defect_;
  StateDigest trace_;
};

}  // namespace onefold::lab
