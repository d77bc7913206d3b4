#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/table.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Creates the database if there is none, and brings Onefold's own tables (onefold_*) up to\n"
    "date; yours are not touched. Running it again changes nothing. Stop onefold run first.\n"
    "\n"
    "With --sql it prints what it would do, for someone else to do with the rights that it takes;\n"
    "onefold run itself needs none to change the schema.\n"
    "\n"
    "Example:\n"
    "  onefold migrate -c shop.toml\n"
    "  onefold migrate --sql > onefold.sql";

ExitCode migrate(const std::vector<std::string>& config_paths) {
  const Config config = require_config(config_paths, ConfigUse::look);
  const auto store = open_store(config, Access::run);
  Table table{
      {{.title = "version", .align = Table::Align::right}, {.title = "name"}, {.title = "state"}}};
  for (const Migration& each : store->housekeeping()->migrate()) {
    table.add(
        {std::to_string(each.version), each.name, each.applied_now ? "applied now" : "was there"});
  }
  print(emphasized(table.header()) + "\n" + table.body() + printable(store_place(config)) +
        " is up to date\n");
  return ExitCode::ok;
}

ExitCode print_sql(const std::vector<std::string>& config_paths) {
  const Config config = require_config(config_paths, ConfigUse::look);
  require_store(config, config_argument(config_paths));
  const auto store = open_store(config, Access::look);
  for (const Migration& each : store->housekeeping()->pending()) {
    print("-- version " + std::to_string(each.version) + ": " + each.name + "\n" + each.sql + "\n");
  }
  return ExitCode::ok;
}

}  // namespace

void add_migrate(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("migrate", "Create or update Onefold's tables");
  auto paths = std::make_shared<std::vector<std::string>>();
  add_config_option(*command, *paths);
  command->footer(footer);
  auto only_print = std::make_shared<bool>(false);
  command->add_flag("--sql", *only_print, "Print the SQL that is missing, and change nothing");
  command->callback([paths, only_print, &chosen] {
    chosen = [paths, only_print] { return *only_print ? print_sql(*paths) : migrate(*paths); };
  });
}

}  // namespace onefold::cli
