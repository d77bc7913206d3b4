#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/config.h"
#include "onefold/daemon/schema_text.h"

namespace onefold::cli {
namespace {

constexpr const char* about_show =
    "Prints what is in force: the values of the files, of ONEFOLD__... variables and of ${NAME}\n"
    "references, and the defaults of the rest, as one configuration. Passwords are shown as ***.\n"
    "\n"
    "Example:\n"
    "  onefold config show --origin -c onefold.toml";

constexpr const char* about_schema =
    "Prints all that can stand in a configuration, as JSON Schema 2020-12, which editors use to\n"
    "complete and check it, or as the tables of the documentation.\n"
    "\n"
    "Example:\n"
    "  onefold config schema > onefold.schema.json";

struct ShowOptions {
  std::vector<std::string> config_paths;
  bool origin = false;
};

std::string line_of(const EffectiveKey& key, bool origin) {
  return key.name + " = " + key.value + (origin ? "  # " + key.origin : "") + "\n";
}

ExitCode show(const ShowOptions& options) {
  const LoadedConfig loaded = require_loaded(options.config_paths, ConfigUse::look);
  std::string text;
  for (const EffectiveKey& key : loaded.effective) {
    if (key.begins_table && !key.table.empty()) text += "\n" + key.table + "\n";
    text += line_of(key, options.origin);
  }
  print(text);
  return ExitCode::ok;
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("config", "Show the configuration, or what can stand in it");
  command->require_subcommand(1);

  CLI::App* show_command = command->add_subcommand("show", "Print the values that are in force");
  auto options = std::make_shared<ShowOptions>();
  add_config_option(*show_command, options->config_paths);
  show_command->add_flag("--origin", options->origin, "Say of each value where it comes from");
  show_command->footer(about_show);
  show_command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });

  CLI::App* schema_command =
      command->add_subcommand("schema", "Print what can stand in a configuration");
  auto format = std::make_shared<std::string>();
  add_output_option(*schema_command, *format, {"json", "markdown"});
  schema_command->footer(about_schema);
  schema_command->callback([format, &chosen] {
    chosen = [format] {
      print(*format == "markdown" ? schema_as_markdown() : schema_as_json());
      return ExitCode::ok;
    };
  });
}

}  // namespace onefold::cli
