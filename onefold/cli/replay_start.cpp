#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/applying.h"
#include "onefold/cli/commands.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/replay_range.h"
#include "onefold/cli/replay_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"
#include "onefold/formats/uuid.h"

namespace onefold::cli {
namespace {

constexpr std::int64_t rate_max = 1'000'000;
constexpr std::size_t stages_max = 20;
constexpr std::int64_t stage_max = 1'000'000'000;

struct ReplayStartOptions {
  std::vector<std::string> config_paths;
  std::string format;
  DeferredFilter filter;
  SourceRange range;
  std::string reason;
  std::int64_t rate = 0;
  std::vector<std::int64_t> ramp = {1, 10, 100};
  bool preview = false;
  bool now = false;
};

constexpr const char* footer =
    "Tries many events again that are dead or in quarantine, each with all its attempts before "
    "it.\n"
    "What fits the filter now is the replay, and stays it: new arrivals are outside. By the ramp "
    "one\n"
    "event is tried first, then 10 more, then 100 more, then the rest; each stage waits until the\n"
    "one before is applied, and if one of them fails again, the replay pauses. Asking twice is\n"
    "asking once: while a replay with the same filter has not ended, that one goes on.\n"
    "With --source it takes no dead letters, but hands out once more what the consumer has read of "
    "a\n"
    "file: what was applied is a duplicate and stays as it is, and what was lost, as by a backup "
    "that\n"
    "was restored, is applied. It ends where the consumer stands now; what comes later is "
    "outside.\n"
    "onefold run does the work: nothing moves where none is running. With --now this command does\n"
    "it itself until the replay has ended or pauses, and ends with status 1 if events failed "
    "again.\n"
    "\n"
    "Example:\n"
    "  onefold replay start --consumer billing --class rows --reason \"accounts added\" --preview\n"
    "  onefold replay start --consumer billing --rate 50/s --reason \"the column is there now\"\n"
    "  onefold replay start --consumer billing --source orders --reason \"restored a backup\"";

std::optional<std::int64_t> number_from(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && number >= 1 && number <= most ? std::optional{number} : std::nullopt;
}

std::optional<std::int64_t> rate_from(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  return number_from(text, rate_max);
}

std::optional<std::vector<std::int64_t>> ramp_from_words(std::string_view text) {
  std::vector<std::int64_t> ramp;
  if (text == "none") return ramp;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto stage = number_from(text.substr(at, end - at), stage_max);
    if (!stage || ramp.size() == stages_max) return std::nullopt;
    ramp.push_back(*stage);
    at = end + 1;
  }
  return ramp;
}

std::string is_rate(const std::string& word) {
  if (rate_from(word)) return {};
  return "\"" + printable(word) + "\" is no rate: write events a second from 1/s to " +
         std::to_string(rate_max) + "/s";
}

std::string is_ramp(const std::string& word) {
  if (ramp_from_words(word)) return {};
  return "\"" + printable(word) +
         "\" is no ramp: write the numbers of events of its stages, such as 1,10,100, or none";
}

ExitCode preview_range(const ReplayStartOptions& options, const OpenedStore& opened) {
  const SourceRange range =
      opened.store->replays()->preview(options.filter.consumer, options.range);
  if (options.format == "json") {
    print(dumped_line({{"range", range_json(range)}}));
  } else {
    print("would read again: " + range_text(options.filter.consumer, range) +
          " (bytes; how many events these are is known when they are read); nothing was started\n");
  }
  return ExitCode::ok;
}

ExitCode preview(const ReplayStartOptions& options, const OpenedStore& opened) {
  if (!options.range.source.empty()) return preview_range(options, opened);
  const ReplayPreview preview = opened.store->replays()->preview(options.filter);
  if (options.format == "json") {
    print(dumped_line({{"selected", preview.selected}, {"up_to", preview.up_to}}));
  } else {
    print("would try " + counted(preview.selected, "event") + " again, of " +
          filter_text(options.filter) + "; nothing was started\n");
  }
  return ExitCode::ok;
}

ReplayRecord start(const ReplayStartOptions& options, const OpenedStore& opened) {
  ReplayRequest request;
  request.id = new_uuid(now());
  request.consumer = options.filter.consumer;
  request.filter = options.filter;
  request.range = options.range;
  request.rate = options.rate;
  request.ramp = options.ramp;
  request.decision = {.who = user_at_host(), .reason = options.reason};
  const StartedReplay started = opened.store->replays()->start(request);
  if (!started.is_new) {
    note(
        "a replay of the same events has not ended: it goes on as it was, and no other was "
        "started");
  }
  return started.replay;
}

void print_replay(const ReplayRecord& replay, const std::string& format) {
  print(format == "json" ? dumped(replay_json(replay, now())) : replay_text(replay, now()));
}

ExitCode start_for_others(const ReplayStartOptions& options, const OpenedStore& opened) {
  const ReplayRecord replay = start(options, opened);
  print_replay(replay, options.format);
  if (replay.state == ReplayState::paused) {
    advise("it is paused: onefold replay resume " + replay.id + opened.config_argument +
           " --reason TEXT lets it go on");
  } else {
    note("onefold run" + opened.config_argument +
         " does the work: where none is running, nothing moves");
    advise("onefold replay show " + replay.id + opened.config_argument + " --watch");
  }
  return ExitCode::ok;
}

ExitCode start_here(const ReplayStartOptions& options, const OpenedStore& opened) {
  const std::string id = start(options, opened).id;
  apply_waiting(opened);
  const ReplayRecord replay = opened.store->replays()->list(id).front();
  print_replay(replay, options.format);
  if (!has_ended(replay)) {
    const auto paused = pauses_of(opened, {replay.consumer});
    complain_about_pauses(paused, opened.config_argument);
    if (!paused.empty()) return ExitCode::try_again;
  }
  if (replay.state == ReplayState::paused) {
    complain("the replay is paused: " + printable(replay.note, 500),
             "onefold dead list" + opened.config_argument +
                 " --group shows why; onefold replay resume " + replay.id + opened.config_argument +
                 " --reason TEXT lets it go on");
    return ExitCode::try_again;
  }
  return replay.failed > 0 ? ExitCode::problems : ExitCode::ok;
}

ExitCode start_replay(const ReplayStartOptions& options) {
  if (options.now && !options.range.source.empty()) {
    complain("--now tries dead letters again; a source is read by onefold run",
             "leave --now out, and start onefold run --until-idle");
    throw Stopped{ExitCode::usage};
  }
  const bool here = options.now && !options.preview;
  const OpenedStore opened =
      here ? open_to_apply_waiting(options.config_paths,
                                   "without --now the process that runs does the work; nothing was "
                                   "started")
           : open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  require_range(opened, options.filter, options.range);
  if (options.preview) return preview(options, opened);
  return here ? start_here(options, opened) : start_for_others(options, opened);
}

}  // namespace

void add_replay_start(CLI::App& replay, Action& chosen) {
  CLI::App* command = replay.add_subcommand("start", "Start a replay of many events");
  auto options = std::make_shared<ReplayStartOptions>();
  add_config_option(*command, options->config_paths);
  add_dead_filter(*command, options->filter, replayable_kinds());
  add_range_options(*command, options->range);
  command->get_option("--consumer")->required();
  command->add_option("--reason", options->reason, "Why that is right; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  command
      ->add_option_function<std::string>(
          "--rate", [options](const std::string& word) { options->rate = rate_from(word).value(); },
          "At most so many events a second, as 50/s; as fast as they are applied unless given")
      ->type_name("RATE")
      ->check(is_rate, "");
  command
      ->add_option_function<std::string>(
          "--ramp",
          [options](const std::string& word) { options->ramp = ramp_from_words(word).value(); },
          "How many are tried before the rest, in stages; 1,10,100 unless given, or none")
      ->type_name("STAGES")
      ->check(is_ramp, "");
  command->add_flag("--preview", options->preview, "Say how many it would be, and start nothing");
  command->add_flag("--now", options->now, "Do the work here and now");
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return start_replay(*options); }; });
}

}  // namespace onefold::cli
