#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/deferred_view.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/story.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

struct WhyOptions {
  std::string config_path;
  std::string format;
  std::string id;
  std::string source;
};

constexpr const char* footer =
    "Tells what became of one event, for every consumer: when it was applied and by which\n"
    "handlers, or why it was set aside, or that it was never seen. Ends with status 1 if no\n"
    "consumer has seen it.\n"
    "\n"
    "Example:\n"
    "  onefold inbox why evt_42 -c shop.toml\n"
    "  onefold inbox why evt_42 --source shop";

ExitCode why(const WhyOptions& options) {
  const OpenedStore opened = open_to_look(options.config_path);
  const Story story =
      find_story(*opened.housekeeping, options.id, options.source, options.format == "json");
  if (options.format == "json") {
    print(dumped(story_json(story)));
  } else {
    print(story_text(story, config_argument(opened.config)));
    if (!story.seen()) {
      advise("ids are compared byte by byte; onefold status" + config_argument(opened.config) +
             " shows how far the sources have been read");
      advise("an event that could not be read has no id: see onefold dead list" +
             config_argument(opened.config));
    }
  }
  return story.seen() ? ExitCode::ok : ExitCode::problems;
}

}  // namespace

void add_inbox(CLI::App& app, Action& chosen) {
  CLI::App* inbox = app.add_subcommand("inbox", "Look up what became of an event");
  inbox->require_subcommand(1);
  inbox->footer("Example:\n  onefold inbox why evt_42");
  auto options = std::make_shared<WhyOptions>();
  CLI::App* command = inbox->add_subcommand("why", "Tell what became of an event, and why");
  command->add_option("id", options->id, "The event's id, exactly as it came")
      ->type_name("ID")
      ->required();
  command->add_option("--source", options->source, "The event's source, if several use the id")
      ->type_name("SOURCE");
  add_config_option(*command, options->config_path);
  add_output_option(*command, options->format);
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return why(*options); }; });
}

}  // namespace onefold::cli
