#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/dead_choice.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/decisions.h"

namespace onefold::cli {
namespace {

struct DiscardOptions {
  std::vector<std::string> config_paths;
  std::string format;
  DeadChoice choice;
};

constexpr const char* footer =
    "Gives events up for good. Their bytes are deleted; what is left is the evidence in the inbox\n"
    "and an audit row with who, when, what and why. The id stays claimed, so that a redelivery\n"
    "does nothing. Export them first if the bytes may still be wanted: onefold dead export.\n"
    "--all leaves alone what is tried again by itself, unless --kind retry or behind asks for it.\n"
    "Ends with status 1 if one of them was no longer there.\n"
    "\n"
    "Example:\n"
    "  onefold dead discard 7 --reason \"a test order\"\n"
    "  onefold dead discard --all --kind conflict --since 1d --dry-run --reason \"bad replay\"";

/// What is tried again anyway is no dead letter: it is given up by its number or kind only.
bool is_for_a_person(const DeferredRecord& record) {
  return record.reason != to_string(DeferralReason::retry) &&
         record.reason != to_string(DeferralReason::behind);
}

void print_answer(const DiscardOptions& options, std::int64_t discarded,
                  const std::vector<std::int64_t>& gone) {
  if (options.format == "json") {
    print(dumped_line(
        {{"discarded", discarded}, {"gone", gone}, {"dry_run", options.choice.dry_run}}));
    return;
  }
  print((options.choice.dry_run ? "would discard " : "discarded ") + counted(discarded, "event") +
        "\n");
}

/// The numbers that are not there, without touching those that are.
std::vector<std::int64_t> absent(const OpenedStore& opened, const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> gone;
  for (const std::int64_t id : ids) {
    if (!look_up(opened, id)) gone.push_back(id);
  }
  return gone;
}

std::vector<std::int64_t> discard_all(const OpenedStore& opened,
                                      const std::vector<std::int64_t>& ids,
                                      const std::string& reason) {
  const auto decisions = opened.store->decisions();
  const Decision decision{.who = user_at_host(), .reason = reason};
  std::vector<std::int64_t> gone;
  decide_in_parts(ids, [&](std::span<const std::int64_t> part) {
    const auto answers = decisions->discard(part, decision);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] == DiscardAnswer::gone) gone.push_back(part[i]);
    }
  });
  return gone;
}

ExitCode discard(const DiscardOptions& options) {
  const DeadChoice& choice = options.choice;
  require_choice(choice, "onefold dead discard");
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, choice.filter.consumer);
  const auto ids = chosen_ids(opened, choice, [&](const DeferredRecord& record) {
    return !choice.filter.reason.empty() || is_for_a_person(record);
  });
  if (!is_meant(ids.size(), choice, "discard")) {
    complain("nothing was discarded");
    return ExitCode::problems;
  }
  const auto gone = choice.dry_run ? absent(opened, ids) : discard_all(opened, ids, choice.reason);
  print_answer(options, static_cast<std::int64_t>(ids.size() - gone.size()), gone);
  if (gone.empty()) return ExitCode::ok;
  complain_about_gone(gone, opened);
  return ExitCode::problems;
}

}  // namespace

void add_dead_discard(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("discard", "Give events up for good, with a reason");
  auto options = std::make_shared<DiscardOptions>();
  add_dead_choice(*command, options->choice, deferred_kinds(), "discard");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return discard(*options); }; });
}

}  // namespace onefold::cli
