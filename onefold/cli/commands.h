#pragma once

#include <functional>
#include <string>

#include "onefold/cli/exit_code.h"

namespace CLI {
class App;
}

/// The commands, one source file each. To add one: write its file, declare it here, and add it in
/// arguments.cpp.
namespace onefold::cli {

/// What the chosen command does, once its arguments have been read.
using Action = std::function<ExitCode()>;

void add_run(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_migrate(CLI::App& app, Action& chosen);
void add_status(CLI::App& app, Action& chosen);
void add_inbox(CLI::App& app, Action& chosen);
void add_dead(CLI::App& app, Action& chosen);
void add_version(CLI::App& app, Action& chosen);

/// `-c FILE`, the same in every command.
void add_config_option(CLI::App& command, std::string& path);
/// `-o table|json`, the same in every command that has both.
void add_output_option(CLI::App& command, std::string& format);

}  // namespace onefold::cli
