#include "onefold/cli/applying.h"

#include <utility>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/progress.h"
#include "onefold/cli/signals.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/daemon/sql_handler.h"
#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"

namespace onefold::cli {
namespace {

/// A handler whose SQL cannot work would set aside every event that it gets.
void require_statements(const Config& config) {
  const auto problems = check_statements(config);
  if (problems.empty()) return;
  complain_about(config, problems);
  note("nothing was applied");
  throw Stopped{ExitCode::configuration};
}

}  // namespace

std::unique_ptr<Store> open_to_apply(const Config& config, const std::string& config_argument,
                                     bool migrate) {
  if (!migrate) require_store(config, config_argument);
  auto store = open_store(config, Access::run);
  // First, so that whoever looks for the reason of a refusal finds a database to look at.
  if (migrate) store->housekeeping()->migrate();
  store->housekeeping()->check_schema();
  require_statements(config);
  return store;
}

OpenedStore open_to_apply_waiting(const std::vector<std::string>& config_paths,
                                  const std::string& otherwise) {
  OpenedStore opened;
  opened.config = require_config(config_paths, ConfigUse::apply);
  opened.config_argument = config_argument(config_paths);
  try {
    opened.store = open_to_apply(opened.config, opened.config_argument, false);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::contention) throw;
    complain(error.what(), otherwise);
    throw Stopped{ExitCode::try_again};
  }
  opened.records = opened.store->records();
  return opened;
}

void add_consumers(Runner& runner, const Config& config) {
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& source : consumer.sources) {
      runner.add(sql_consumer(consumer), open_source(config.sources.at(source)));
    }
  }
}

std::string state_folder(const Config& config) {
  if (!config.state_folder.empty()) return config.state_folder;
  const char* const of_service = std::getenv("STATE_DIRECTORY");  // systemd.exec(5)
  const std::string folders = of_service != nullptr ? of_service : "";
  return folders.substr(0, folders.find(':'));
}

void tell(const Notice& notice) {
  const std::string text = printable(notice.text, 1000);
  if (notice.severity == Severity::info) return note(text);
  if (notice.severity == Severity::warning) return warn(text);
  report(text);
}

void apply_waiting(const OpenedStore& opened) {
  Progress progress;
  Runner::Options options;
  options.migrate = false;
  options.waiting_only = true;
  options.state_folder = state_folder(opened.config);
  options.notify = tell;
  options.progress = [&progress](const Totals& totals) { progress.show(totals); };
  Runner runner{*opened.store, std::move(options)};
  add_consumers(runner, opened.config);
  const StopOnSignal signals{runner};
  runner.run_until_idle();
}

std::vector<PauseRecord> pauses_of(const OpenedStore& opened,
                                   const std::set<std::string>& consumers) {
  std::vector<PauseRecord> paused;
  if (consumers.empty()) return paused;
  const auto session = opened.store->connect();
  for (const ConsumerRecord& each : opened.records->consumers()) {
    if (!consumers.contains(each.name)) continue;
    if (const auto pause = session->pause(each.id)) paused.push_back(*pause);
  }
  return paused;
}

void complain_about_pauses(const std::vector<PauseRecord>& paused,
                           const std::string& config_argument) {
  for (const PauseRecord& each : paused) {
    complain("the consumer " + printable(each.consumer) + " is paused since " +
                 format_rfc3339(each.since) + " by " + printable(each.who) + ": " +
                 printable(each.reason, 500),
             "mend the cause; then onefold resume " + printable(each.consumer) + config_argument +
                 " --reason TEXT ends the pause, and so does the next try of one event that works");
  }
}

}  // namespace onefold::cli
