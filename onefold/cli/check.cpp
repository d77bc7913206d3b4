#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
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

std::string number_of(std::size_t count, const std::string& noun) {
  return counted(static_cast<std::int64_t>(count), noun);
}

void print_contents(const Config& config) {
  std::size_t handlers = 0;
  std::size_t statements = 0;
  for (const ConsumerConfig& consumer : config.consumers) {
    handlers += consumer.handlers.size();
    for (const HandlerConfig& handler : consumer.handlers) statements += handler.statements.size();
  }
  print(printable(config.path) + ": fine: " + number_of(config.sources.size(), "source") + ", " +
        number_of(config.consumers.size(), "consumer") + ", " + number_of(handlers, "handler") +
        ", " + number_of(statements, "statement") + "\n");
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

struct CheckOptions {
  std::vector<std::string> config_paths;
  bool no_environment = false;
};

ExitCode check(const CheckOptions& options) {
  const Config config =
      require_loaded(options.config_paths, ConfigUse::apply, !options.no_environment).config;
  // Without the environment it may be unknown which database it is.
  const bool exists = store_known(config) && store_exists(config);
  if (exists) {
    auto problems = check_statements(config);
    std::ranges::move(check_invariants(config), std::back_inserter(problems));
    if (!problems.empty()) {
      complain_about(config, problems);
      return ExitCode::configuration;
    }
  }
  if (!options.no_environment) warn_about_files(config);
  print_contents(config);
  const std::string place = store_known(config) ? " " + printable(store_place(config)) : "";
  print(exists ? "every statement fits the tables of" + place + "\n"
               : "there is no database" + place + " yet: the statements were not tried\n");
  return ExitCode::ok;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("check", "Find what is wrong with a configuration");
  auto options = std::make_shared<CheckOptions>();
  add_config_option(*command, options->config_paths);
  command->add_flag("--no-env", options->no_environment,
                    "Look at no variables and no files of secrets: what depends on them is fine");
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return check(*options); }; });
}

}  // namespace onefold::cli
