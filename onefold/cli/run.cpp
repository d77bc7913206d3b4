#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onefold/cli/applying.h"
#include "onefold/cli/commands.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/progress.h"
#include "onefold/cli/signals.h"
#include "onefold/cli/table.h"
#include "onefold/cli/terminal.h"
#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/runner.h"

namespace onefold::cli {
namespace {

struct RunOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string reason;
  bool migrate = false;
  bool until_idle = false;
  bool fail_on_dead = false;
  bool accept_key_change = false;
};

/// Nobody needs to know more exactly, and counting more takes time.
constexpr std::int64_t waiting_counted_max = 1000;

constexpr const char* footer =
    "Reads the sources of all consumers and applies each event once, resuming where the database\n"
    "says. Ends with a table of what became of the events:\n"
    "  applied    its statements and the proof that it was handled were committed together\n"
    "  duplicate  it had been handled before: nothing was done\n"
    "  deferred   it failed and is tried again later, or waits behind one that is\n"
    "  dead       it cannot be applied; kept with its bytes and the reason (onefold dead list)\n"
    "  conflict   its id belongs to an event with other data; kept as well (onefold dead list)\n"
    "  ignored    no handler wants its type\n"
    "Without --until-idle it goes on until a signal, and waits for more from standard input and\n"
    "from files with follow = true. SIGINT (Ctrl-C) and SIGTERM finish the batch in hand; a "
    "second\n"
    "one ends at once. With --until-idle it ends with status 75 if a consumer is paused: so many "
    "of\n"
    "its events failed the same way that it is not their fault (onefold resume).\n"
    "\n"
    "Example:\n"
    "  onefold run -c shop.toml --migrate --until-idle\n"
    "  onefold run -c shop.toml --until-idle -o json | jq .applied";

/// A source that some consumer reads, and that may bring more after its end.
bool may_bring_more(const Config& config) {
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& name : consumer.sources) {
      const SourceConfig& source = config.sources.at(name);
      if (source.follow || source.kind == SourceKind::standard_input) return true;
    }
  }
  return false;
}

void print_json(const Totals& totals, double seconds) {
  nlohmann::ordered_json object;
  object["received"] = totals.received();
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    object[to_string(outcome)] = totals[outcome];
  }
  object["seconds"] = std::round(seconds * 1000) / 1000;
  print(object.dump() + "\n");
}

void print_table(const Totals& totals, double seconds) {
  Table table{{{.title = "outcome"}, {.title = "events", .align = Table::Align::right}}};
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    // The two that every run is about, and whatever else has happened.
    if (totals[outcome] == 0 && outcome != Outcome::applied && outcome != Outcome::duplicate) {
      continue;
    }
    table.add({to_string(outcome), grouped(totals[outcome])});
  }
  table.add({"received", grouped(totals.received())});
  const std::string text = emphasized(table.header()) + "\n" + table.body();
  if (totals.received() == 0) return print(text + "nothing new\n");
  std::array<char, 64> tail{};
  const double rate = seconds > 0 ? static_cast<double>(totals.received()) / seconds : 0;
  std::snprintf(tail.data(), tail.size(), "in %.2f s, ", seconds);
  print(text + tail.data() + grouped(static_cast<std::int64_t>(rate)) + " events a second\n");
}

/// One run, from the first batch to the answer.
class Run {
 public:
  Run(const Config& config, const RunOptions& options)
      : config_{config},
        options_{options},
        store_{open_to_apply(config, config_argument(options.config_paths), options.migrate)} {}

  ExitCode go() {
    Progress progress;
    Runner::Options options;
    options.migrate = false;  // Done already.
    options.state_folder = state_folder(config_);
    if (options_.accept_key_change) {
      options.rule_change = RuleChange{.who = user_at_host(), .reason = options_.reason};
    }
    options.notify = [this](const Notice& notice) {
      problems_ = problems_ || notice.severity == Severity::problem;
      tell(notice);
    };
    options.progress = [&progress](const Totals& totals) { progress.show(totals); };
    Runner runner{*store_, std::move(options)};
    add_consumers(runner, config_);
    const StopOnSignal signals{runner};
    if (!options_.until_idle && !may_bring_more(config_)) {
      warn(
          "no source follows its file: once all is applied, nothing more will be read; set follow "
          "= true, or use --until-idle");
    }
    work(runner);
    tell_what_waits();
    return verdict(runner, signals.stopped());
  }

 private:
  /// The answer is also printed if the run ends in an error later on: what was committed stays.
  void work(Runner& runner) {
    const auto started = std::chrono::steady_clock::now();
    const auto answer = [&] {
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      if (options_.format == "json") {
        print_json(runner.totals(), seconds);
      } else {
        print_table(runner.totals(), seconds);
      }
    };
    try {
      options_.until_idle ? runner.run_until_idle() : runner.run();
    } catch (const Error&) {
      if (options_.format == "json" || runner.totals().received() > 0) answer();
      throw;
    }
    answer();
  }

  /// What a run leaves behind that nobody needs to look after.
  void tell_what_waits() const {
    const auto records = store_->records();
    DeferredFilter filter;
    filter.with_raw = false;
    filter.limit = static_cast<std::size_t>(waiting_counted_max) + 1;
    for (const ConsumerConfig& consumer : config_.consumers) {
      filter.consumer = consumer.name;
      filter.reason = to_string(DeferralReason::retry);
      const auto waiting = records->deferred(filter);
      if (waiting.empty()) continue;
      filter.reason = to_string(DeferralReason::behind);
      const auto behind = records->deferred(filter);
      note(waiting_text(consumer.name, waiting, behind.size()));
    }
  }

  static std::string waiting_text(const std::string& consumer,
                                  const std::vector<DeferredRecord>& waiting, std::size_t behind) {
    const auto count = [](std::size_t rows) {
      return rows > static_cast<std::size_t>(waiting_counted_max)
                 ? "more than " + grouped(waiting_counted_max)
                 : grouped(static_cast<std::int64_t>(rows));
    };
    const bool one = waiting.size() == 1;
    std::string text = "consumer " + printable(consumer) + ": " + count(waiting.size()) +
                       (one ? " event waits" : " events wait") + " for another try";
    std::optional<Timestamp> next;
    for (const DeferredRecord& each : waiting) {
      if (each.due_at && (!next || *each.due_at < *next)) next = each.due_at;
    }
    if (next && waiting.size() <= static_cast<std::size_t>(waiting_counted_max)) {
      text += std::string{one ? "" : ", the first of them"} + " at " + format_rfc3339(*next);
    }
    if (behind > 0) text += ", and " + count(behind) + " behind";
    return text;
  }

  ExitCode verdict(const Runner& runner, bool stopped) const {
    const Totals& totals = runner.totals();
    const std::string config = config_argument(options_.config_paths);
    const auto set_aside = totals[Outcome::dead] + totals[Outcome::conflict];
    if (set_aside > 0 && options_.format == "table") {
      advise("onefold dead list" + config + " shows what was set aside, and why");
    }
    if (const auto paused = runner.paused(); !paused.empty() && !stopped) {
      complain_about_pauses(paused, config);
      return ExitCode::try_again;
    }
    if (options_.fail_on_dead && set_aside > 0) return ExitCode::problems;
    // Whoever stops a run does not ask what it has found.
    return problems_ && !stopped ? ExitCode::problems : ExitCode::ok;
  }

  const Config& config_;
  const RunOptions& options_;
  std::unique_ptr<Store> store_;
  bool problems_ = false;
};

ExitCode run(const RunOptions& options) {
  const Config config = require_config(options.config_paths, ConfigUse::apply);
  return Run{config, options}.go();
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("run", "Apply events until a signal, or until idle");
  auto options = std::make_shared<RunOptions>();
  add_config_option(*command, options->config_paths);
  command->add_flag("--migrate", options->migrate, "Create or update Onefold's tables first");
  command->add_flag("--until-idle", options->until_idle, "End when everything has been applied");
  command->add_flag("--fail-on-dead", options->fail_on_dead,
                    "End with status 1 if this run set events aside (dead, conflict)");
  CLI::Option* accept = command->add_flag("--accept-key-change", options->accept_key_change,
                                          "Go on although the rules that make keys have changed");
  CLI::Option* reason =
      command->add_option("--reason", options->reason, "Why that is right; kept in the audit")
          ->type_name("TEXT")
          ->check(is_reason, "");
  accept->needs(reason);
  reason->needs(accept);
  add_output_option(*command, options->format, {"table", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace onefold::cli
