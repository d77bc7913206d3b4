#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/dead_groups.h"
#include "onefold/cli/deferred_view.h"
#include "onefold/cli/list_output.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

struct DeadOptions {
  std::vector<std::string> config_paths;
  std::string format;
  ListOptions list;
  DeferredFilter filter;
  bool raw = false;
  bool group = false;
  std::int64_t id = 0;
};

constexpr const char* list_footer =
    "Lists what was set aside, oldest first:\n"
    "  dead        could not be applied; its id stays claimed\n"
    "  retry       failed, and is tried again at due_at\n"
    "  behind      waits behind an earlier event of its entity that is tried again\n"
    "  quarantine  nobody knows whether it was applied\n"
    "  conflict    its id belongs to an event with other data, which came first\n"
    "With --group there is one line for each trouble: events with the same consumer, handler, "
    "class\n"
    "of failure and message, in which <n>, <uuid>, <hex> and '…' stand for what differs.\n"
    "JSON has everything but the bytes, and these too with --raw.\n"
    "\n"
    "Example:\n"
    "  onefold dead list -c shop.toml --consumer billing --limit 20\n"
    "  onefold dead list --group --kind dead\n"
    "  onefold dead list --since 1h -o csv --columns id,event_id,error";

constexpr const char* show_footer =
    "Shows everything that is known of one event that was set aside: why, where it came from, its\n"
    "headers and its bytes.\n"
    "\n"
    "Example:\n"
    "  onefold dead show 7 -c shop.toml\n"
    "  onefold dead show 7 -c shop.toml -o json | jq -r .raw";

/// One after the other, so that only the bytes of one are in memory.
void add_row(ListOutput& output, const OpenedStore& opened, const DeferredRecord& record,
             bool with_raw) {
  if (!with_raw) return output.add(deferred_json(record, false));
  DeferredFilter this_one;
  this_one.id = record.id;
  for (const DeferredRecord& each : opened.records->deferred(this_one)) {
    output.add(deferred_json(each, true));
  }
}

ExitCode list_groups(const OpenedStore& opened, const DeadOptions& options) {
  DeferredFilter filter = options.filter;
  filter.with_raw = false;
  filter.limit = 500;
  DeadGroups groups;
  for (;;) {
    const auto page = opened.records->deferred(filter);
    for (const DeferredRecord& record : page) groups.add(record);
    if (page.size() < filter.limit) break;
    filter.after = page.back().id;
  }
  ListOutput output{options.list, DeadGroups::columns()};
  const std::vector<Json> rows = groups.rows();
  for (const Json& row : rows) {
    if (output.rows() < options.filter.limit) output.add(row);
  }
  output.finish("nothing is set aside");
  if (rows.size() > options.filter.limit) {
    advise("there are " + counted(static_cast<std::int64_t>(rows.size()), "group") +
           " in all: see more with --limit");
  } else if (!rows.empty() && options.list.format == "table") {
    advise("onefold dead show EXAMPLE" + opened.config_argument + " shows one of them");
  }
  return ExitCode::ok;
}

ExitCode list(const DeadOptions& options) {
  if (options.group && (options.raw || !options.list.columns.empty())) {
    complain("--group makes lines of its own: neither --columns nor --raw go with it",
             "see onefold dead list --help");
    return ExitCode::usage;
  }
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  if (options.group) return list_groups(opened, options);
  // One more than asked for tells whether there are more.
  DeferredFilter filter = options.filter;
  ++filter.limit;
  filter.with_raw = false;
  std::vector<DeferredRecord> records = opened.records->deferred(filter);
  const bool more = records.size() > options.filter.limit;
  if (more) records.pop_back();
  ListOutput output{options.list, deferred_columns()};
  for (const DeferredRecord& record : records) add_row(output, opened, record, options.raw);
  output.finish("nothing is set aside");
  if (more) {
    advise("there are more: go on with --after " + std::to_string(records.back().id));
  } else if (!records.empty() && options.list.format == "table") {
    advise("onefold dead show ID" + opened.config_argument + " shows one with its bytes");
  }
  return ExitCode::ok;
}

ExitCode show(const DeadOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  DeferredFilter filter;
  filter.id = options.id;
  const auto records = opened.records->deferred(filter);
  if (records.empty()) {
    complain("nothing is set aside under the number " + std::to_string(options.id),
             "onefold dead list" + opened.config_argument + " shows the numbers");
    return ExitCode::problems;
  }
  const DeferredRecord& record = records.front();
  const auto source = opened.config.sources.find(record.source);
  const bool in_file =
      source != opened.config.sources.end() && source->second.kind == SourceKind::file;
  print(options.format == "json" ? dumped(deferred_json(record, true))
                                 : deferred_text(record, in_file));
  return ExitCode::ok;
}

void add_dead_list(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("list", "List what was set aside, and why");
  auto options = std::make_shared<DeadOptions>();
  add_config_option(*command, options->config_paths);
  add_dead_filter(*command, options->filter);
  command->add_option("--after", options->filter.after, "Only those with a larger id")
      ->type_name("ID")
      ->check(is_dead_id, "");
  add_limit_option(*command, options->filter.limit);
  add_list_options(*command, options->list, names_of(deferred_columns()));
  command->add_flag("--group", options->group, "One line for all that failed for the same reason");
  command->add_flag("--raw", options->raw, "JSON: with the bytes as they came");
  command->footer(list_footer);
  command->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

void add_dead_show(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("show", "Show one with its bytes and errors");
  auto options = std::make_shared<DeadOptions>();
  command->add_option("id", options->id, "Its number in onefold dead list")
      ->type_name("ID")
      ->required()
      ->check(is_dead_id, "");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(show_footer);
  command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

}  // namespace

void add_dead(CLI::App& app, Action& chosen) {
  CLI::App* dead = app.add_subcommand("dead", "Look at events that were set aside, and decide");
  dead->require_subcommand(1);
  dead->footer(
      "Events that could not be applied are kept with their bytes until a person decides: to try\n"
      "them again once the cause is mended, to put another one in their place, or to give them "
      "up.\n"
      "\n"
      "Example:\n"
      "  onefold dead list --group\n"
      "  onefold dead show 7\n"
      "  onefold dead replay 7 --reason \"the account is there now\"\n"
      "  onefold dead discard 7 --reason \"a test order\"");
  add_dead_list(*dead, chosen);
  add_dead_show(*dead, chosen);
  add_dead_replay(*dead, chosen);
  add_dead_edit(*dead, chosen);
  add_dead_discard(*dead, chosen);
  add_dead_export(*dead, chosen);
  add_dead_import(*dead, chosen);
}

}  // namespace onefold::cli
