#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/story.h"
#include "onefold/cli/terminal.h"
#include "onefold/decisions.h"

namespace onefold::cli {
namespace {

struct WhyOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string id;
  std::string source;
};

constexpr const char* footer =
    "Tells what became of one event, for every consumer: when it was applied and by which\n"
    "handlers, or why it was set aside and what a person decided, or that it was never seen. Ends\n"
    "with status 1 if no consumer has seen it.\n"
    "\n"
    "Example:\n"
    "  onefold inbox why evt_42 -c shop.toml\n"
    "  onefold inbox why evt_42 --source shop";

void advise_where_to_look(const Story& story, const std::string& config_argument) {
  advise("ids are compared byte by byte: is it spelled as in the event? onefold status" +
         config_argument + " shows how far the sources have been read");
  advise("an event that could not be read has no id: see onefold dead list" + config_argument);
  if (story.rows_searched > 0) {
    advise(
        "an event whose business key another event had claimed first leaves nothing under its own "
        "id. No command looks up the values of a key yet: keep one as entity or result, and search "
        "for it in onefold inbox export" +
        config_argument);
  }
  advise("a type that the configuration ignores leaves no evidence either");
}

ExitCode why(const WhyOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  const auto decisions = opened.store->decisions();
  const Story story = find_story(*opened.records, *decisions, {options.id, options.source});
  if (options.format == "json") {
    print(dumped(story_json(story)));
  } else {
    print(story_text(story, opened.config_argument));
    if (!story.seen()) advise_where_to_look(story, opened.config_argument);
  }
  return story.seen() ? ExitCode::ok : ExitCode::problems;
}

}  // namespace

void add_inbox_why(CLI::App& inbox, Action& chosen) {
  CLI::App* command = inbox.add_subcommand("why", "Tell what became of an event, and why");
  auto options = std::make_shared<WhyOptions>();
  command->add_option("id", options->id, "The event's id, exactly as it came")
      ->type_name("ID")
      ->required();
  command->add_option("--source", options->source, "The event's source, if several use the id")
      ->type_name("SOURCE");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return why(*options); }; });
}

}  // namespace onefold::cli
