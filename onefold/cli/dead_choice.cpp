#include "onefold/cli/dead_choice.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "onefold/cli/dead_filter.h"
#include "onefold/cli/exit_code.h"
#include "onefold/cli/options.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {

void add_dead_choice(CLI::App& command, DeadChoice& choice, const std::vector<std::string>& kinds,
                     const std::string& verb) {
  command.add_option("id", choice.ids, "Their numbers in onefold dead list")
      ->type_name("ID")
      ->check(is_dead_id, "");
  command.add_option("--reason", choice.reason, "Why that is right; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  command.add_flag("--all", choice.all, "All of them, or those that these leave over:");
  add_dead_filter(command, choice.filter, kinds);
  command.add_flag("--dry-run", choice.dry_run, "Say how many it would be, and change nothing");
  command.add_flag("--yes", choice.yes, "Do not ask before it is done to several: " + verb);
}

void require_choice(const DeadChoice& choice, const std::string& command) {
  if (choice.all != !choice.ids.empty()) return;
  complain(choice.all ? command + " takes numbers, or --all, but not both"
                      : "which events should it be? " + command + " needs to know",
           "name their numbers in onefold dead list, or --all with --consumer, --class or others");
  throw Stopped{ExitCode::usage};
}

std::vector<std::int64_t> chosen_ids(const OpenedStore& opened, const DeadChoice& choice,
                                     const std::function<bool(const DeferredRecord&)>& fits) {
  std::vector<std::int64_t> ids;
  if (!choice.all) {
    ids = choice.ids;
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return ids;
  }
  DeferredFilter filter = choice.filter;
  filter.with_raw = false;
  filter.limit = 500;
  for (;;) {
    const auto page = opened.records->deferred(filter);
    for (const DeferredRecord& each : page) {
      if (fits(each)) ids.push_back(each.id);
    }
    if (page.size() < filter.limit) return ids;
    filter.after = page.back().id;
  }
}

bool is_meant(std::size_t count, const DeadChoice& choice, const std::string& verb) {
  if (count <= 1 || choice.yes || choice.dry_run) return true;
  const std::string what = verb + " " + counted(static_cast<std::int64_t>(count), "event");
  if (can_ask()) return ask(what + "?");
  complain(what + "? That needs --yes where nobody can be asked",
           "see first what it would be: the same with --dry-run");
  throw Stopped{ExitCode::usage};
}

void decide_in_parts(std::span<const std::int64_t> ids,
                     const std::function<void(std::span<const std::int64_t>)>& decide) {
  constexpr std::size_t together = 100;
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), together));
    decide(part);
    ids = ids.subspan(part.size());
  }
}

std::optional<DeferredRecord> look_up(const OpenedStore& opened, std::int64_t id) {
  DeferredFilter this_one;
  this_one.id = id;
  this_one.with_raw = false;
  auto rows = opened.records->deferred(this_one);
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

std::string numbers_text(const std::vector<std::int64_t>& ids) {
  constexpr std::size_t named = 10;
  std::vector<std::string> numbers;
  for (const std::int64_t id : ids) {
    if (numbers.size() < named) numbers.push_back(std::to_string(id));
  }
  if (ids.size() > named) numbers.emplace_back("others");
  return joined(numbers);
}

void complain_about_gone(const std::vector<std::int64_t>& gone, const OpenedStore& opened) {
  complain("nothing is set aside under " + numbers_text(gone) +
               ": never was, or somebody has settled it meanwhile; nothing was changed there",
           "onefold dead list" + opened.config_argument + " shows what there is");
}

}  // namespace onefold::cli
