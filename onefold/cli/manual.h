#pragma once

#include <string>

#include "onefold/cli/command_table.h"

/// The manual, made from the table of commands.
namespace onefold::cli {

/// For man(1).
std::string manual_roff(const CommandText& program);
/// For docs/cli.md.
std::string manual_markdown(const CommandText& program);

}  // namespace onefold::cli
