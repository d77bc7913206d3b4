#pragma once

#include <array>

#include "onefold/error.h"

namespace onefold::cli {

/// What the program tells its caller (the numbers of sysexits.h where there is one).
enum class ExitCode {
  ok = 0,
  problems = 1,  ///< It ran, and the answer is that a person should look.
  usage = 64,
  data = 65,
  unavailable = 69,
  internal = 70,  ///< A contract violation, or a mistake of ours.
  try_again = 75,
  permission = 77,
  configuration = 78,
};

constexpr ExitCode exit_code_for(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
      return ExitCode::unavailable;
    case ErrorKind::contention:
    case ErrorKind::commit_in_doubt:
      return ExitCode::try_again;
    case ErrorKind::contract_violation:
      return ExitCode::internal;
    case ErrorKind::bad_configuration:
      return ExitCode::configuration;
    case ErrorKind::permanent:
      return ExitCode::data;
  }
  return ExitCode::internal;
}

/// What each means, in one line: for the help, the manual and the messages of programs.
constexpr const char* title_of(ExitCode code) noexcept {
  switch (code) {
    case ExitCode::ok:
      return "done";
    case ExitCode::problems:
      return "it ran, and found something that a person should look at";
    case ExitCode::usage:
      return "the words of the command line are wrong";
    case ExitCode::data:
      return "the data that was given is wrong";
    case ExitCode::unavailable:
      return "the database, a source or the output is not available";
    case ExitCode::internal:
      return "a mistake in onefold, or a handler that ended its transaction";
    case ExitCode::try_again:
      return "somebody else was in the way, or a consumer is paused: try again";
    case ExitCode::permission:
      return "no permission";
    case ExitCode::configuration:
      return "the configuration, or the database's schema, must be changed first";
  }
  return "";
}

inline constexpr std::array exit_codes{
    ExitCode::ok,        ExitCode::problems,    ExitCode::usage,
    ExitCode::data,      ExitCode::unavailable, ExitCode::internal,
    ExitCode::try_again, ExitCode::permission,  ExitCode::configuration};

/// Ends a command whose failure has been told already. Thrown inside cli/ only, caught in main.cpp.
struct Stopped {
  ExitCode code;
};

}  // namespace onefold::cli
