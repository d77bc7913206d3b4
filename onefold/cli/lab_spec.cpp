#include "onefold/cli/lab_spec.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/options.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/daemon/nearest.h"
#include "onefold/daemon/sql_handler.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

/// How far a file is searched for events that the database does not know.
constexpr std::size_t deliveries_max = 10'000;
constexpr std::size_t bytes_max = 64U << 20U;

[[noreturn]] void refuse(ExitCode code, const std::string& what, const std::string& hint) {
  complain(what, hint);
  throw Stopped{code};
}

/// `--events` by source.
std::map<std::string, std::string> event_files(const LabOptions& options,
                                               const std::vector<std::string>& sources) {
  std::map<std::string, std::string> files;
  for (const std::string& word : options.events) {
    const std::size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    if (std::ranges::find(sources, name) != sources.end()) {
      files[name] = word.substr(equals + 1);
    } else if (sources.size() == 1) {
      files[sources.front()] = word;
    } else {
      refuse(ExitCode::usage, "--events: whose events are in " + printable(word) + "?",
             "write --events SOURCE=FILE, where SOURCE is one of " + joined(sources));
    }
  }
  return files;
}

/// The beginning of a file, as the source itself reads it.
std::vector<Delivery> read_events(const SourceConfig& config) {
  const auto positions = [] { return std::vector<Position>{}; };
  const auto notify = [](const Notice& notice) {
    if (notice.severity != Severity::info) warn(printable(notice.text, 1000));
  };
  const auto source = open_source(config).open({.positions = positions, .notify = notify});
  std::vector<Delivery> all;
  std::size_t bytes = 0;
  while (all.size() < deliveries_max && bytes < bytes_max) {
    std::vector<Delivery> more = source->receive(deliveries_max - all.size(), {});
    if (more.empty()) break;
    for (Delivery& delivery : more) {
      bytes += delivery.raw.size();
      all.push_back(std::move(delivery));
    }
  }
  return all;
}

lab::TrialSource read_source(const SourceConfig& config, const std::string& file) {
  SourceConfig as_file = config;
  as_file.follow = false;
  if (!file.empty()) as_file.path = file;
  if (config.kind == SourceKind::standard_input && file.empty()) {
    refuse(ExitCode::usage,
           "source \"" + printable(config.name) + "\" is standard input, which can be read once",
           "name a file of its events: --events FILE");
  }
  as_file.kind = SourceKind::file;
  lab::TrialSource source{
      .source = open_source(config), .deliveries = read_events(as_file), .id_is_place = false};
  source.id_is_place =
      config.format == SourceFormat::json && config.identity.id == id_from_position;
  return source;
}

void require_sqlite(const Config& config) {
  if (sqlite_file(config)) return;
  refuse(ExitCode::configuration,
         "the lab works on copies of an SQLite database, and " + store_place(config) +
             " cannot be copied for each schedule",
         "try the handlers on an SQLite database with the same tables (ONEFOLD__STORE__URL), or "
         "handlers in C++ in the lab of the library: docs/lab.md");
}

void require_sound_statements(const Config& config) {
  auto problems = check_statements(config);
  std::ranges::move(check_invariants(config), std::back_inserter(problems));
  if (problems.empty()) return;
  complain_about(config, problems);
  throw Stopped{ExitCode::configuration};
}

std::int64_t today() {
  const auto days =
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch();
  return days.count();
}

void add_consumers(const Config& config, const std::vector<std::string>& sources,
                   lab::TrialSpec& spec) {
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& name : consumer.sources) {
      const auto source = std::ranges::find(sources, name) - sources.begin();
      spec.subscriptions.push_back(
          {.consumer = spec.consumers.size(), .source = static_cast<std::size_t>(source)});
    }
    for (const InvariantConfig& invariant : consumer.invariants) {
      spec.invariants.push_back({consumer.name + "." + invariant.name, invariant.sql});
    }
    for (const HandlerConfig& handler : consumer.handlers) {
      for (const StatementConfig& each : handler.statements) spec.statements.push_back(each.sql);
    }
    spec.consumers.push_back(sql_consumer(consumer));
  }
}

}  // namespace

void add_lab_options(CLI::App& command, LabOptions& options) {
  add_config_option(command, options.config_paths);
  command
      .add_option("--events", options.events,
                  "Events from this file instead of the source's own; SOURCE=FILE if there are "
                  "several sources")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--ignore", options.ignored,
                  "TABLE.COLUMN: a column that may differ, such as a key that SQLite gives")
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  add_output_option(command, options.format, {"text", "json"});
}

lab::TrialSpec require_trial(const LabOptions& options) {
  const Config config = require_config(options.config_paths, ConfigUse::apply);
  require_sqlite(config);
  require_store(config, config_argument(options.config_paths));
  require_sound_statements(config);
  lab::TrialSpec spec;
  spec.database = sqlite_file(config).value();
  spec.ignored = options.ignored;
  spec.events_max = options.events_max;
  spec.any_order = options.order == "any";
  spec.day = today();
  std::vector<std::string> names;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& name : consumer.sources) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  const auto files = event_files(options, names);
  for (const std::string& name : names) {
    const auto file = files.find(name);
    spec.sources.push_back(
        read_source(config.sources.at(name), file == files.end() ? "" : file->second));
  }
  add_consumers(config, names, spec);
  return spec;
}

}  // namespace onefold::cli
