#pragma once

#include <functional>
#include <string>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/options.h"

namespace CLI {
class App;
}

/// The commands. Their names, options, texts and examples are the table from which the help, the
/// manual and the completions are made. To add one: write its file, declare it here, and add it in
/// arguments.cpp.
namespace onefold::cli {

/// What the chosen command does, once its arguments have been read.
using Action = std::function<ExitCode()>;

void add_init(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_lab(CLI::App& app, Action& chosen);
void add_migrate(CLI::App& app, Action& chosen);
void add_status(CLI::App& app, Action& chosen);
void add_inbox(CLI::App& app, Action& chosen);
void add_inbox_why(CLI::App& inbox, Action& chosen);
void add_dead(CLI::App& app, Action& chosen);
void add_dead_discard(CLI::App& dead, Action& chosen);
void add_dead_edit(CLI::App& dead, Action& chosen);
void add_dead_export(CLI::App& dead, Action& chosen);
void add_dead_import(CLI::App& dead, Action& chosen);
void add_dead_replay(CLI::App& dead, Action& chosen);
void add_replay(CLI::App& app, Action& chosen);
void add_replay_start(CLI::App& replay, Action& chosen);
void add_replay_show(CLI::App& replay, Action& chosen);
void add_resume(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_manual(CLI::App& app, Action& chosen);
void add_version(CLI::App& app, Action& chosen);
void add_help(CLI::App& app, Action& chosen);

}  // namespace onefold::cli
