#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/decisions.h"

namespace onefold::cli {
namespace {

/// In one transaction: few enough that events being applied need not wait long.
constexpr std::size_t discarded_together = 100;

struct DiscardOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::vector<std::int64_t> ids;
  DeferredFilter filter;
  std::string reason;
  bool all = false;
  bool dry_run = false;
  bool yes = false;
};

constexpr const char* footer =
    "Gives events up for good. Their bytes are deleted; what is left is the evidence in the inbox\n"
    "and an audit row with who, when, what and why. The id stays claimed, so that a redelivery\n"
    "does nothing. Export them first if the bytes may still be wanted: onefold dead export.\n"
    "Ends with status 1 if one of them was no longer there.\n"
    "\n"
    "Example:\n"
    "  onefold dead discard 7 --reason \"a test order\"\n"
    "  onefold dead discard --all --kind conflict --since 1d --dry-run --reason \"bad replay\"";

/// The numbers that were named, or all that the filter finds.
std::vector<std::int64_t> chosen_ids(const OpenedStore& opened, const DiscardOptions& options) {
  if (!options.all) {
    std::vector<std::int64_t> ids = options.ids;
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return ids;
  }
  DeferredFilter filter = options.filter;
  filter.with_raw = false;
  filter.limit = 500;
  std::vector<std::int64_t> ids;
  for (;;) {
    const auto page = opened.records->deferred(filter);
    for (const DeferredRecord& each : page) ids.push_back(each.id);
    if (page.size() < filter.limit) return ids;
    filter.after = page.back().id;
  }
}

/// Whether the person means it. Ends the command where nobody can be asked.
bool is_meant(std::size_t count, const DiscardOptions& options) {
  if (count <= 1 || options.yes || options.dry_run) return true;
  const std::string what = counted(static_cast<std::int64_t>(count), "event");
  if (can_ask()) return ask("discard " + what + " for good?");
  complain("discarding " + what + " needs --yes where nobody can be asked",
           "see first what it would be: the same with --dry-run");
  throw Stopped{ExitCode::usage};
}

void print_answer(const DiscardOptions& options, std::int64_t discarded,
                  const std::vector<std::int64_t>& gone) {
  if (options.format == "json") {
    print(dumped_line({{"discarded", discarded}, {"gone", gone}, {"dry_run", options.dry_run}}));
    return;
  }
  print((options.dry_run ? "would discard " : "discarded ") + counted(discarded, "event") + "\n");
}

void complain_about_gone(const std::vector<std::int64_t>& gone, const OpenedStore& opened) {
  constexpr std::size_t named = 10;
  std::vector<std::string> numbers;
  for (const std::int64_t id : gone) {
    if (numbers.size() < named) numbers.push_back(std::to_string(id));
  }
  if (gone.size() > named) numbers.emplace_back("others");
  complain("nothing is set aside under " + joined(numbers) +
               ": never was, or somebody has settled it meanwhile; nothing was changed there",
           "onefold dead list" + opened.config_argument + " shows what there is");
}

/// The numbers that are not there, without touching those that are.
std::vector<std::int64_t> absent(const OpenedStore& opened, const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> gone;
  for (const std::int64_t id : ids) {
    DeferredFilter this_one;
    this_one.id = id;
    this_one.with_raw = false;
    if (opened.records->deferred(this_one).empty()) gone.push_back(id);
  }
  return gone;
}

std::vector<std::int64_t> discard_all(const OpenedStore& opened,
                                      const std::vector<std::int64_t>& ids,
                                      const std::string& reason) {
  const auto decisions = opened.store->decisions();
  const Decision decision{.who = user_at_host(), .reason = reason};
  std::vector<std::int64_t> gone;
  std::span<const std::int64_t> left{ids};
  while (!left.empty()) {
    const auto together = left.first(std::min(left.size(), discarded_together));
    const auto answers = decisions->discard(together, decision);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] == DiscardAnswer::gone) gone.push_back(together[i]);
    }
    left = left.subspan(together.size());
  }
  return gone;
}

ExitCode discard(const DiscardOptions& options) {
  if (options.all == !options.ids.empty()) {
    complain(
        options.all ? "onefold dead discard takes numbers, or --all, but not both"
                    : "which events should onefold dead discard give up?",
        "name their numbers in onefold dead list, or --all with --consumer, --kind or --since");
    return ExitCode::usage;
  }
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  const auto ids = chosen_ids(opened, options);
  if (!is_meant(ids.size(), options)) {
    complain("nothing was discarded");
    return ExitCode::problems;
  }
  const auto gone =
      options.dry_run ? absent(opened, ids) : discard_all(opened, ids, options.reason);
  print_answer(options, static_cast<std::int64_t>(ids.size() - gone.size()), gone);
  if (gone.empty()) return ExitCode::ok;
  complain_about_gone(gone, opened);
  return ExitCode::problems;
}

}  // namespace

void add_dead_discard(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("discard", "Give events up for good, with a reason");
  auto options = std::make_shared<DiscardOptions>();
  command->add_option("id", options->ids, "Their numbers in onefold dead list")
      ->type_name("ID")
      ->check(is_dead_id, "");
  add_config_option(*command, options->config_paths);
  command->add_option("--reason", options->reason, "Why that is right; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  command->add_flag("--all", options->all, "All that are set aside, or that these leave over:");
  add_dead_filter(*command, options->filter);
  command->add_flag("--dry-run", options->dry_run, "Say how many it would be, and change nothing");
  command->add_flag("--yes", options->yes, "Do not ask before several are discarded");
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return discard(*options); }; });
}

}  // namespace onefold::cli
