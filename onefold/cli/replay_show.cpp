#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/replay_view.h"
#include "onefold/cli/signals.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr std::chrono::milliseconds look_interval{250};

struct ReplayShowOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string id;
  bool watch = false;
};

constexpr const char* footer =
    "The report of a replay:\n"
    "  selected      events that it began with; what came later is no part of it\n"
    "  made due      of these, those whose turn has come\n"
    "  applied       of these, those that are settled now\n"
    "  failed again  of these, those that are dead again, or in conflict\n"
    "  gone          of these, those that a person has settled meanwhile\n"
    "  skipped       had left before their turn; known when it has ended\n"
    "  open          made due, and nothing has become of them yet\n"
    "Of a range of a source it shows what became of each delivery that was read again: applied is\n"
    "what had been lost, and duplicate what had been applied, or waits already.\n"
    "With --watch it waits until the replay ends or pauses, showing on a terminal how far it is, "
    "and\n"
    "ends with status 1 if events failed again, and with 75 if it pauses.\n"
    "\n"
    "Example:\n"
    "  onefold replay show 0193b0a4-7c55-7000-8000-1f0e4b9f8a01 --watch";

ReplayRecord require_replay(Replays& replays, const std::string& id, const std::string& config) {
  auto found = replays.list(id);
  if (!id.empty() && !found.empty()) return found.front();
  complain("there is no replay " + printable(id), "onefold replay list" + config + " shows all");
  throw Stopped{ExitCode::problems};
}

ExitCode show(const ReplayShowOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  const auto replays = opened.store->replays();
  ReplayRecord replay = require_replay(*replays, options.id, opened.config_argument);
  bool stopped = false;
  if (options.watch) {
    const StopOnSignal signals;
    while (replay.state == ReplayState::running && !signals.stopped()) {
      if (can_show_progress()) show_progress(replay_progress(replay, now()));
      std::this_thread::sleep_for(look_interval);
      replay = require_replay(*replays, options.id, opened.config_argument);
    }
    stopped = signals.stopped();
    show_progress({});
  }
  print(options.format == "json" ? dumped(replay_json(replay, now())) : replay_text(replay, now()));
  if (!options.watch || stopped) return ExitCode::ok;
  if (replay.state == ReplayState::paused) return ExitCode::try_again;
  return replay.failed > 0 ? ExitCode::problems : ExitCode::ok;
}

}  // namespace

void add_replay_show(CLI::App& replay, Action& chosen) {
  CLI::App* command =
      replay.add_subcommand("show", "Show how far a replay is, and what came of it");
  auto options = std::make_shared<ReplayShowOptions>();
  command->add_option("id", options->id, "Its id in onefold replay list")
      ->type_name("ID")
      ->required();
  command->add_flag("--watch", options->watch, "Wait until it ends or pauses");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

}  // namespace onefold::cli
