#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/formats/state_digest.h"
#include "onefold/lab/choice.h"
#include "onefold/lab/timeline.h"
#include "onefold/lab/trial/business.h"
#include "onefold/lab/trial/stage.h"
#include "onefold/lab/trial/trial_faults.h"

namespace onefold::lab {

/// What went wrong in a schedule.
struct TrialDefect {
  std::string kind;  ///< As in `TrialFailure`.
  std::string what;
  std::vector<std::string> differences = {};
};

/// Plays schedules of a trial, one after the other, each from the start, and judges them.
class Player {
 public:
  /// Learns what is right from undisturbed runs. Throws `Error` if the handlers cannot run at all.
  explicit Player(Setting& setting);

  /// Plays on with these events left out, by their numbers over all sources.
  void leave_out(const std::vector<std::size_t>& events);
  struct Result {
    std::optional<TrialDefect> defect;
    std::uint64_t trace = 0;
    int steps = 0;
    /// Of the faults that happened the last one in the order of kinds; absent: there was none.
    std::optional<TrialFaultKind> worst = {};
  };
  Result play(Guide& guide);
  /// The same, written down.
  struct Told {
    Result result;
    std::string timeline;
    std::string cause;
  };
  Told tell(const Schedule& schedule);

  std::size_t workers() const noexcept { return stage_.size(); }
  const TrialSpec& spec() const noexcept { return setting_.spec(); }
  /// What is not compared.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  /// Over all schedules.
  struct Counts {
    std::array<std::uint64_t, trial_fault_count> faults{};
    std::uint64_t duplicates_before = 0;
    std::uint64_t duplicates_after = 0;
    std::uint64_t commits = 0;
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  static constexpr int steps_max = 3000;  ///< Of a schedule that comes to its end.
  /// How it has to end.
  struct Reference {
    std::uint64_t digest = 0;
    BusinessRows rows;
    std::vector<std::string> verdicts;
  };

  // Learning, in player_learning.cpp.
  void write_scripts();
  BusinessRows rows_of_run(Guide& guide, Timestamp now, std::uint64_t seed);
  void ignore_columns(Business& business);
  void learn_what_varies();
  void learn();
  Timestamp now() const;
  // What can be chosen, and is, in player.cpp.
  void reset(Timestamp now, std::uint64_t seed);
  Result play_on(Guide& guide);
  bool may_switch() const;
  void list_steps();
  void list_faults();
  Option choose();
  int& left(TrialFaultKind kind) { return left_[static_cast<std::size_t>(kind)]; }
  // What then happens, in player_acts.cpp.
  std::string in_words(const Option& option);
  void describe(const Option& option);
  void act(const Option& option);
  void step(std::size_t number);
  void restore(std::size_t commits_back);
  Act commit_fate();
  Act acknowledgement_fate(bool is_log);
  std::optional<std::size_t> arrival(std::span<const std::size_t> entries, bool ordered);
  void note_handed(std::size_t subscription, std::size_t entry);
  // What has come of it, in player_judge.cpp.
  void judge();
  void check_invariants();
  void finish(bool quiet);
  std::vector<std::string> verdicts();
  std::vector<std::string> facts();

  Setting& setting_;
  Stage stage_;
  std::optional<Business> business_;
  std::vector<std::vector<bool>> left_out_;  ///< By source and event.
  std::optional<Reference> reference_;       ///< Absent while it is learnt.
  std::vector<std::string> notices_;
  Counts counts_;

  // Of the schedule that is running.
  Guide* guide_ = nullptr;
  Timeline* timeline_ = nullptr;
  std::array<int, trial_fault_count> left_{};
  std::vector<Option> options_;
  std::size_t current_ = 0;  ///< Who goes on unless another is chosen.
  int steps_ = 0;
  bool changed_ = false;                       ///< Something has been committed in this step.
  std::vector<std::uint64_t> history_;         ///< Where the log ended after each commit.
  std::vector<std::vector<bool>> was_handed_;  ///< By subscription and event.
  std::optional<TrialFaultKind> worst_;
  std::optional<TrialDefect> defect_;
  StateDigest trace_;
};

}  // namespace onefold::lab
