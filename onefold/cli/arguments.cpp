#include "onefold/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr const char* about =
    "Onefold applies each event exactly once to a SQL database, however often it is delivered.";

constexpr const char* footer =
    "Example:\n"
    "  onefold check                          Is onefold.toml in this folder right?\n"
    "  onefold run --migrate --until-idle     Apply all events that are there.\n"
    "  onefold inbox why evt_42               What became of this event?\n"
    "  onefold dead list                      What was set aside, and why?\n"
    "\n"
    "Exit status: 0 done, 1 problems found, 64 wrong arguments, 65 wrong data, 69 database or\n"
    "source not available, 70 internal, 75 try again, 77 no permission, 78 configuration.";

/// The innermost command that the words named.
CLI::App& innermost(CLI::App& app) {
  CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string full_name(CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : full_name(*command.get_parent()) + " " + command.get_name();
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

void complain_about_word(CLI::App& command, const std::string& word) {
  const std::string name = full_name(command);
  if (word.starts_with("-") && !command_names(command).empty()) {
    complain(name + " has no option " + printable(word),
             "options come after the command, as in onefold run -c onefold.toml");
  } else if (word.starts_with("-")) {
    complain(name + " has no option " + printable(word),
             nearest_hint(word.substr(0, word.find('=')), option_names(command), "options"));
  } else if (!command_names(command).empty()) {
    complain("there is no command \"" + name + " " + printable(word) + "\"",
             nearest_hint(word, command_names(command), "commands"));
  } else {
    complain(name + " does not expect \"" + printable(word) + "\"", "see " + name + " --help");
  }
}

/// What the parser says of a mistake, in the words of this program.
std::string mistake_text(const CLI::ParseError& error) {
  std::string text = printable(error.what(), 300);
  const auto before = [&](std::string_view words) { return text.substr(0, text.find(words)); };
  constexpr std::string_view missing = ": 1 required ";
  constexpr std::string_view too_many = ": At Most 1 required";
  if (const std::size_t at = text.find(missing); at != std::string::npos) {
    const std::string value = text.substr(at + missing.size());
    return text.substr(0, at) + " needs a value: " + value.substr(0, value.find(' '));
  }
  if (text.find(too_many) != std::string::npos)
    return before(too_many) + " can stand here only once";
  return text;
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
             nearest_hint({}, command_names(command), "commands") + "; see " + full_name(command) +
                 " --help");
  } else {
    complain(mistake_text(error), "see " + full_name(command) + " --help");
  }
  return ExitCode::usage;
}

/// `help dead list` is `dead list --help`.
ExitCode help(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto found =
        command->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    if (found.empty()) {
      complain_about_word(*command, word);
      return ExitCode::usage;
    }
    command = found.front();
  }
  // Not command->help(): with a command chosen, that is the help of the one which was chosen.
  print(command->get_formatter()->make_help(command, full_name(*command),
                                            CLI::AppFormatMode::Normal));
  return ExitCode::ok;
}

void add_help(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("command", *words, "The command; all of them unless given")
      ->type_name("COMMAND");
  command->footer("Example:\n  onefold help dead list");
  command->callback(
      [words, &app, &chosen] { chosen = [words, &app] { return help(app, *words); }; });
}

}  // namespace

ExitCode run_command_line(int count, const char* const* words) {
  CLI::App app{about, "onefold"};
  Action chosen;
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version", "onefold " ONEFOLD_VERSION, "Print the version and exit");
  app.get_formatter()->column_width(34);
  add_run(app, chosen);
  add_check(app, chosen);
  add_migrate(app, chosen);
  add_status(app, chosen);
  add_inbox(app, chosen);
  add_dead(app, chosen);
  add_version(app, chosen);
  add_help(app, chosen);
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return ExitCode::ok;
  } catch (const CLI::CallForVersion&) {
    print(app.version() + "\n");
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    return complain_about(app, error);
  }
  return chosen();
}

void add_config_option(CLI::App& command, std::string& path) {
  path = "onefold.toml";
  command.add_option("-c,--config", path, "The configuration; onefold.toml unless given")
      ->type_name("FILE");
}

void add_output_option(CLI::App& command, std::string& format) {
  format = "table";
  command.add_option("-o,--output", format, "table, for people (default), or json, for programs")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
}

}  // namespace onefold::cli
