#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/housekeeping.h"
#include "onefold/store.h"

/// How every command comes to its configuration and its database. What goes wrong is told here, and
/// ends the command by throwing `Stopped`, or `Error` as the store does.
namespace onefold::cli {

/// The configuration at `path`; all that is wrong with it is told.
Config require_config(const std::string& path, ConfigUse use);

/// Tells problems of the configuration, each with its place.
void complain_about(const Config& config, const std::vector<ConfigProblem>& problems);

/// A database to look at, with the schema of this program. Nothing is created.
struct OpenedStore {
  Config config;
  std::unique_ptr<Store> store;
  std::unique_ptr<Housekeeping> housekeeping;
};
OpenedStore open_to_look(const std::string& config_path);

/// Ends the command if there is no database yet, with the way to create it as a hint.
void require_store(const Config& config);

/// " -c FILE" for hints, or nothing if the file is the one that is found without.
std::string config_argument(const Config& config);

}  // namespace onefold::cli
