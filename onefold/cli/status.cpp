#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/table.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr const char* footer =
    "Shows what the database knows of every consumer:\n"
    "  inbox      how many events ended how; each is counted once, however often it came\n"
    "  set aside  what is kept with its bytes: the dead ones of the inbox, and conflicts, whose "
    "id\n"
    "             belongs to an event with other data\n"
    "  source     how far it has been read\n"
    "Can run beside onefold run.\n"
    "\n"
    "Example:\n"
    "  onefold status -c shop.toml";

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

/// The dead ones stand in the inbox too: it must not look like twice as many.
std::string set_aside_text(const ConsumerStatus& status, const std::string& config_argument) {
  std::string text;
  for (const auto& [reason, count] : status.deferred) {
    const bool counted_above =
        std::ranges::find(status.inbox, std::pair{reason, count}) != status.inbox.end();
    text += (text.empty() ? "" : ", ") + (counted_above ? "the " : std::string{}) + grouped(count) +
            " " + reason;
  }
  return text.empty() ? "nothing" : text + "; see onefold dead list" + config_argument;
}

void print_status(const ConsumerStatus& status, const std::string& config_argument) {
  std::string text = printable(status.name) + "\n";
  text += "  inbox      " + counts_text(status.inbox) + "\n";
  text += "  set aside  " + set_aside_text(status, config_argument) + "\n";
  for (const Position& position : status.positions) {
    text += "  source     " + position_text(position) + "\n";
  }
  text += "  last event " +
          (status.last_recorded_at ? "recorded at " + format_rfc3339(*status.last_recorded_at)
                                   : std::string{"none so far"}) +
          "\n";
  print(text);
}

Json status_json(const ConsumerStatus& status) {
  Json json;
  json["name"] = status.name;
  json["inbox"] = counts_json(status.inbox);
  json["deferred"] = counts_json(status.deferred);
  json["positions"] = Json::array();
  for (const Position& position : status.positions) {
    json["positions"].push_back(json_position(position));
  }
  json["last_recorded_at"] = json_time(status.last_recorded_at);
  json["mode"] = status.mode;
  json["rules"] = json_text(status.rules);
  return json;
}

ExitCode status(const std::string& config_path, const std::string& format) {
  const OpenedStore opened = open_to_look(config_path);
  const auto consumers = opened.housekeeping->status();
  if (format == "json") {
    Json json;
    json["consumers"] = Json::array();
    for (const ConsumerStatus& consumer : consumers) {
      json["consumers"].push_back(status_json(consumer));
    }
    print(dumped(json));
    return ExitCode::ok;
  }
  if (consumers.empty()) print("no consumer has run on this database so far\n");
  for (const ConsumerStatus& consumer : consumers)
    print_status(consumer, config_argument(opened.config));
  return ExitCode::ok;
}

}  // namespace

void add_status(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("status", "Show how far every consumer has come");
  auto path = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>();
  add_config_option(*command, *path);
  add_output_option(*command, *format);
  command->footer(footer);
  command->callback(
      [path, format, &chosen] { chosen = [path, format] { return status(*path, *format); }; });
}

}  // namespace onefold::cli
