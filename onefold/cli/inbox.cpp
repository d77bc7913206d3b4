#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/deferred_view.h"
#include "onefold/cli/inbox_view.h"
#include "onefold/cli/list_output.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

struct InboxOptions {
  std::vector<std::string> config_paths;
  ListOptions list;
  std::string format;
  InboxFilter filter;
  std::string outcome;
  std::string after;
  std::string key;
};

constexpr const char* list_footer =
    "Lists the evidence: one row for everything that was claimed. The order is that of the keys,\n"
    "the only one that needs no sorting: UUIDv7 and ULID keys stand in the order of time, others\n"
    "in none. A filter reads the whole inbox of its consumer, however many rows that are.\n"
    "\n"
    "Example:\n"
    "  onefold inbox list -c shop.toml --consumer billing --since 1h\n"
    "  onefold inbox list --outcome dead -o jsonl | jq -r .event_id";

constexpr const char* show_footer =
    "Shows one inbox row with all of its evidence, and what was set aside under its key.\n"
    "\n"
    "Example:\n"
    "  onefold inbox show 1:019ad8c3b7a07cc19f0fd5b3f1c2a4e6 -c shop.toml";

constexpr const char* count_footer =
    "Counts the inbox by consumer, outcome and the handlers that ran. Reads every row (of the\n"
    "consumer, if one is given), a few million a second; events that are applied meanwhile may be\n"
    "counted or not.\n"
    "\n"
    "Example:\n"
    "  onefold inbox count -c shop.toml\n"
    "  onefold inbox count --consumer billing --since 1d -o json";

constexpr const char* export_footer =
    "Writes the evidence of the whole inbox, or of what the filters leave over, to standard "
    "output\n"
    "as it is read: memory stays small. Events that are applied meanwhile may be in it or not.\n"
    "\n"
    "Example:\n"
    "  onefold inbox export -c shop.toml > inbox.jsonl\n"
    "  onefold inbox export --since 7d -o csv --columns event_id,outcome,recorded_at > week.csv";

InboxFilter filter_of(const InboxOptions& options) {
  InboxFilter filter = options.filter;
  if (!options.outcome.empty()) filter.outcome = outcome_from(options.outcome);
  if (!options.after.empty()) filter.after = key_from(options.after);
  return filter;
}

void show_read(std::int64_t rows) {
  if (can_show_progress()) show_progress("read " + grouped(rows) + " rows of the inbox");
}

/// Calls `take` with every row that fits, until it wants no more.
void read_inbox(Records& records, InboxFilter filter,
                const std::function<bool(const InboxRecord&)>& take) {
  for (std::int64_t rows_read = 0;;) {
    const InboxPage page = records.inbox(filter);
    for (const InboxRecord& each : page.records) {
      if (!take(each)) return;
    }
    if (!page.next) return;
    filter.after = page.next;
    rows_read += page.rows_read;
    show_read(rows_read);
  }
}

ExitCode list(const InboxOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  const ScopeNames scopes{opened.records->scopes()};
  ListOutput output{options.list, inbox_columns()};
  std::optional<Key> last;
  bool more = false;
  read_inbox(*opened.records, filter_of(options), [&](const InboxRecord& record) {
    more = output.rows() == options.filter.limit;
    if (more) return false;
    output.add(inbox_json(record, scopes[record.key.scope]));
    last = record.key;
    return true;
  });
  output.finish("nothing in the inbox fits");
  if (more) advise("there are more: go on with --after " + key_text(*last));
  return ExitCode::ok;
}

ExitCode export_inbox(const InboxOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  const ScopeNames scopes{opened.records->scopes()};
  ListOutput output{options.list, inbox_columns()};
  InboxFilter filter = filter_of(options);
  filter.limit = 1000;
  read_inbox(*opened.records, filter, [&](const InboxRecord& record) {
    output.add(inbox_json(record, scopes[record.key.scope]));
    return true;
  });
  output.finish({});
  note("exported " + counted(static_cast<std::int64_t>(output.rows()), "row"));
  return ExitCode::ok;
}

ExitCode show(const InboxOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  const Key key = key_from(options.key).value();
  const auto record = opened.records->evidence(key);
  DeferredFilter filter;
  filter.key = key;
  filter.with_raw = false;
  const auto deferred = opened.records->deferred(filter);
  if (!record && deferred.empty()) {
    complain("there is no row under the key " + options.key,
             "keys are those of onefold inbox list" + opened.config_argument +
                 "; to look for an event, use onefold inbox why ID");
    return ExitCode::problems;
  }
  const ScopeNames scopes{opened.records->scopes()};
  if (options.format == "json") {
    Json json;
    json["inbox"] = record ? inbox_json(*record, scopes[key.scope]) : Json(nullptr);
    json["deferred"] = Json::array();
    for (const DeferredRecord& each : deferred) {
      json["deferred"].push_back(deferred_json(each, false));
    }
    print(dumped(json));
    return ExitCode::ok;
  }
  std::string text = record ? inbox_text(*record, scopes[key.scope]) : std::string{};
  for (const DeferredRecord& each : deferred) {
    text += "set aside    as " + each.reason + ", number " + std::to_string(each.id) +
            ": onefold dead show " + std::to_string(each.id) + opened.config_argument + "\n";
  }
  print(text);
  return ExitCode::ok;
}

const std::vector<ListColumn>& count_columns() {
  static const std::vector<ListColumn> columns{{.name = "consumer"},
                                               {.name = "outcome"},
                                               {.name = "handled_by"},
                                               {.name = "waiting", .in_table = false},
                                               {.name = "rows", .align = Table::Align::right}};
  return columns;
}

ExitCode count(const InboxOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  using Kind = std::tuple<std::string, std::string, std::string, bool>;
  std::map<Kind, std::int64_t> rows;
  InboxFilter filter = filter_of(options);
  std::int64_t rows_read = 0;
  for (;;) {
    const InboxCounts piece = opened.records->count(filter);
    for (const InboxCount& each : piece.counts) {
      rows[{each.consumer, to_string(each.outcome), each.handled_by, each.waiting}] += each.rows;
    }
    rows_read += piece.rows_read;
    show_read(rows_read);
    if (!piece.next) break;
    filter.after = piece.next;
  }
  ListOutput output{options.list, count_columns()};
  for (const auto& [kind, number] : rows) {
    const auto& [consumer, outcome, handled_by, waiting] = kind;
    output.add({{"consumer", json_text(consumer)},
                {"outcome", outcome},
                {"handled_by", json_text(handled_by)},
                {"waiting", waiting},
                {"rows", number}});
  }
  output.finish("nothing in the inbox fits");
  if (options.list.format == "table") note("read " + counted(rows_read, "row"));
  return ExitCode::ok;
}

void add_filter(CLI::App& command, InboxOptions& options) {
  command.add_option("--consumer", options.filter.consumer, "Of this consumer only")
      ->type_name("NAME");
  add_choice(command, "--outcome", options.outcome, {"applied", "stale", "deferred", "dead"},
             "outcomes", "With this outcome only");
  command.add_option("--source", options.filter.event_source, "From this event source only")
      ->type_name("SOURCE");
  command.add_option("--type", options.filter.event_type, "Of exactly this event type only")
      ->type_name("TYPE");
  add_since_option(command, options.filter.since, "Recorded then or later only");
}

void add_inbox_list(CLI::App& inbox, Action& chosen) {
  CLI::App* command = inbox.add_subcommand("list", "List the evidence of events");
  auto options = std::make_shared<InboxOptions>();
  add_config_option(*command, options->config_paths);
  add_filter(*command, *options);
  command->add_option("--after", options->after, "Only those behind this key")
      ->type_name("KEY")
      ->check(is_inbox_key, "");
  add_limit_option(*command, options->filter.limit);
  add_list_options(*command, options->list, names_of(inbox_columns()));
  command->footer(list_footer);
  command->callback([options, &chosen] { chosen = [options] { return list(*options); }; });
}

void add_inbox_show(CLI::App& inbox, Action& chosen) {
  CLI::App* command = inbox.add_subcommand("show", "Show one row of the inbox");
  auto options = std::make_shared<InboxOptions>();
  command->add_option("key", options->key, "Its key in onefold inbox list")
      ->type_name("KEY")
      ->required()
      ->check(is_inbox_key, "");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(show_footer);
  command->callback([options, &chosen] { chosen = [options] { return show(*options); }; });
}

void add_inbox_count(CLI::App& inbox, Action& chosen) {
  CLI::App* command = inbox.add_subcommand("count", "Count the inbox by outcome and handlers");
  auto options = std::make_shared<InboxOptions>();
  add_config_option(*command, options->config_paths);
  add_filter(*command, *options);
  add_list_options(*command, options->list, names_of(count_columns()));
  command->footer(count_footer);
  command->callback([options, &chosen] { chosen = [options] { return count(*options); }; });
}

void add_inbox_export(CLI::App& inbox, Action& chosen) {
  CLI::App* command = inbox.add_subcommand("export", "Write the evidence of all events");
  auto options = std::make_shared<InboxOptions>();
  add_config_option(*command, options->config_paths);
  add_filter(*command, *options);
  add_list_options(*command, options->list, names_of(inbox_columns()), {"jsonl", "csv"});
  command->footer(export_footer);
  command->callback([options, &chosen] { chosen = [options] { return export_inbox(*options); }; });
}

}  // namespace

void add_inbox(CLI::App& app, Action& chosen) {
  CLI::App* inbox = app.add_subcommand("inbox", "Look up what became of events");
  inbox->require_subcommand(1);
  inbox->footer(
      "The inbox has one row for each event that was claimed: the evidence of what became of it.\n"
      "\n"
      "Example:\n"
      "  onefold inbox why evt_42\n"
      "  onefold inbox list --since 1h");
  add_inbox_why(*inbox, chosen);
  add_inbox_list(*inbox, chosen);
  add_inbox_show(*inbox, chosen);
  add_inbox_count(*inbox, chosen);
  add_inbox_export(*inbox, chosen);
}

}  // namespace onefold::cli
