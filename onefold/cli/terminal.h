#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What people and pipes see. Standard output carries the answer, standard error the rest.
namespace onefold::cli {

/// Writes to standard output. A reader that went away (EPIPE) is no failure: what was asked for is
/// done. Anything else that keeps the answer from arriving ends the command.
void print(std::string_view text);

/// "onefold: error: TEXT", and "hint: HINT" below it if there is one.
void complain(std::string_view text, std::string_view hint = {});
/// "onefold: warning: TEXT".
void warn(std::string_view text);
/// "onefold: TEXT".
void note(std::string_view text);
/// "hint: TEXT".
void advise(std::string_view text);

/// Standard error is a terminal that understands how to erase a line.
bool can_show_progress() noexcept;
/// Replaces the progress line; an empty one clears it. Everything else that is written to standard
/// error clears it first.
void show_progress(std::string_view line);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

/// "a, b and c".
template <typename List>
std::string joined(const List& list) {
  std::string text;
  std::size_t index = 0;
  for (const auto& each : list) {
    if (index != 0) text += index + 1 == list.size() ? " and " : ", ";
    text += each;
    ++index;
  }
  return text;
}

}  // namespace onefold::cli
