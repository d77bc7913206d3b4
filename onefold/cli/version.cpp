#include <sqlite3.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "onefold/cli/commands.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/config.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Example:\n"
    "  onefold version -o json";

ExitCode version(const std::string& format) {
  if (format == "json") {
    nlohmann::ordered_json object;
    object["version"] = ONEFOLD_VERSION;
    object["config_version"] = config_version;
    object["sqlite"] = sqlite3_libversion();
    print(object.dump() + "\n");
  } else {
    print("onefold " ONEFOLD_VERSION "\nconfig_version " + std::to_string(config_version) +
          "\nSQLite " + sqlite3_libversion() + "\n");
  }
  return ExitCode::ok;
}

}  // namespace

void add_version(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("version", "Print the version of this program");
  auto format = std::make_shared<std::string>();
  add_output_option(*command, *format, {"text", "json"});
  command->footer(footer);
  command->callback([format, &chosen] { chosen = [format] { return version(*format); }; });
}

}  // namespace onefold::cli
