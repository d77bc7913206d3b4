#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/records.h"
#include "onefold/store.h"

/// How every command comes to its configuration and its database. What goes wrong is told here, and
/// ends the command by throwing `Stopped`, or `Error` as the store does.
namespace onefold::cli {

/// The configuration in these files, or in onefold.toml if there are none; all that is wrong with
/// it is told.
Config require_config(const std::vector<std::string>& paths, ConfigUse use);
/// The same, with what is in force. With `environment` false neither variables nor secrets are
/// looked at.
LoadedConfig require_loaded(const std::vector<std::string>& paths, ConfigUse use,
                            bool environment = true);

/// Tells problems of the configuration, each with its place.
void complain_about(const Config& config, const std::vector<ConfigProblem>& problems);

/// A database to look at, with the schema of this program. Nothing is created.
struct OpenedStore {
  Config config;
  std::string config_argument;  ///< See below.
  std::unique_ptr<Store> store;
  std::unique_ptr<Records> records;
};
OpenedStore open_to_look(const std::vector<std::string>& config_paths);

/// Ends the command if neither the database nor the configuration knows such a consumer; an empty
/// name is none. Counts nothing.
void require_consumer(const OpenedStore& opened, const std::string& name);

/// Ends the command if there is no database yet, with the way to create it as a hint.
void require_store(const Config& config, const std::string& config_argument);

/// " -c FILE" for hints, or nothing if the file is the one that is found without.
std::string config_argument(const std::vector<std::string>& paths);

}  // namespace onefold::cli
