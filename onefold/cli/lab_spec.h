#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onefold/lab/trial/trial.h"

namespace CLI {
class App;
}

namespace onefold::cli {

/// What all commands of the lab are told.
struct LabOptions {
  std::vector<std::string> config_paths;
  std::vector<std::string> events;  ///< "FILE" or "SOURCE=FILE".
  std::vector<std::string> ignored;
  std::string order = "source";
  std::size_t events_max = 6;
  std::string format;
};
void add_lab_options(CLI::App& command, LabOptions& options);

/// The trial of a configuration: its consumers, the events of its files, a database that is there.
/// Tells what is missing, and ends the command then.
lab::TrialSpec require_trial(const LabOptions& options);

}  // namespace onefold::cli
