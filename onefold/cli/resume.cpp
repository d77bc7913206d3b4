#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "onefold/cli/commands.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/terminal.h"
#include "onefold/decisions.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

struct ResumeOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string consumer;
  std::string reason;
};

constexpr const char* footer =
    "Ends the pause of a consumer that had stopped taking events because so many failed the same\n"
    "way (see breaker in docs/configuration.md). It goes on within a second where onefold run is\n"
    "running; what had failed is tried again. Ends with status 1 if the consumer is not paused.\n"
    "\n"
    "Example:\n"
    "  onefold status\n"
    "  onefold resume billing --reason \"the missing column is there now\"";

ExitCode resume(const ResumeOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.consumer);
  const Decision decision{.who = user_at_host(), .reason = options.reason};
  const bool resumed = opened.store->decisions()->resume(options.consumer, decision);
  if (options.format == "json") {
    print(dumped_line({{"consumer", json_text(options.consumer)}, {"resumed", resumed}}));
  } else if (resumed) {
    print("consumer " + printable(options.consumer) + " goes on\n");
  }
  if (resumed) return ExitCode::ok;
  complain("the consumer " + printable(options.consumer) + " is not paused: nothing was changed",
           "onefold status" + opened.config_argument + " shows which are");
  return ExitCode::problems;
}

}  // namespace

void add_resume(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("resume", "End the pause of a consumer, with a reason");
  auto options = std::make_shared<ResumeOptions>();
  command->add_option("consumer", options->consumer, "Its name in onefold status")
      ->type_name("CONSUMER")
      ->required();
  command->add_option("--reason", options->reason, "Why that is right; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return resume(*options); }; });
}

}  // namespace onefold::cli
