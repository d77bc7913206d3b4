#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The commands as text: what help, manual, completions and documentation are made of.
namespace onefold::cli {

struct OptionText {
  std::string long_name;   ///< "--output"; empty if there is only a short one.
  std::string short_name;  ///< "-o"; may be empty.
  std::string value;       ///< "FILE", or "table|json" for one of these; empty for a flag.
  std::string text;
  bool required = false;
};

struct ArgumentText {
  std::string name;  ///< "FILE", or "bash|zsh|fish" for one of these.
  std::string text;
  bool required = false;
  bool many = false;
};

struct CommandText {
  std::string name;     ///< "onefold dead list"
  std::string word;     ///< "list"
  std::string summary;  ///< One line, without a full stop.
  std::string text;     ///< Paragraphs; lines that begin with blanks stand as they are.
  std::vector<std::string> examples;
  std::vector<ArgumentText> arguments;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

/// The command and all below it.
CommandText describe(const CLI::App& command);

/// "onefold dead show [OPTIONS] ID"
std::string usage_of(const CommandText& command);
/// The words of "table|json"; empty for a value that is no such choice.
std::vector<std::string> choices_of(const std::string& value);

}  // namespace onefold::cli
