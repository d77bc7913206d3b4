#pragma once

#include <string>

#include "onefold/cli/command_table.h"

/// Scripts for shells, made from the table of commands.
namespace onefold::cli {

std::string completion_for_bash(const CommandText& program);
std::string completion_for_zsh(const CommandText& program);
std::string completion_for_fish(const CommandText& program);

}  // namespace onefold::cli
