#pragma once

#include <cstdint>
#include <string>

#include "onefold/lab/trial/trial.h"

/// What the lab has found, for people and for programs.
namespace onefold::cli {

/// `seed` is that of the random schedules; `replay_arguments` are what `lab replay` needs besides
/// the failure's own seed.
void print_lab_report(const lab::TrialReport& report, std::uint64_t seed,
                      const std::string& replay_arguments);
void print_lab_report_json(const lab::TrialReport& report, std::uint64_t seed);
void print_lab_replay(const lab::TrialReplay& replay, const std::string& replay_arguments);
void print_lab_replay_json(const lab::TrialReplay& replay);

}  // namespace onefold::cli
