#include "onefold/cli/completion.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

using Commands = std::vector<const CommandText*>;

void collect(const CommandText& command, Commands& all) {
  all.push_back(&command);
  for (const CommandText& each : command.commands) collect(each, all);
}

Commands all_commands(const CommandText& program) {
  Commands all;
  collect(program, all);
  return all;
}

std::string words_of(const std::vector<std::string>& words) {
  return CLI::detail::join(words, " ");
}

std::vector<std::string> option_names(const OptionText& option) {
  std::vector<std::string> names;
  if (!option.short_name.empty()) names.push_back(option.short_name);
  if (!option.long_name.empty()) names.push_back(option.long_name);
  return names;
}

bool is_file(std::string_view value) {
  return value == "FILE" || value == "FOLDER";
}

/// The names of all commands but the program, as the alternatives of a `case`.
std::string command_pattern(const CommandText& program) {
  std::string pattern;
  for (const CommandText* each : all_commands(program)) {
    if (each == &program) continue;
    pattern += (pattern.empty() ? "\"" : " | \"") + each->name + "\"";
  }
  return pattern;
}

/// What can follow the command: its commands, or the choices of its first argument.
std::vector<std::string> next_words(const CommandText& command) {
  std::vector<std::string> words;
  for (const CommandText& each : command.commands) words.push_back(each.word);
  if (!command.arguments.empty()) words = choices_of(command.arguments.front().name);
  return words;
}

bool takes_file(const CommandText& command) {
  return !command.arguments.empty() && is_file(command.arguments.front().name);
}

/// "onefold run -o" | "onefold run --output", for every option that has a value.
std::string option_pattern(const CommandText& command, const OptionText& option) {
  std::string pattern;
  for (const std::string& name : option_names(option)) {
    pattern += (pattern.empty() ? "\"" : " | \"") + command.name + " " + name + "\"";
  }
  return pattern;
}

/// For zsh and fish, within single quotes. What is in the texts is ours.
std::string in_quotes(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else {
      safe += c;
    }
  }
  return "'" + safe + "'";
}

/// A colon separates words from their meaning in zsh.
std::string described(std::string_view word, std::string_view text) {
  std::string safe;
  for (const char c : word) {
    if (c == ':') safe += '\\';
    safe += c;
  }
  return in_quotes(safe + ":" + std::string{text});
}

std::string zsh_list(const CommandText& command) {
  std::string list;
  for (const CommandText& each : command.commands) {
    list += " " + described(each.word, each.summary);
  }
  if (command.commands.empty()) {
    for (const std::string& word : next_words(command)) list += " " + in_quotes(word);
  }
  return list;
}

std::string zsh_options(const CommandText& command) {
  std::string list;
  for (const OptionText& each : command.options) {
    for (const std::string& name : option_names(each)) list += " " + described(name, each.text);
  }
  return list;
}

std::string fish_option(const CommandText& command, const OptionText& option) {
  std::string line = "complete -c onefold -n '__onefold_at \"" + command.name + "\"'";
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  if (!option.long_name.empty()) line += " -l " + option.long_name.substr(2);
  if (!option.value.empty()) {
    const auto choices = choices_of(option.value);
    line += is_file(option.value) ? " -r -F" : " -x";
    if (!choices.empty()) line += " -a '" + words_of(choices) + "'";
  }
  return line + " -d " + in_quotes(option.text) + "\n";
}

ExitCode completion(const CLI::App& app, const std::string& shell) {
  const CommandText program = describe(app);
  print(shell == "bash"  ? completion_for_bash(program)
        : shell == "zsh" ? completion_for_zsh(program)
                         : completion_for_fish(program));
  return ExitCode::ok;
}

constexpr const char* footer =
    "Prints a script that lets the shell complete commands, options and their values.\n"
    "\n"
    "Example:\n"
    "  onefold completion bash > ~/.local/share/bash-completion/completions/onefold\n"
    "  onefold completion zsh > \"${fpath[1]}/_onefold\"\n"
    "  onefold completion fish > ~/.config/fish/completions/onefold.fish";

}  // namespace

std::string completion_for_bash(const CommandText& program) {
  std::string script =
      "# Completion of onefold for bash. Written by onefold completion bash.\n"
      "_onefold() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=onefold word words='' files=''\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$command $word\" in\n"
      "      " +
      command_pattern(program) +
      ") command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $previous\" in\n";
  for (const CommandText* command : all_commands(program)) {
    for (const OptionText& option : command->options) {
      if (option.value.empty()) continue;
      script += "    " + option_pattern(*command, option) + ")\n      ";
      script += is_file(option.value)
                    ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                    : "COMPREPLY=($(compgen -W '" + words_of(choices_of(option.value)) +
                          "' -- \"$current\"))";
      script += "\n      return ;;\n";
    }
  }
  script += "  esac\n  case \"$command\" in\n";
  for (const CommandText* command : all_commands(program)) {
    std::vector<std::string> words = next_words(*command);
    for (const OptionText& option : command->options) {
      for (const std::string& name : option_names(option)) words.push_back(name);
    }
    script += "    \"" + command->name + "\") words='" + words_of(words) + "'";
    if (takes_file(*command)) script += " files=yes";
    script += " ;;\n";
  }
  return script +
         "  esac\n"
         "  # Options only when one is begun: what is asked for first are words.\n"
         "  if [[ $current != -* ]]; then\n"
         "    local plain=''\n"
         "    for word in $words; do [[ $word == -* ]] || plain+=\" $word\"; done\n"
         "    [[ -z $plain ]] || words=$plain\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  if [[ -n $files && $current != -* ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _onefold onefold\n";
}

std::string completion_for_zsh(const CommandText& program) {
  std::string script =
      "#compdef onefold\n"
      "# Completion of onefold for zsh. Written by onefold completion zsh.\n"
      "_onefold() {\n"
      "  local command=onefold word previous=${words[CURRENT-1]}\n"
      "  local -a entries options\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$command $word\" in\n"
      "      " +
      command_pattern(program) +
      ") command=\"$command $word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $previous\" in\n";
  for (const CommandText* command : all_commands(program)) {
    for (const OptionText& option : command->options) {
      if (option.value.empty()) continue;
      const auto choices = choices_of(option.value);
      script += "    " + option_pattern(*command, option) + ") ";
      script += is_file(option.value) ? "_files"
                : choices.empty()     ? "_message " + in_quotes(option.text)
                                      : "compadd -- " + words_of(choices);
      script += "; return ;;\n";
    }
  }
  script += "  esac\n  case \"$command\" in\n";
  for (const CommandText* command : all_commands(program)) {
    script += "    \"" + command->name + "\")\n      entries=(" + zsh_list(*command) +
              " )\n      options=(" + zsh_options(*command) + " )\n";
    if (takes_file(*command)) script += "      [[ $PREFIX == -* ]] || _files\n";
    script += "      ;;\n";
  }
  return script +
         "  esac\n"
         "  if [[ $PREFIX == -* || ${#entries} -eq 0 ]]; then\n"
         "    _describe -o option options\n"
         "  else\n"
         "    _describe command entries\n"
         "  fi\n"
         "}\n"
         "if [[ $funcstack[1] == _onefold ]]; then _onefold \"$@\"; else compdef _onefold onefold; "
         "fi\n";
}

std::string completion_for_fish(const CommandText& program) {
  std::string script =
      "# Completion of onefold for fish. Written by onefold completion fish.\n"
      "function __onefold_at\n"
      "  set -l command onefold\n"
      "  set -l words (commandline -opc)\n"
      "  for word in $words[2..-1]\n"
      "    switch \"$command $word\"\n"
      "      case";
  for (const CommandText* each : all_commands(program)) {
    if (each != &program) script += " '" + each->name + "'";
  }
  script +=
      "\n"
      "        set command \"$command $word\"\n"
      "    end\n"
      "  end\n"
      "  test \"$command\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c onefold -f\n";
  for (const CommandText* command : all_commands(program)) {
    const std::string here = "complete -c onefold -n '__onefold_at \"" + command->name + "\"'";
    for (const CommandText& each : command->commands) {
      script += here + " -a " + each.word + " -d " + in_quotes(each.summary) + "\n";
    }
    if (command->commands.empty()) {
      const auto words = next_words(*command);
      if (!words.empty()) script += here + " -a '" + words_of(words) + "'\n";
    }
    if (takes_file(*command)) script += here + " -F\n";
    for (const OptionText& option : command->options) script += fish_option(*command, option);
  }
  return script;
}

void add_completion(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  add_choice(*command, "shell", *shell, {"bash", "zsh", "fish"}, "shells", "The shell")->required();
  command->footer(footer);
  command->callback(
      [shell, &app, &chosen] { chosen = [shell, &app] { return completion(app, *shell); }; });
}

}  // namespace onefold::cli
