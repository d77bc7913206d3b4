#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "onefold/cli/commands.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/lab_report.h"
#include "onefold/cli/lab_spec.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/signals.h"
#include "onefold/cli/table.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"
#include "onefold/lab/trial/trial_faults.h"

namespace onefold::cli {
namespace {

constexpr const char* about_run =
    "Applies the first events of each source again and again, each time to a copy of the database\n"
    "as it is now, with crashes, lost answers, duplicates and other orders in between, and "
    "compares\n"
    "the tables with an undisturbed run. Events that the database knows already are passed over.\n"
    "The database itself is only read. SQLite only.\n"
    "Ends with \"converges\", or with the smallest schedule that goes wrong, and status 1.\n"
    "\n"
    "Example:\n"
    "  onefold lab run -c shop.toml --seconds 30\n"
    "  onefold lab run -c shop.toml --events first_events.jsonl --order any";

constexpr const char* about_replay =
    "Plays the schedule that lab run has found once more, with the same events. Its timeline is "
    "the\n"
    "same, byte for byte, as long as configuration, events and database are.\n"
    "\n"
    "Example:\n"
    "  onefold lab replay T1:kept:e6:d20788:3fa2c1d0:7.2-13.1 -c shop.toml";

constexpr const char* about_list =
    "Says how each source is taken, what can go wrong with them, and which invariants are asked.\n"
    "\n"
    "Example:\n"
    "  onefold lab list -c shop.toml";

constexpr std::int64_t seconds_most = 86'400;
constexpr std::int64_t events_most = 50;
constexpr std::int64_t number_most = 1'000'000'000;
constexpr std::chrono::milliseconds progress_interval{100};

struct RunOptions : LabOptions {
  std::int64_t seconds = 10;
  std::int64_t schedules = 0;
  std::int64_t seed = 1;
};

/// One line on a terminal, ten times a second.
class LabProgress {
 public:
  ~LabProgress() { show_progress({}); }
  void show(std::uint64_t schedules, double seconds) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < progress_interval) return;
    last_ = now;
    const auto rate = static_cast<std::int64_t>(static_cast<double>(schedules) / seconds);
    show_progress(counted(static_cast<std::int64_t>(schedules), "schedule") + "  " + grouped(rate) +
                  "/s");
  }

 private:
  const bool shown_ = can_show_progress();
  std::chrono::steady_clock::time_point last_{};
};

/// What `lab replay` needs besides the seed.
std::string replay_arguments(const LabOptions& options) {
  std::string text = config_argument(options.config_paths);
  for (const std::string& each : options.events) text += " --events " + printable(each);
  for (const std::string& each : options.ignored) text += " --ignore " + printable(each);
  return text;
}

/// That files are taken as they are read is worth knowing: a queue would do more to the handlers.
void tell_order(const lab::TrialSpec& spec) {
  for (const lab::TrialSource& source : spec.sources) {
    if (!lab::keeps_order(spec, source)) continue;
    note("the events of source \"" + printable(source.source.name) +
         "\" keep their order, as it does; --order any has them come in any, as from a queue");
  }
}

ExitCode run(const RunOptions& options) {
  const lab::TrialSpec spec = require_trial(options);
  tell_order(spec);
  LabProgress progress;
  const StopOnSignal signals;
  lab::TrialBudget budget;
  budget.time_max = std::chrono::seconds{options.seconds};
  if (options.schedules > 0) {
    budget.schedules_max = static_cast<std::uint64_t>(options.schedules);
    budget.time_max = std::chrono::seconds{seconds_most};
  }
  budget.seed = static_cast<std::uint64_t>(options.seed);
  budget.is_stopped = [&] { return signals.stopped(); };
  budget.tell = [&](std::uint64_t schedules, double seconds) { progress.show(schedules, seconds); };
  const lab::TrialReport report = lab::run_trial(spec, budget);
  if (options.format == "json") {
    print_lab_report_json(report, budget.seed);
  } else {
    print_lab_report(report, budget.seed, replay_arguments(options));
  }
  return report.failure ? ExitCode::problems : ExitCode::ok;
}

ExitCode replay(const LabOptions& options, const std::string& seed) try {
  const lab::TrialReplay replayed = lab::replay_trial(require_trial(options), seed);
  if (options.format == "json") {
    print_lab_replay_json(replayed);
  } else {
    print_lab_replay(replayed, replay_arguments(options));
  }
  return replayed.failure ? ExitCode::problems : ExitCode::ok;
} catch (const std::invalid_argument& error) {
  complain(printable(error.what(), 1000), "copy it as a whole from what onefold lab run has said");
  return ExitCode::usage;
}

std::string way_of(const lab::TrialSpec& spec, const lab::TrialSource& source) {
  return std::string{lab::is_log(spec, source) ? "a log that can be read again" : "a queue"} +
         ", " + (lab::keeps_order(spec, source) ? "in its order" : "in any order");
}

ExitCode list(const LabOptions& options) {
  const lab::TrialSpec spec = require_trial(options);
  const auto faults = lab::faults_of(spec);
  if (options.format == "json") {
    Json object{
        {"sources", Json::array()}, {"faults", Json::array()}, {"invariants", Json::array()}};
    for (const lab::TrialSource& source : spec.sources) {
      object["sources"].push_back({{"name", source.source.name},
                                   {"log", lab::is_log(spec, source)},
                                   {"ordered", lab::keeps_order(spec, source)},
                                   {"workers", lab::workers_for(spec, source)}});
    }
    for (const lab::TrialFault& fault : faults) {
      object["faults"].push_back(
          {{"name", fault.name}, {"meaning", fault.meaning}, {"at_most", fault.budget}});
    }
    for (const lab::TrialInvariant& each : spec.invariants)
      object["invariants"].push_back(each.name);
    print(dumped(object));
    return ExitCode::ok;
  }
  Table sources{{{.title = "source"}, {.title = "taken as"}, {.title = "workers"}}};
  for (const lab::TrialSource& source : spec.sources) {
    sources.add(
        {source.source.name, way_of(spec, source), std::to_string(lab::workers_for(spec, source))});
  }
  Table kinds{{{.title = "fault"}, {.title = "what happens", .width_max = 90}}};
  for (const lab::TrialFault& fault : faults) kinds.add({fault.name, fault.meaning});
  print(emphasized(sources.header()) + "\n" + sources.body() + "\n" + emphasized(kinds.header()) +
        "\n" + kinds.body());
  if (spec.invariants.empty()) return ExitCode::ok;
  Table invariants{{{.title = "invariant"}}};
  for (const lab::TrialInvariant& each : spec.invariants) invariants.add({each.name});
  print("\n" + emphasized(invariants.header()) + "\n" + invariants.body());
  return ExitCode::ok;
}

void add_order_option(CLI::App& command, LabOptions& options) {
  add_choice(command, "--order", options.order, {"source", "any"}, "orders",
             "source: each source's own, unless given; any: as a queue with two workers would");
}

void add_lab_run(CLI::App& lab, Action& chosen) {
  CLI::App* command = lab.add_subcommand("run", "Look for a schedule that goes wrong");
  auto options = std::make_shared<RunOptions>();
  add_lab_options(*command, *options);
  add_order_option(*command, *options);
  command
      ->add_option("--events-max", options->events_max,
                   "Events of each source in a schedule; 6 unless given")
      ->type_name("COUNT")
      ->check(number_between(1, events_most), "");
  command->add_option("--seconds", options->seconds, "How long to look; 10 unless given")
      ->type_name("COUNT")
      ->check(number_between(1, seconds_most), "");
  command
      ->add_option("--schedules", options->schedules,
                   "End after so many instead, so that every run does the same")
      ->type_name("COUNT")
      ->check(number_between(1, number_most), "");
  command->add_option("--seed", options->seed, "Of the random schedules; 1 unless given")
      ->type_name("NUMBER")
      ->check(number_between(0, number_most), "");
  command->footer(about_run);
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace

void add_lab(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("lab", "Try your handlers under crashes, duplicates and disorder");
  command->require_subcommand(1);
  add_lab_run(*command, chosen);

  CLI::App* replay_command = command->add_subcommand("replay", "Play one schedule once more");
  auto replay_options = std::make_shared<LabOptions>();
  auto seed = std::make_shared<std::string>();
  add_lab_options(*replay_command, *replay_options);
  replay_command->add_option("seed", *seed, "The seed that lab run has named")
      ->type_name("SEED")
      ->required();
  replay_command->footer(about_replay);
  replay_command->callback([replay_options, seed, &chosen] {
    chosen = [replay_options, seed] { return replay(*replay_options, *seed); };
  });

  CLI::App* list_command = command->add_subcommand("list", "Say what can go wrong here");
  auto list_options = std::make_shared<LabOptions>();
  add_lab_options(*list_command, *list_options);
  add_order_option(*list_command, *list_options);
  list_command->footer(about_list);
  list_command->callback(
      [list_options, &chosen] { chosen = [list_options] { return list(*list_options); }; });
}

}  // namespace onefold::cli
