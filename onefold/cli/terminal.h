#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onefold/cli/exit_code.h"

/// What people and pipes see. Standard output carries the answer, standard error the rest.
///
/// On standard error people get one line a message, "onefold: error: TEXT" with "hint: TEXT" below.
/// Programs that have asked for JSON get one JSON object a line instead.
namespace onefold::cli {

enum class Color {
  automatic,  ///< On a terminal, as NO_COLOR, CLICOLOR_FORCE and TERM say.
  always,
  never,
};

struct Manners {
  bool quiet = false;  ///< Neither notes nor hints that follow no error, nor progress.
  bool json = false;   ///< Messages are JSON objects.
  Color color = Color::automatic;
};
/// Those of this process. Set before the first message.
Manners& manners() noexcept;

/// Writes to standard output. A reader that went away (EPIPE) is no failure: what was asked for is
/// done. Anything else that keeps the answer from arriving ends the command.
void print(std::string_view text);
/// The same for a piece of a long answer: without a reader the command ends well, as the rest would
/// be worked out for nobody.
void print_piece(std::string_view text);

/// An error, with what to do about it as a hint.
void complain(std::string_view text, std::string_view hint = {});
/// Writes the errors that JSON keeps until the end: one object in the form of RFC 9457.
void end_complaints(ExitCode code);
/// A warning, which nobody can silence.
void warn(std::string_view text);
/// Something that a run has found and that a person should look at; it goes on.
void report(std::string_view text);
/// Something worth knowing.
void note(std::string_view text);
/// What could be done next.
void advise(std::string_view text);

/// In bold if standard output shows that.
std::string emphasized(std::string_view text);

/// Standard error is a terminal that understands how to erase a line.
bool can_show_progress() noexcept;
/// Replaces the progress line; an empty one clears it. Everything else that is written to standard
/// error clears it first.
void show_progress(std::string_view line);

/// Standard input and error are a terminal, so that a person can be asked.
bool can_ask() noexcept;
/// Whether the person answers y or yes.
bool ask(std::string_view question);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
/// "1 event", "1,234 events".
std::string counted(std::int64_t count, std::string_view noun);

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
