#include "onefold/cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "onefold/cli/exit_code.h"

namespace onefold::cli {
namespace {

bool progress_shown = false;

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

std::string labelled(std::string_view label, std::string_view text) {
  return "onefold: " + std::string{label} + std::string{text} + "\n";
}

}  // namespace

void print(std::string_view text) {
  show_progress({});
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return;
  complain(std::string{"the answer could not be written to standard output: "} +
           std::strerror(errno));
  throw Stopped{ExitCode::unavailable};
}

void complain(std::string_view text, std::string_view hint) {
  std::string message = labelled("error: ", text);
  if (!hint.empty()) message += "  hint: " + std::string{hint} + "\n";
  write_error(message);
}

void warn(std::string_view text) {
  write_error(labelled("warning: ", text));
}

void note(std::string_view text) {
  write_error(labelled("", text));
}

void advise(std::string_view text) {
  write_error("  hint: " + std::string{text} + "\n");
}

bool can_show_progress() noexcept {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view{terminal} != "dumb";
}

void show_progress(std::string_view line) {
  if (line.empty() && !progress_shown) return;
  progress_shown = !line.empty();
  // Back to the first column, and erase to the end of the line.
  static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K" + std::string{line}));
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

}  // namespace onefold::cli
