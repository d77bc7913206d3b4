#include "onefold/cli/opening.h"

#include <algorithm>
#include <utility>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"

namespace onefold::cli {
namespace {

constexpr const char* default_config = "onefold.toml";

}  // namespace

Config require_config(const std::vector<std::string>& paths, ConfigUse use) {
  return require_loaded(paths, use).config;
}

LoadedConfig require_loaded(const std::vector<std::string>& paths, ConfigUse use,
                            bool environment) {
  ConfigReadingOptions options;
  options.use = use;
  options.environment = environment ? std::optional{process_environment()} : std::nullopt;
  LoadedConfig loaded =
      load_config(paths.empty() ? std::vector<std::string>{default_config} : paths, options);
  if (loaded.problems.empty()) return loaded;
  complain_about(loaded.config, loaded.problems);
  throw Stopped{loaded.permission_denied ? ExitCode::permission : ExitCode::configuration};
}

void complain_about(const Config& config, const std::vector<ConfigProblem>& problems) {
  for (const ConfigProblem& problem : problems) {
    complain(to_string(problem.place, printable(config.path)) + ": " + problem.text, problem.hint);
  }
}

OpenedStore open_to_look(const std::vector<std::string>& config_paths) {
  OpenedStore opened;
  opened.config = require_config(config_paths, ConfigUse::look);
  opened.config_argument = config_argument(config_paths);
  require_store(opened.config, opened.config_argument);
  opened.store = open_store(opened.config, Access::look);
  opened.store->housekeeping()->check_schema();
  opened.records = opened.store->records();
  return opened;
}

void require_consumer(const OpenedStore& opened, const std::string& name) {
  if (name.empty()) return;
  std::vector<std::string> known;
  for (const ConsumerRecord& each : opened.records->consumers()) known.push_back(each.name);
  for (const ConsumerConfig& each : opened.config.consumers) known.push_back(each.name);
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  if (std::ranges::find(known, name) != known.end()) return;
  complain("there is no consumer \"" + printable(name) + "\"",
           known.empty() ? "no consumer has run on this database so far"
                         : nearest_hint(name, known, "consumers"));
  throw Stopped{ExitCode::usage};
}

void require_store(const Config& config, const std::string& config_argument) {
  if (store_exists(config)) return;
  complain("there is no database " + printable(store_place(config)) + " yet",
           "onefold migrate" + config_argument + " creates it, and so does onefold run" +
               config_argument + " --migrate");
  throw Stopped{ExitCode::configuration};
}

std::string config_argument(const std::vector<std::string>& paths) {
  if (paths.size() == 1 && paths.front() == default_config) return {};
  std::string argument;
  for (const std::string& path : paths) argument += " -c " + printable(path);
  return argument;
}

}  // namespace onefold::cli
