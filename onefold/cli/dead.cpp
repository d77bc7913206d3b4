#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/deferred_view.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/table.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

struct DeadOptions {
  std::string config_path;
  std::string format;
  DeferredFilter filter;
  std::int64_t id = 0;
};

constexpr const char* list_footer =
    "Lists events that could not be applied (dead), and events whose id belongs to an event with\n"
    "other data (conflict), oldest first.\n"
    "\n"
    "Example:\n"
    "  onefold dead list -c shop.toml --consumer billing --limit 20";

constexpr const char* show_footer =
    "Shows everything that is known of one event that was set aside: why, where it came from, its\n"
    "headers and its bytes.\n"
    "\n"
    "Example:\n"
    "  onefold dead show 7 -c shop.toml\n"
    "  onefold dead show 7 -c shop.toml -o json | jq -r .raw";

/// Empty if so; otherwise what to say.
std::string is_number(const std::string& word) {
  const bool digits = std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  if (digits && !word.empty() && word.size() <= 18) return {};
  return "\"" + printable(word) + "\" is no number from onefold dead list";
}

void print_table(const std::vector<DeferredRecord>& records) {
  Table table{{{.title = "id", .align = Table::Align::right},
               {.title = "reason"},
               {.title = "consumer", .width_max = 24},
               {.title = "event id", .width_max = 40},
               {.title = "type", .width_max = 32},
               {.title = "count", .align = Table::Align::right},
               {.title = "last at"},
               {.title = "error", .width_max = 100}}};
  for (const DeferredRecord& record : records) {
    table.add({std::to_string(record.id), record.reason, record.consumer, record.event.id,
               record.event.type, grouped(record.count), format_rfc3339(record.last_at),
               last_error(record)});
  }
  print(table.text());
}

/// Ends the command if neither the database nor the configuration knows such a consumer.
void require_consumer(const OpenedStore& opened, const std::string& name) {
  std::vector<std::string> known;
  for (const ConsumerStatus& each : opened.housekeeping->status()) known.push_back(each.name);
  for (const ConsumerConfig& each : opened.config.consumers) known.push_back(each.name);
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  if (std::ranges::find(known, name) != known.end()) return;
  complain("there is no consumer \"" + printable(name) + "\"",
           known.empty() ? "no consumer has run on this database so far"
                         : nearest_hint(name, known, "consumers"));
  throw Stopped{ExitCode::usage};
}

ExitCode list(const DeadOptions& options) {
  const OpenedStore opened = open_to_look(options.config_path);
  // One more than asked for tells whether there are more.
  DeferredFilter filter = options.filter;
  ++filter.limit;
  filter.with_raw = options.format == "json";  // The table does not show the bytes.
  std::vector<DeferredRecord> records = opened.housekeeping->deferred(filter);
  if (records.empty() && !filter.consumer.empty()) require_consumer(opened, filter.consumer);
  const bool more = records.size() > options.filter.limit;
  if (more) records.resize(options.filter.limit);
  if (options.format == "json") {
    Json json = Json::array();
    for (const DeferredRecord& record : records) json.push_back(deferred_json(record));
    print(dumped(json));
  } else if (records.empty()) {
    print("nothing is set aside\n");
  } else {
    print_table(records);
  }
  if (more) {
    advise("there are more: go on with --after " + std::to_string(records.back().id));
  } else if (!records.empty() && options.format == "table") {
    advise("onefold dead show ID" + config_argument(opened.config) + " shows one with its bytes");
  }
  return ExitCode::ok;
}

ExitCode show(const DeadOptions& options) {
  const OpenedStore opened = open_to_look(options.config_path);
  DeferredFilter filter;
  filter.id = options.id;
  const auto records = opened.housekeeping->deferred(filter);
  if (records.empty()) {
    complain("nothing is set aside under the number " + std::to_string(options.id),
             "onefold dead list" + config_argument(opened.config) + " shows the numbers");
    return ExitCode::problems;
  }
  const DeferredRecord& record = records.front();
  const auto source = opened.config.sources.find(record.source);
  const bool in_file =
      source != opened.config.sources.end() && source->second.kind == SourceKind::file;
  print(options.format == "json" ? dumped(deferred_json(record)) : deferred_text(record, in_file));
  return ExitCode::ok;
}

}  // namespace

void add_dead(CLI::App& app, Action& chosen) {
  CLI::App* dead = app.add_subcommand("dead", "Look at events that were set aside");
  dead->require_subcommand(1);
  dead->footer("Example:\n  onefold dead list\n  onefold dead show 7");
  auto options = std::make_shared<DeadOptions>();

  CLI::App* list_command = dead->add_subcommand("list", "List what was set aside, and why");
  add_config_option(*list_command, options->config_path);
  list_command->add_option("--consumer", options->filter.consumer, "Of this consumer only")
      ->type_name("NAME");
  list_command->add_option("--reason", options->filter.reason, "Set aside for this reason only")
      ->type_name("REASON")
      ->check(CLI::IsMember({"dead", "conflict"}));
  list_command->add_option("--after", options->filter.after, "Only those with a larger id")
      ->type_name("ID")
      ->check(is_number, "");
  list_command->add_option("--limit", options->filter.limit, "At most so many; 100 unless given")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 10'000));
  add_output_option(*list_command, options->format);
  list_command->footer(list_footer);
  list_command->callback([options, &chosen] { chosen = [options] { return list(*options); }; });

  CLI::App* show_command = dead->add_subcommand("show", "Show one with its bytes and errors");
  show_command->add_option("id", options->id, "Its number in onefold dead list")
      ->type_name("ID")
      ->required()
      ->check(is_number, "");
  add_config_option(*show_command, options->config_path);
  add_output_option(*show_command, options->format);
  show_command->footer(show_footer);
  show_command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

}  // namespace onefold::cli
