#include "onefold/cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>
#include <vector>

#include "onefold/cli/json_text.h"

namespace onefold::cli {
namespace {

constexpr std::string_view red = "\x1b[1;31m";
constexpr std::string_view yellow = "\x1b[1;33m";
constexpr std::string_view cyan = "\x1b[36m";
constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view plain = "\x1b[0m";

bool progress_shown = false;
Manners manners_of_process;

struct Complaint {
  std::string text;
  std::string hint;
};
std::vector<Complaint> complaints;

/// Returns whether everything was written; otherwise errno says why.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// One write a message, so that the lines of several processes do not mix.
void write_error(const std::string& text) {
  show_progress({});
  // If this fails there is nobody left to tell.
  static_cast<void>(write_all(STDERR_FILENO, text));
}

bool is_set(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool shows_color(int file) noexcept {
  if (manners_of_process.color != Color::automatic) {
    return manners_of_process.color == Color::always;
  }
  if (is_set("NO_COLOR")) return false;
  const char* forced = std::getenv("CLICOLOR_FORCE");
  if (forced != nullptr && *forced != '\0' && std::string_view{forced} != "0") return true;
  const char* terminal = std::getenv("TERM");
  return ::isatty(file) == 1 && terminal != nullptr && std::string_view{terminal} != "dumb";
}

std::string painted(int file, std::string_view color, std::string_view text) {
  if (!shows_color(file)) return std::string{text};
  return std::string{color} + std::string{text} + std::string{plain};
}

/// A message that is no error.
void say(const char* level, std::string_view color, std::string_view text) {
  if (manners_of_process.json) {
    return write_error(dumped_line({{"level", level}, {"text", json_text(text)}}));
  }
  const std::string label =
      color.empty() ? "" : painted(STDERR_FILENO, color, std::string{level} + ":") + " ";
  write_error("onefold: " + label + std::string{text} + "\n");
}

std::string hint_line(std::string_view text) {
  return "  " + painted(STDERR_FILENO, cyan, "hint:") + " " + std::string{text} + "\n";
}

/// False if nobody reads any more.
bool reaches_reader(std::string_view text) {
  show_progress({});
  if (write_all(STDOUT_FILENO, text)) return true;
  if (errno == EPIPE) return false;
  complain(std::string{"the answer could not be written to standard output: "} +
           std::strerror(errno));
  throw Stopped{ExitCode::unavailable};
}

const char* problem_name(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::ok:
    case ExitCode::problems:
      return "found";
    case ExitCode::usage:
      return "usage";
    case ExitCode::data:
      return "data";
    case ExitCode::unavailable:
      return "unavailable";
    case ExitCode::internal:
      return "internal";
    case ExitCode::try_again:
      return "try-again";
    case ExitCode::permission:
      return "permission";
    case ExitCode::configuration:
      return "configuration";
  }
  return "internal";
}

}  // namespace

Manners& manners() noexcept {
  return manners_of_process;
}

void print(std::string_view text) {
  static_cast<void>(reaches_reader(text));
}

void print_piece(std::string_view text) {
  if (!reaches_reader(text)) throw Stopped{ExitCode::ok};
}

void complain(std::string_view text, std::string_view hint) {
  if (manners_of_process.json) {
    complaints.push_back({std::string{text}, std::string{hint}});
    return;
  }
  std::string message =
      "onefold: " + painted(STDERR_FILENO, red, "error:") + " " + std::string{text} + "\n";
  if (!hint.empty()) message += hint_line(hint);
  write_error(message);
}

void end_complaints(ExitCode code) {
  if (complaints.empty()) return;
  Json problem;
  problem["type"] = std::string{"urn:onefold:problem:"} + problem_name(code);
  problem["title"] = title_of(code);
  problem["detail"] = json_text(complaints.front().text);
  if (!complaints.front().hint.empty()) problem["hint"] = json_text(complaints.front().hint);
  problem["exit_status"] = static_cast<int>(code);
  if (complaints.size() > 1) {
    for (const Complaint& each : complaints) {
      problem["errors"].push_back(
          {{"detail", json_text(each.text)}, {"hint", json_text(each.hint)}});
    }
  }
  complaints.clear();
  write_error(dumped_line(problem));
}

void warn(std::string_view text) {
  say("warning", yellow, text);
}

void report(std::string_view text) {
  say("problem", red, text);
}

void note(std::string_view text) {
  if (!manners_of_process.quiet) say("note", {}, text);
}

void advise(std::string_view text) {
  if (manners_of_process.quiet) return;
  if (manners_of_process.json) return say("hint", {}, text);
  write_error(hint_line(text));
}

std::string emphasized(std::string_view text) {
  return painted(STDOUT_FILENO, bold, text);
}

bool can_show_progress() noexcept {
  // Also with JSON: what stands on a terminal is read by no program.
  const char* terminal = std::getenv("TERM");
  return !manners_of_process.quiet && ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view{terminal} != "dumb";
}

void show_progress(std::string_view line) {
  if (line.empty() && !progress_shown) return;
  progress_shown = !line.empty();
  // Back to the first column, and erase to the end of the line.
  static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K" + std::string{line}));
}

bool can_ask() noexcept {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

bool ask(std::string_view question) {
  write_error("onefold: " + std::string{question} + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes";
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t digits_begin = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > digits_begin + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

}  // namespace onefold::cli
