#include "onefold/cli/opening.h"

#include <utility>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/formats/text.h"

namespace onefold::cli {

Config require_config(const std::string& path, ConfigUse use) {
  LoadedConfig loaded = load_config(path, use);
  if (loaded.problems.empty()) return std::move(loaded.config);
  complain_about(loaded.config, loaded.problems);
  throw Stopped{loaded.permission_denied ? ExitCode::permission : ExitCode::configuration};
}

void complain_about(const Config& config, const std::vector<ConfigProblem>& problems) {
  for (const ConfigProblem& problem : problems) {
    complain(to_string(problem.place, printable(config.path)) + ": " + problem.text, problem.hint);
  }
}

OpenedStore open_to_look(const std::string& config_path) {
  OpenedStore opened;
  opened.config = require_config(config_path, ConfigUse::look);
  require_store(opened.config);
  opened.store = open_store(opened.config, Access::look);
  opened.housekeeping = opened.store->housekeeping();
  opened.housekeeping->check_schema();
  return opened;
}

void require_store(const Config& config) {
  if (store_exists(config)) return;
  complain("there is no database " + printable(store_place(config)) + " yet",
           "onefold migrate" + config_argument(config) + " creates it, and so does onefold run" +
               config_argument(config) + " --migrate");
  throw Stopped{ExitCode::configuration};
}

std::string config_argument(const Config& config) {
  return config.path == "onefold.toml" ? "" : " -c " + printable(config.path);
}

}  // namespace onefold::cli
