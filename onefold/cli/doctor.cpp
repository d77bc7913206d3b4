#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Asks the database what the promises stand on: its version, whether a power cut can take back\n"
    "what it has confirmed, rights, clocks, Onefold's tables, and the tables that handlers use.\n"
    "Changes nothing, and can run beside onefold run. What check finds offline, doctor does not\n"
    "repeat.\n"
    "\n"
    "Example:\n"
    "  onefold doctor -c shop.toml";

struct DoctorOptions {
  std::vector<std::string> config_paths;
  std::string format;
};

const char* word_for(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::fine:
      return "ok";
    case Finding::Severity::notice:
      return "note";
    case Finding::Severity::warning:
      return "warning";
    case Finding::Severity::failure:
      return "failure";
  }
  return "failure";
}

std::vector<std::string> statements_of(const Config& config) {
  std::vector<std::string> statements;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const HandlerConfig& handler : consumer.handlers) {
      for (const StatementConfig& statement : handler.statements) {
        statements.push_back(statement.sql);
      }
    }
  }
  return statements;
}

void print_finding(const Finding& finding) {
  std::string word = word_for(finding.severity);
  word.resize(8, ' ');
  print(word + " " + emphasized(printable(finding.topic)) + "  " + printable(finding.text, 1000) +
        "\n");
  if (!finding.hint.empty()) print("         hint: " + printable(finding.hint, 1000) + "\n");
}

Json json_of(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", word_for(finding.severity)},
                    {"topic", finding.topic},
                    {"text", finding.text},
                    {"hint", finding.hint}});
  }
  return list;
}

ExitCode examine(const DoctorOptions& options) {
  const Config config = require_config(options.config_paths, ConfigUse::look);
  require_store(config, config_argument(options.config_paths));
  const auto store = open_store(config, Access::look);
  const auto findings = store->housekeeping()->examine(statements_of(config));
  bool failed = false;
  for (const Finding& finding : findings) {
    failed = failed || finding.severity == Finding::Severity::failure;
    if (options.format != "json") print_finding(finding);
  }
  if (options.format == "json") print(dumped(json_of(findings)) + "\n");
  return failed ? ExitCode::problems : ExitCode::ok;
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("doctor", "Examine the database and its settings");
  auto options = std::make_shared<DoctorOptions>();
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return examine(*options); }; });
}

}  // namespace onefold::cli
