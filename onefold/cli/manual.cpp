#include "onefold/cli/manual.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

const Rows& environment() {
  static const Rows rows{
      {"NO_COLOR", "If it is not empty: no color, unless --color always is given."},
      {"CLICOLOR_FORCE", "If it is neither empty nor 0: color also where nobody looks."},
      {"TERM", "dumb: neither color nor progress."},
      {"ONEFOLD__...",
       "Values of the configuration, such as ONEFOLD__STORE__URL; see "
       "docs/configuration.md."}};
  return rows;
}

constexpr const char* output_text =
    "Standard output carries the answer, and nothing else; standard error carries the rest. With "
    "-o json or -o jsonl every line on standard error is a JSON object too. An error is one of RFC "
    "9457: type (urn:onefold:problem: and usage, data, unavailable, internal, try-again, "
    "permission, "
    "configuration or found), title, detail, hint, exit_status, and errors if there are several. "
    "Everything else has level (problem, warning, note, hint) and text.";

constexpr const char* csv_text =
    "CSV is that of RFC 4180, with CRLF at the end of lines. A cell that begins with = + - @ or a "
    "tab gets an apostrophe in front, so that no spreadsheet runs what an event carries. Control "
    "characters, invalid UTF-8 and marks that turn text around are shown as \\u001B or \\xFF "
    "everywhere but in JSON, which has escapes of its own.";

/// Paragraphs, and blocks whose lines begin with blanks.
struct Block {
  bool verbatim = false;
  std::string text;
};

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  bool separate = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      separate = true;
      continue;
    }
    const bool verbatim = line.starts_with(' ');
    if (separate || blocks.back().verbatim != verbatim) {
      blocks.push_back({verbatim, {}});
    } else {
      blocks.back().text += verbatim ? "\n" : " ";
    }
    blocks.back().text += line;
    separate = false;
  }
  return blocks;
}

std::string names_of(const OptionText& option) {
  std::string names = option.short_name;
  if (!names.empty() && !option.long_name.empty()) names += ", ";
  return names + option.long_name;
}

/// Every command that does something, in order.
void collect(const CommandText& command, std::vector<const CommandText*>& all) {
  if (command.commands.empty()) all.push_back(&command);
  for (const CommandText& each : command.commands) collect(each, all);
}

std::string roff(std::string_view text) {
  std::string safe;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\') {
      safe += "\\e";
    } else if (c == '-') {
      safe += "\\-";
    } else {
      safe += c;
    }
    at_start = c == '\n';
  }
  return safe;
}

std::string roff_blocks(std::string_view text) {
  std::string page;
  for (const Block& each : blocks_of(text)) {
    page += each.verbatim ? ".PP\n.nf\n" + roff(each.text) + "\n.fi\n"
                          : ".PP\n" + roff(each.text) + "\n";
  }
  return page;
}

std::string roff_item(std::string_view term, std::string_view value, std::string_view text) {
  std::string line = ".TP\n";
  if (!term.empty()) line += "\\fB" + roff(term) + "\\fR";
  if (!term.empty() && !value.empty()) line += ' ';
  if (!value.empty()) line += "\\fI" + roff(value) + "\\fR";
  return line + "\n" + roff(text) + ".\n";
}

std::string roff_examples(const CommandText& command) {
  if (command.examples.empty()) return {};
  std::string page = ".PP\nExample:\n.PP\n.nf\n";
  for (const std::string& each : command.examples) page += "  " + roff(each) + "\n";
  return page + ".fi\n";
}

std::string roff_command(const CommandText& command) {
  std::string page = ".SS " + roff(usage_of(command)) + "\n" + roff(command.summary) + ".\n";
  page += roff_blocks(command.text);
  for (const ArgumentText& each : command.arguments) page += roff_item({}, each.name, each.text);
  for (const OptionText& each : command.options) {
    page += roff_item(names_of(each), each.value, each.text);
  }
  return page + roff_examples(command);
}

std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string markdown_blocks(std::string_view text) {
  std::string page;
  for (const Block& each : blocks_of(text)) {
    page += each.verbatim ? "```text\n" + each.text + "\n```\n\n" : each.text + "\n\n";
  }
  return page;
}

std::string markdown_examples(const CommandText& command) {
  if (command.examples.empty()) return {};
  std::string page = "Example:\n\n```text\n";
  for (const std::string& each : command.examples) page += each + "\n";
  return page + "```\n\n";
}

std::string markdown_command(const CommandText& command) {
  std::string page = "## " + command.name + "\n\n" + command.summary + ".\n\n```text\n" +
                     usage_of(command) + "\n```\n\n" + markdown_blocks(command.text);
  page += "| argument or option | meaning |\n|---|---|\n";
  for (const ArgumentText& each : command.arguments) {
    page += "| `" + cell(each.name) + "` | " + cell(each.text) + " |\n";
  }
  for (const OptionText& each : command.options) {
    const std::string value = each.value.empty() ? "" : " " + each.value;
    page += "| `" + cell(names_of(each) + value) + "` | " + cell(each.text) + " |\n";
  }
  return page + "\n" + markdown_examples(command);
}

ExitCode manual(const CLI::App& app, const std::string& format) {
  const CommandText program = describe(app);
  print(format == "markdown" ? manual_markdown(program) : manual_roff(program));
  return ExitCode::ok;
}

}  // namespace

std::string manual_roff(const CommandText& program) {
  std::string page = ".TH ONEFOLD 1 \"\" \"onefold " ONEFOLD_VERSION
                     "\" \"Onefold\"\n.SH NAME\nonefold \\- apply each event exactly once to a SQL "
                     "database\n.SH SYNOPSIS\n.B onefold\n.I COMMAND\n.RI [ OPTIONS ]\n"
                     ".SH DESCRIPTION\n";
  page += roff(program.summary) + "\n" + roff_blocks(program.text) + roff_examples(program);
  page += ".SH COMMANDS\n";
  std::vector<const CommandText*> all;
  collect(program, all);
  for (const CommandText* each : all) page += roff_command(*each);
  page += ".SH OUTPUT\n" + roff(output_text) + "\n.PP\n" + roff(csv_text) + "\n";
  page += ".SH EXIT STATUS\n";
  for (const ExitCode code : exit_codes) {
    page += roff_item(std::to_string(static_cast<int>(code)), {}, title_of(code));
  }
  page += ".SH ENVIRONMENT\n";
  for (const auto& [name, text] : environment()) {
    page += ".TP\n\\fB" + roff(name) + "\\fR\n" + roff(text) + "\n";
  }
  return page +
         ".SH FILES\n.TP\n\\fIonefold.toml\\fR\nThe configuration, in the working folder, "
         "unless \\-c names another.\n";
}

std::string manual_markdown(const CommandText& program) {
  std::string page =
      "# Command line\n\n"
      "<!-- Written by `onefold man -o markdown`; a test compares them. -->\n\n";
  page += program.summary + "\n\n" + markdown_examples(program);
  page += "| command | what it does |\n|---|---|\n";
  std::vector<const CommandText*> all;
  collect(program, all);
  for (const CommandText* each : all) page += "| `" + each->name + "` | " + each->summary + " |\n";
  page += '\n';
  for (const CommandText* each : all) page += markdown_command(*each);
  page += "## Output\n\n" + std::string{output_text} + "\n\n" + csv_text + "\n\n";
  page += "## Exit status\n\n| status | meaning |\n|---|---|\n";
  for (const ExitCode code : exit_codes) {
    page += "| " + std::to_string(static_cast<int>(code)) + " | " + title_of(code) + " |\n";
  }
  page += "\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const auto& [name, text] : environment()) page += "| `" + name + "` | " + text + " |\n";
  return page;
}

void add_manual(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  auto format = std::make_shared<std::string>();
  add_output_option(*command, *format, {"roff", "markdown"});
  command->footer(
      "Example:\n"
      "  onefold man | man -l -\n"
      "  onefold man > /usr/local/share/man/man1/onefold.1");
  command->callback(
      [format, &app, &chosen] { chosen = [format, &app] { return manual(app, *format); }; });
}

}  // namespace onefold::cli
