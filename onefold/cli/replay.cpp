#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "onefold/cli/commands.h"
#include "onefold/cli/list_output.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/replay_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

struct ReplayListOptions {
  std::vector<std::string> config_paths;
  ListOptions list;
};

struct ReplayChangeOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string id;
  std::string reason;
  ReplayState state = ReplayState::paused;
};

ExitCode list(const ReplayListOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  ListOutput output{options.list, replay_columns()};
  for (const ReplayRecord& each : opened.store->replays()->list({})) {
    output.add(replay_json(each, now()));
  }
  output.finish("there was no replay so far");
  return ExitCode::ok;
}

ExitCode change(const ReplayChangeOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  const Decision decision{.who = user_at_host(), .reason = options.reason};
  const auto replay = opened.store->replays()->change(options.id, options.state, decision);
  if (!replay) {
    complain("there is no replay " + printable(options.id),
             "onefold replay list" + opened.config_argument + " shows all");
    return ExitCode::problems;
  }
  print(options.format == "json" ? dumped(replay_json(*replay, now()))
                                 : replay_text(*replay, now()));
  if (replay->state == options.state) return ExitCode::ok;
  complain("it has ended already: nothing was changed");
  return ExitCode::problems;
}

void add_replay_list(CLI::App& replay, Action& chosen) {
  CLI::App* command = replay.add_subcommand("list", "List replays, the newest first");
  auto options = std::make_shared<ReplayListOptions>();
  add_config_option(*command, options->config_paths);
  add_list_options(*command, options->list, names_of(replay_columns()));
  command->footer(
      "Lists the newest 1,000 replays, whether they have ended or not.\n"
      "\n"
      "Example:\n"
      "  onefold replay list -c shop.toml\n"
      "  onefold replay list -o json | jq '.[] | select(.state == \"running\") | .id'");
  command->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

void add_change(CLI::App& replay, Action& chosen, const std::string& word, ReplayState state,
                const char* summary, const char* footer) {
  CLI::App* command = replay.add_subcommand(word, summary);
  auto options = std::make_shared<ReplayChangeOptions>();
  options->state = state;
  command->add_option("id", options->id, "Its id in onefold replay list")
      ->type_name("ID")
      ->required();
  command->add_option("--reason", options->reason, "Why; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return change(*options); }; });
}

}  // namespace

void add_replay(CLI::App& app, Action& chosen) {
  CLI::App* replay = app.add_subcommand("replay", "Try many events again, and watch over it");
  replay->require_subcommand(1);
  replay->footer(
      "A replay makes events that were set aside due, or reads a range of a source again, a few\n"
      "first and then more, as fast as they are applied or at a rate. onefold run does the work.\n"
      "What a replay has done survives its end, and each event is applied once, whatever is\n"
      "stopped or started twice.\n"
      "\n"
      "Example:\n"
      "  onefold replay start --consumer billing --class rows --reason \"accounts added\" "
      "--preview\n"
      "  onefold replay list");
  add_replay_start(*replay, chosen);
  add_replay_list(*replay, chosen);
  add_replay_show(*replay, chosen);
  add_change(
      *replay, chosen, "pause", ReplayState::paused, "Make no more events due",
      "What is due already goes on.\n"
      "\n"
      "Example:\n"
      "  onefold replay pause 0193b0a4-7c55-7000-8000-1f0e4b9f8a01 --reason \"too much load\"");
  add_change(
      *replay, chosen, "resume", ReplayState::running, "Let a paused replay go on",
      "Goes on where it stood. If it had paused because events failed, these are tried again\n"
      "first.\n"
      "\n"
      "Example:\n"
      "  onefold replay resume 0193b0a4-7c55-7000-8000-1f0e4b9f8a01 --reason \"mended\"");
  add_change(
      *replay, chosen, "cancel", ReplayState::cancelled, "End a replay for good",
      "Events of it that are due and not settled are dead again, as before; what was applied\n"
      "stays applied.\n"
      "\n"
      "Example:\n"
      "  onefold replay cancel 0193b0a4-7c55-7000-8000-1f0e4b9f8a01 --reason \"wrong filter\"");
}

}  // namespace onefold::cli
