#include "onefold/cli/mistakes.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/terminal.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

/// The innermost command that the words named.
CLI::App& innermost(CLI::App& app) {
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::vector<std::string> command_names(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands(nullptr)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> option_names(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The option or argument of the command that an error speaks of. The parser puts its name in front
/// of a colon or of the words of its message.
const CLI::Option* option_named(CLI::App& command, std::string_view text) {
  const CLI::Option* found = nullptr;
  std::size_t length = 0;
  for (const CLI::Option* each : command.get_options()) {
    const std::string name = each->get_name();
    if (text.starts_with(name) && name.size() > length) {
      found = each;
      length = name.size();
    }
  }
  return found;
}

std::string said(const CLI::Option& option) {
  const bool choice = option.get_type_name().find('|') != std::string::npos;
  return option.get_positional() && !choice ? option.get_type_name() : option.get_name();
}

/// "a FILE", "an ID", "one of table, json".
std::string with_article(const std::string& value) {
  if (value.find('|') != std::string::npos) {
    return "one of " + CLI::detail::find_and_replace(value, "|", ", ");
  }
  constexpr std::string_view vowels = "AEIO";
  return (vowels.find(value.front()) == std::string_view::npos ? "a " : "an ") + value;
}

std::string missing_text(CLI::App& command, const CLI::Option* option) {
  if (option == nullptr) return full_name(command) + " needs more than that";
  if (option->get_positional()) {
    return full_name(command) + " needs " + with_article(option->get_type_name());
  }
  return full_name(command) + " needs " + option->get_name() + " " + option->get_type_name();
}

std::string mistake_text(CLI::App& command, const CLI::ParseError& error) {
  std::string text = printable(error.what(), 400);
  constexpr std::string_view conversion = "Could not convert: ";
  if (text.starts_with(conversion)) text.erase(0, conversion.size());
  const CLI::Option* option = option_named(command, text);
  const std::string kind = error.get_name();
  if (kind == "RequiredError") return missing_text(command, option);
  if (option == nullptr) return full_name(command) + ": " + text;
  const std::string name = said(*option);
  if (kind == "ValidationError") {
    const std::size_t colon = text.find(": ");
    return name + ": " + (colon == std::string::npos ? text : text.substr(colon + 2));
  }
  if (kind == "ArgumentMismatch") {
    if (text.find("At Most") != std::string::npos) return name + " can stand here only once";
    return name + " needs a value: " + option->get_type_name();
  }
  if (kind == "RequiresError") {
    constexpr std::string_view requires_word = " requires ";
    const std::size_t at = text.find(requires_word);
    return name + " is of use only together with " + text.substr(at + requires_word.size());
  }
  if (kind == "ConversionError") {
    return name + (option->get_type_name().empty() ? " takes no value" : " cannot have this value");
  }
  return text;
}

std::string help_hint(CLI::App& command) {
  return "see " + full_name(command) + " --help";
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

void complain_about_word(CLI::App& command, const std::string& word) {
  const std::string name = full_name(command);
  const std::string shown = printable(word);
  if (word.starts_with('-') && !command_names(command).empty()) {
    complain(name + " has no option " + shown,
             "options come after the command, as in onefold run -c onefold.toml");
  } else if (word.starts_with('-')) {
    complain(name + " has no option " + shown,
             nearest_hint(word.substr(0, word.find('=')), option_names(command), "options"));
  } else if (!command_names(command).empty()) {
    complain("there is no command \"" + name + " " + shown + "\"",
             nearest_hint(word, command_names(command), "commands"));
  } else {
    complain(name + " does not expect \"" + shown + "\"", help_hint(command));
  }
}

ExitCode complain_about(CLI::App& app, const CLI::ParseError& error) {
  // The words that nobody understood stand with the command that was asked.
  for (CLI::App* asked = &app;; asked = asked->get_subcommands().back()) {
    const std::vector<std::string> extra = asked->remaining(false);
    if (!extra.empty()) {
      complain_about_word(*asked, extra.front());
      return ExitCode::usage;
    }
    if (asked->get_subcommands().empty()) break;
  }
  CLI::App& command = innermost(app);
  if (!command_names(command).empty()) {
    complain("what should " + full_name(command) + " do?",
             nearest_hint({}, command_names(command), "commands") + "; " + help_hint(command));
  } else {
    complain(mistake_text(command, error), help_hint(command));
  }
  return ExitCode::usage;
}

}  // namespace onefold::cli
