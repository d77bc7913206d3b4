#pragma once

#include <string>

#include "onefold/cli/exit_code.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

/// What is wrong with a command line, in the words of this program.
namespace onefold::cli {

/// Says what the parser did not understand, and what was probably meant.
ExitCode complain_about(CLI::App& app, const CLI::ParseError& error);
/// Says that `command` knows no such word.
void complain_about_word(CLI::App& command, const std::string& word);

/// "onefold dead list"
std::string full_name(const CLI::App& command);

}  // namespace onefold::cli
