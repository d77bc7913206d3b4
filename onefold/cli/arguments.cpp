#include "onefold/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/mistakes.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

constexpr const char* about =
    "Onefold applies each event exactly once to a SQL database, however often it is delivered.";

constexpr const char* footer =
    "Start with onefold init, which writes an example that runs. Every command has a --help of "
    "its\n"
    "own, with an example.\n"
    "\n"
    "Example:\n"
    "  onefold init shop                      Write a configuration, tables and events.\n"
    "  onefold check                          Is onefold.toml in this folder right?\n"
    "  onefold run --migrate --until-idle     Apply all events that are there.\n"
    "  onefold inbox why evt_42               What became of this event?\n"
    "  onefold dead list                      What was set aside, and why?\n"
    "\n"
    "Exit status: 0 done, 1 problems found, 64 wrong arguments, 65 wrong data, 69 database or\n"
    "source not available, 70 internal, 75 paused or try again, 77 no permission, 78 "
    "configuration.";

constexpr std::size_t option_columns = 34;
constexpr std::size_t text_columns = 66;

/// Lines of at most `text_columns`, broken between words.
std::string wrapped(const std::string& text) {
  std::string lines;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t size = end - at;
    if (used > 0) {
      const bool fits = used + 1 + size <= text_columns;
      lines += fits ? ' ' : '\n';
      used = fits ? used + 1 : 0;
    }
    lines.append(text, at, size);
    used += size;
    at = end + 1;
  }
  return lines;
}

/// The parser's help, in lines that fit a terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(option_columns);
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description());
  }
  /// Arguments by what they are: "ID", not "id ID".
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? option->get_type_name()
                         : CLI::Formatter::make_option_name(option, false);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_positional()) return CLI::Formatter::make_option_opts(option);
    return option->get_items_expected_max() > 1 ? " ..." : "";
  }
  /// Without the second empty line between groups.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    return CLI::detail::find_and_replace(help, "\n\n\n", "\n\n");
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = option->get_type_name();
    const std::string all = name + (option->get_items_expected_max() > 1 ? "..." : "");
    return option->get_required() ? all : "[" + all + "]";
  }
};

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

void add_commands(CLI::App& app, Action& chosen) {
  add_init(app, chosen);
  add_check(app, chosen);
  add_config(app, chosen);
  add_doctor(app, chosen);
  add_migrate(app, chosen);
  add_run(app, chosen);
  add_status(app, chosen);
  add_inbox(app, chosen);
  add_dead(app, chosen);
  add_replay(app, chosen);
  add_resume(app, chosen);
  add_lab(app, chosen);
  add_completion(app, chosen);
  add_manual(app, chosen);
  add_version(app, chosen);
  add_help(app, chosen);
}

/// What every command understands.
void add_manners(CLI::App& app) {
  for (CLI::App* each : app.get_subcommands(nullptr)) {
    each->group("Commands");
    add_manners(*each);
  }
  if (app.get_parent() == nullptr || !app.get_subcommands(nullptr).empty()) return;
  app.add_flag("-q,--quiet", manners().quiet, "No notes and no progress; errors and warnings stay")
      ->group("Common options");
  const auto set_color = [](const std::string& when) {
    manners().color = when == "always"  ? Color::always
                      : when == "never" ? Color::never
                                        : Color::automatic;
  };
  app.add_option_function<std::string>(
         "--color", set_color, "Color: auto is on terminals, unless NO_COLOR or TERM=dumb is set")
      ->type_name("auto|always|never")
      ->check(one_of({"auto", "always", "never"}, "answers"), "")
      ->group("Common options");
}

/// Known before the words are understood, so that mistakes in them are told in the right form.
bool wants_json(int count, const char* const* words) {
  std::string_view before;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    for (const std::string_view format : {"json", "jsonl"}) {
      const bool follows = word == format && (before == "-o" || before == "--output");
      if (follows || word == "-o" + std::string{format} ||
          word == "--output=" + std::string{format}) {
        return true;
      }
    }
    before = word;
  }
  return false;
}

}  // namespace

ExitCode run_command_line(int count, const char* const* words) {
  manners().json = wants_json(count, words);
  CLI::App app{about, "onefold"};
  Action chosen;
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version", "onefold " ONEFOLD_VERSION, "Print the version and exit");
  app.formatter(std::make_shared<HelpFormatter>());
  add_commands(app, chosen);
  add_manners(app);
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

void add_help(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("command", *words, "The command; all of them unless given")
      ->type_name("COMMAND");
  command->footer("Example:\n  onefold help dead list");
  command->callback(
      [words, &app, &chosen] { chosen = [words, &app] { return help(app, *words); }; });
}

}  // namespace onefold::cli
