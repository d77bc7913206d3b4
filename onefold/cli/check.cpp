#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Finds everything that is wrong with a configuration in one run, each with file, line and\n"
    "column. If the database exists, every statement is also prepared against its tables. Changes\n"
    "nothing, and can run beside onefold run.\n"
    "\n"
    "Example:\n"
    "  onefold check -c shop.toml && echo fine";

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void print_contents(const Config& config) {
  std::size_t handlers = 0;
  std::size_t statements = 0;
  for (const ConsumerConfig& consumer : config.consumers) {
    handlers += consumer.handlers.size();
    for (const HandlerConfig& handler : consumer.handlers) statements += handler.statements.size();
  }
  print(printable(config.path) + ": fine: " + counted(config.sources.size(), "source") + ", " +
        counted(config.consumers.size(), "consumer") + ", " + counted(handlers, "handler") + ", " +
        counted(statements, "statement") + "\n");
}

/// A file may still arrive, so that its absence is no error.
void warn_about_files(const Config& config) {
  for (const auto& [name, source] : config.sources) {
    std::error_code error;
    if (source.kind == SourceKind::file && !std::filesystem::exists(source.path, error)) {
      warn("there is no file " + printable(source.path) + " for [source." + name + "] yet");
    }
  }
}

ExitCode check(const std::string& config_path) {
  const Config config = require_config(config_path, ConfigUse::apply);
  if (store_exists(config)) {
    const auto problems = check_statements(config);
    if (!problems.empty()) {
      complain_about(config, problems);
      return ExitCode::configuration;
    }
  }
  warn_about_files(config);
  print_contents(config);
  const std::string place = printable(store_place(config));
  print(store_exists(config)
            ? "every statement fits the tables of " + place + "\n"
            : "there is no database " + place + " yet: the statements were not tried\n");
  return ExitCode::ok;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("check", "Find what is wrong with a configuration");
  auto path = std::make_shared<std::string>();
  add_config_option(*command, *path);
  command->footer(footer);
  command->callback([path, &chosen] { chosen = [path] { return check(*path); }; });
}

}  // namespace onefold::cli
