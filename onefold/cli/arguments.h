#pragma once

#include "onefold/cli/exit_code.h"

namespace onefold::cli {

/// Reads the command line and does what it says. Help and mistakes are answered here. Throws what
/// the command throws.
ExitCode run_command_line(int count, const char* const* words);

}  // namespace onefold::cli
