#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onefold/cli/applying.h"
#include "onefold/cli/commands.h"
#include "onefold/cli/dead_choice.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/fates.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

struct DeadReplayOptions {
  std::vector<std::string> config_paths;
  std::string format;
  DeadChoice choice;
  bool now = false;
};

constexpr const char* footer =
    "Tries events again, once the cause is mended: they become due, with all their attempts "
    "before\n"
    "them, and onefold run applies them. They keep their identity, so that an event that was\n"
    "applied in the meantime is not applied twice. A conflict cannot be tried again, as its id\n"
    "belongs to another event: see onefold dead edit. For very many, or at a rate, see onefold\n"
    "replay start.\n"
    "With --now this command applies what is due itself, and says what became of the events; it\n"
    "ends with status 1 if one of them failed again. An SQLite database has one process that\n"
    "applies events: while onefold run does, --now ends with status 75.\n"
    "\n"
    "Example:\n"
    "  onefold dead replay 7 --reason \"the account is there now\" --now\n"
    "  onefold dead replay --all --class rows --handler credit --dry-run --reason \"accounts "
    "added\"";

/// What the database answered.
struct Answers {
  std::vector<std::int64_t> due;
  std::vector<std::int64_t> waiting;
  std::vector<std::int64_t> conflict;
  std::vector<std::int64_t> gone;

  void add(std::int64_t id, ReplayAnswer answer) {
    switch (answer) {
      case ReplayAnswer::due:
        return due.push_back(id);
      case ReplayAnswer::waiting:
        return waiting.push_back(id);
      case ReplayAnswer::conflict:
        return conflict.push_back(id);
      case ReplayAnswer::gone:
        return gone.push_back(id);
    }
  }
};

/// What the answers would be.
Answers try_out(const OpenedStore& opened, const std::vector<std::int64_t>& ids) {
  Answers answers;
  for (const std::int64_t id : ids) {
    const auto row = look_up(opened, id);
    answers.add(id,
                row ? objection_to_replay(*row).value_or(ReplayAnswer::due) : ReplayAnswer::gone);
  }
  return answers;
}

Answers make_due(const OpenedStore& opened, const std::vector<std::int64_t>& ids,
                 const std::string& reason) {
  Answers answers;
  const auto decisions = opened.store->decisions();
  const Decision decision{.who = user_at_host(), .reason = reason};
  decide_in_parts(ids, [&](std::span<const std::int64_t> part) {
    const auto given = decisions->replay(part, decision);
    for (std::size_t i = 0; i < given.size(); ++i) answers.add(part[i], given[i]);
  });
  return answers;
}

std::string answers_text(const Answers& answers, const DeadReplayOptions& options) {
  const auto due = static_cast<std::int64_t>(answers.due.size());
  const bool one = due == 1;
  std::string text = counted(due, "event");
  text += options.choice.dry_run ? " would be due" : one ? " is due" : " are due";
  if (!answers.waiting.empty()) {
    text += "; " + grouped(static_cast<std::int64_t>(answers.waiting.size())) +
            " will be tried again anyway";
  }
  return text + "\n";
}

Json answers_json(const Answers& answers, const DeadReplayOptions& options) {
  return {{"due", answers.due.size()},
          {"waiting", answers.waiting.size()},
          {"conflict", answers.conflict},
          {"gone", answers.gone},
          {"dry_run", options.choice.dry_run}};
}

void complain_about_conflicts(const std::vector<std::int64_t>& ids, const OpenedStore& opened) {
  complain("the id of " + numbers_text(ids) + " belongs to another event, which came first",
           "onefold dead edit ID" + opened.config_argument + " gives one another id");
}

/// Tells what was not made due. Whether all was.
bool complain_about(const Answers& answers, const OpenedStore& opened) {
  if (!answers.conflict.empty()) complain_about_conflicts(answers.conflict, opened);
  if (!answers.gone.empty()) complain_about_gone(answers.gone, opened);
  return answers.conflict.empty() && answers.gone.empty();
}

ExitCode replay_later(const DeadReplayOptions& options, const OpenedStore& opened,
                      const Answers& answers) {
  print(options.format == "json" ? dumped_line(answers_json(answers, options))
                                 : answers_text(answers, options));
  if (!answers.due.empty() && !options.choice.dry_run) {
    note("nothing is applied here: onefold run" + opened.config_argument +
         " does, now if it is running");
  }
  return complain_about(answers, opened) ? ExitCode::ok : ExitCode::problems;
}

ExitCode replay_now(const DeadReplayOptions& options, const OpenedStore& opened,
                    const std::vector<std::int64_t>& ids) {
  Fates fates{opened, ids};
  const Answers answers = make_due(opened, ids, options.choice.reason);
  apply_waiting(opened);
  fates.find_out(answers.due);
  if (options.format == "json") {
    Json json = answers_json(answers, options);
    json["now"] = fates.json();
    print(dumped_line(json));
  } else {
    print(answers_text(answers, options) + fates.text());
  }
  const bool all_due = complain_about(answers, opened);
  fates.complain_about_failures();
  const auto paused = pauses_of(opened, fates.consumers_left());
  if (!paused.empty()) {
    complain_about_pauses(paused, opened.config_argument);
    return ExitCode::try_again;
  }
  return all_due && fates.all_applied() ? ExitCode::ok : ExitCode::problems;
}

ExitCode replay(const DeadReplayOptions& options) {
  const DeadChoice& choice = options.choice;
  require_choice(choice, "onefold dead replay");
  const bool now = options.now && !choice.dry_run;
  const OpenedStore opened =
      now ? open_to_apply_waiting(
                options.config_paths,
                "without --now they become due, and the process that runs applies "
                "them; nothing was changed")
          : open_to_look(options.config_paths);
  require_consumer(opened, choice.filter.consumer);
  const auto ids = chosen_ids(opened, choice, [](const DeferredRecord& record) {
    return !objection_to_replay(record).has_value();
  });
  if (!is_meant(ids.size(), choice, "replay")) {
    complain("nothing was changed");
    return ExitCode::problems;
  }
  if (now) return replay_now(options, opened, ids);
  return replay_later(options, opened,
                      choice.dry_run ? try_out(opened, ids) : make_due(opened, ids, choice.reason));
}

}  // namespace

void add_dead_replay(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("replay", "Try events again, with a reason");
  auto options = std::make_shared<DeadReplayOptions>();
  add_dead_choice(*command, options->choice, replayable_kinds(), "replay");
  command->add_flag("--now", options->now,
                    "Apply what is due here and now, and say what came of it");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return replay(*options); }; });
}

}  // namespace onefold::cli
