#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/replay_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Shows what the database knows of every consumer:\n"
    "  inbox      how many rows ended how: an event has one for each of its keys, and with scope "
    "=\n"
    "             \"handler\" for each handler, however often it came\n"
    "  set aside  what is kept with its bytes: the dead ones of the inbox, and conflicts, whose "
    "id\n"
    "             belongs to an event with other data\n"
    "  waiting    what is tried again by itself, and what waits behind that\n"
    "  source     how far it has been read\n"
    "First come the consumers that are paused, and last the replays that have not ended. Can run\n"
    "beside onefold run. Every row of the inbox is counted, a few million a second.\n"
    "\n"
    "Example:\n"
    "  onefold status -c shop.toml\n"
    "  onefold status --watch 10";

struct StatusOptions {
  std::vector<std::string> config_paths;
  std::string format;
  bool watching = false;
  int every_seconds = 2;
};

Timestamp now_in_seconds() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

using Counts = std::vector<std::pair<std::string, std::int64_t>>;

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "" : ", ") + grouped(count) + " " + name;
  }
  return text.empty() ? "no event" : text;
}

Json counts_json(const Counts& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

std::string position_text(const Position& position) {
  std::string text = printable(position.partition->source);
  if (!position.partition->name.empty()) text += " " + printable(position.partition->name);
  return text + " read up to offset " + offset_text(position.next) + " (of incarnation " +
         printable(position.partition->incarnation, 40) + ")";
}

bool waits_by_itself(const std::string& reason) {
  return reason == to_string(DeferralReason::retry) || reason == to_string(DeferralReason::behind);
}

/// The dead ones stand in the inbox too: it must not look like twice as many.
std::string set_aside_text(const ConsumerStatus& status, const std::string& config_argument) {
  std::string text;
  for (const auto& [reason, count] : status.deferred) {
    if (waits_by_itself(reason)) continue;
    const bool counted_above =
        std::ranges::find(status.inbox, std::pair{reason, count}) != status.inbox.end();
    text += (text.empty() ? "" : ", ") + (counted_above ? "the " : std::string{}) + grouped(count) +
            " " + reason;
  }
  return text.empty() ? "nothing" : text + "; see onefold dead list" + config_argument;
}

std::string waiting_text(const ConsumerStatus& status) {
  Counts waiting;
  for (const auto& each : status.deferred) {
    if (waits_by_itself(each.first)) waiting.push_back(each);
  }
  std::string text = waiting.empty() ? "" : counts_text(waiting);
  if (status.next_due_at) {
    text += (text.empty() ? "the next is due at " : "; the next is due at ") +
            format_rfc3339(*status.next_due_at);
  }
  return text.empty() ? text : "  waiting    " + text + "\n";
}

void print_status(const ConsumerStatus& status, const std::string& config_argument) {
  std::string text = emphasized(printable(status.name)) + "\n";
  text += "  inbox      " + counts_text(status.inbox) + "\n";
  text += "  set aside  " + set_aside_text(status, config_argument) + "\n";
  text += waiting_text(status);
  for (const Position& position : status.positions) {
    text += "  source     " + position_text(position) + "\n";
  }
  text += "  last event " +
          (status.last_recorded_at ? "recorded at " + format_rfc3339(*status.last_recorded_at)
                                   : std::string{"none so far"}) +
          "\n";
  print(text);
}

void print_pause(const PauseRecord& pause, const std::string& config_argument) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(pause.probe_in).count();
  print(emphasized(printable(pause.consumer) + " is paused") + " since " +
        format_rfc3339(pause.since) + " by " + printable(pause.who) + ": " +
        printable(pause.reason, 500) + "\n  one event is tried " +
        (seconds == 0 ? "now" : "in " + std::to_string(seconds) + " s") + "; " +
        (pause.probes == 1 ? "1 try has" : grouped(pause.probes) + " tries have") +
        " failed so far; onefold resume " + printable(pause.consumer) + config_argument +
        " --reason TEXT ends the pause\n");
}

Json pause_json(const PauseRecord& pause) {
  return {{"since", json_time(pause.since)},
          {"who", json_text(pause.who)},
          {"reason", json_text(pause.reason)},
          {"probes", pause.probes},
          {"probe_in_seconds", std::chrono::ceil<std::chrono::seconds>(pause.probe_in).count()}};
}

/// All that is shown, of about the same moment.
struct Overview {
  std::vector<ConsumerStatus> consumers;
  std::map<std::string, PauseRecord> pauses;
  std::vector<ReplayRecord> replays;  ///< That have not ended.
};

/// What the answers come from, for one or many of them.
class View {
 public:
  explicit View(const OpenedStore& opened)
      : opened_{opened}, session_{opened.store->connect()}, replays_{opened.store->replays()} {}

  void show(const std::string& format) {
    const Overview overview = look();
    if (format != "text") return print_json(overview, format == "jsonl");
    for (const auto& [name, pause] : overview.pauses) print_pause(pause, opened_.config_argument);
    if (overview.consumers.empty()) print("no consumer has run on this database so far\n");
    for (const ConsumerStatus& each : overview.consumers) {
      print_status(each, opened_.config_argument);
    }
    for (const ReplayRecord& each : overview.replays) {
      print("replay " + printable(each.id) + " of " + printable(each.consumer) + ": " +
            replay_progress(each, now()) + "\n");
    }
  }

 private:
  Overview look() {
    Overview overview;
    overview.consumers = opened_.records->status();
    for (const ConsumerRecord& each : opened_.records->consumers()) {
      if (const auto pause = session_->pause(each.id)) overview.pauses[each.name] = *pause;
    }
    overview.replays = replays_->list({});
    std::erase_if(overview.replays, has_ended);
    return overview;
  }

  static void print_json(const Overview& overview, bool on_one_line) {
    Json json;
    json["consumers"] = Json::array();
    for (const ConsumerStatus& each : overview.consumers) {
      json["consumers"].push_back(status_json(each));
      const auto pause = overview.pauses.find(each.name);
      json["consumers"].back()["paused"] =
          pause == overview.pauses.end() ? Json(nullptr) : pause_json(pause->second);
    }
    json["replays"] = Json::array();
    for (const ReplayRecord& each : overview.replays) {
      json["replays"].push_back(replay_json(each, now()));
    }
    print(on_one_line ? dumped_line(json) : dumped(json));
  }

  static Json status_json(const ConsumerStatus& status) {
    Json json;
    json["name"] = status.name;
    json["inbox"] = counts_json(status.inbox);
    json["deferred"] = counts_json(status.deferred);
    json["next_due_at"] = json_time(status.next_due_at);
    json["positions"] = Json::array();
    for (const Position& position : status.positions) {
      json["positions"].push_back(json_position(position));
    }
    json["last_recorded_at"] = json_time(status.last_recorded_at);
    json["mode"] = status.mode;
    json["rules"] = json_text(status.rules);
    return json;
  }

  const OpenedStore& opened_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Replays> replays_;
};

/// SIGINT and SIGTERM while it lives: they end a wait, and nothing else.
class AwaitedSignals {
 public:
  AwaitedSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~AwaitedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;

  /// Whether one has come within that time.
  bool wait(int seconds) {
    const timespec patience{.tv_sec = seconds, .tv_nsec = 0};
    int number = -1;
    do {
      number = sigtimedwait(&signals_, nullptr, &patience);
    } while (number < 0 && errno == EINTR);
    return number > 0;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

ExitCode watch(View& view, const StatusOptions& options) {
  AwaitedSignals signals;
  const bool repaint = options.format == "text" && ::isatty(STDOUT_FILENO) == 1;
  // Every answer of a program stands on a line of its own.
  const std::string format = options.format == "json" ? "jsonl" : options.format;
  do {
    if (repaint) print("\x1b[H\x1b[2J");
    if (format == "text") print("at " + format_rfc3339(now_in_seconds()) + "\n");
    view.show(format);
  } while (!signals.wait(options.every_seconds));
  return ExitCode::ok;
}

ExitCode status(const StatusOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  View view{opened};
  if (options.watching) return watch(view, options);
  view.show(options.format);
  return ExitCode::ok;
}

}  // namespace

void add_status(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("status", "Show how far every consumer has come");
  auto options = std::make_shared<StatusOptions>();
  add_config_option(*command, options->config_paths);
  const auto set_watch = [options](const std::string& seconds) {
    options->watching = true;
    if (!seconds.empty()) options->every_seconds = std::stoi(seconds);
  };
  command
      ->add_option_function<std::string>("--watch", set_watch,
                                         "Again every 2 seconds, or so many, until a signal")
      ->type_name("SECONDS")
      ->expected(0, 1)
      ->default_str("2")
      ->check(number_between(1, 86'400), "");
  add_output_option(*command, options->format, {"text", "json", "jsonl"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return status(*options); }; });
}

}  // namespace onefold::cli
