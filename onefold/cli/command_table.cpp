#include "onefold/cli/command_table.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <string_view>

namespace onefold::cli {
namespace {

constexpr std::string_view example_title = "Example:\n";

/// The text below the options ends in examples.
void read_footer(std::string_view footer, CommandText& command) {
  const std::size_t at = footer.find(example_title);
  std::string_view text = footer.substr(0, at);
  while (text.ends_with('\n')) text.remove_suffix(1);
  command.text = text;
  if (at == std::string_view::npos) return;
  footer.remove_prefix(at + example_title.size());
  while (footer.starts_with("  ")) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    command.examples.emplace_back(footer.substr(2, end - 2));
    footer.remove_prefix(std::min(end + 1, footer.size()));
  }
  // What follows the examples belongs to the text.
  while (footer.starts_with('\n')) footer.remove_prefix(1);
  if (!footer.empty()) command.text += (command.text.empty() ? "" : "\n\n") + std::string{footer};
}

OptionText option_of(const CLI::Option& option) {
  OptionText text;
  if (!option.get_lnames().empty()) text.long_name = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) text.short_name = "-" + option.get_snames().front();
  if (option.get_type_size() != 0) text.value = option.get_type_name();
  text.text = option.get_description();
  text.required = option.get_required();
  return text;
}

ArgumentText argument_of(const CLI::Option& option) {
  return {.name = option.get_type_name(),
          .text = option.get_description(),
          .required = option.get_required(),
          .many = option.get_items_expected_max() > 1};
}

CommandText describe(const CLI::App& app, const std::string& above) {
  CommandText command;
  command.word = app.get_name();
  command.name = above.empty() ? command.word : above + " " + command.word;
  command.summary = app.get_description();
  read_footer(app.get_footer(), command);
  for (const CLI::Option* each : app.get_options([](const CLI::Option*) { return true; })) {
    if (each->get_positional()) {
      command.arguments.push_back(argument_of(*each));
    } else {
      command.options.push_back(option_of(*each));
    }
  }
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(describe(*each, command.name));
  }
  return command;
}

}  // namespace

CommandText describe(const CLI::App& command) {
  return describe(command, {});
}

std::string usage_of(const CommandText& command) {
  std::string usage = command.name;
  for (const OptionText& each : command.options) {
    if (each.required) usage += " " + each.long_name + " " + each.value;
  }
  usage += command.commands.empty() ? " [OPTIONS]" : " COMMAND";
  for (const ArgumentText& each : command.arguments) {
    const std::string name = each.name + (each.many ? "..." : "");
    usage += each.required ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::vector<std::string> choices_of(const std::string& value) {
  std::vector<std::string> choices;
  if (value.find('|') == std::string::npos &&
      (value.empty() || std::isupper(static_cast<unsigned char>(value.front())) != 0)) {
    return choices;
  }
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find('|', at), value.size());
    choices.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

}  // namespace onefold::cli
