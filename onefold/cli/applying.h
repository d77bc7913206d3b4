#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "onefold/cli/opening.h"
#include "onefold/notice.h"
#include "onefold/runner.h"

/// How commands apply events: `run` those of all sources, others only what waits and is due.
namespace onefold::cli {

/// A database to apply events to, alone if it is SQLite. Says what stands in the way, and ends the
/// command then.
std::unique_ptr<Store> open_to_apply(const Config& config, const std::string& config_argument,
                                     bool migrate);
/// The same for a command that also looks and decides. Where another process holds the database,
/// `otherwise` says what to do instead.
OpenedStore open_to_apply_waiting(const std::vector<std::string>& config_paths,
                                  const std::string& otherwise);

/// Where the process leaves word of how it has died; empty: nowhere.
std::string state_folder(const Config& config);

/// All consumers with all their sources.
void add_consumers(Runner& runner, const Config& config);

/// Tells what a run has to say.
void tell(const Notice& notice);

/// Tries what waits and is due, until nothing is. Shows progress, and ends early with a signal.
void apply_waiting(const OpenedStore& opened);

/// Those of these consumers that are paused.
std::vector<PauseRecord> pauses_of(const OpenedStore& opened,
                                   const std::set<std::string>& consumers);

/// Says which consumers are paused, and why, and how to go on.
void complain_about_pauses(const std::vector<PauseRecord>& paused,
                           const std::string& config_argument);

}  // namespace onefold::cli
