#pragma once

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

/// Ends a command whose failure has been told already. Thrown inside cli/ only, caught in main.cpp.
struct Stopped {
  ExitCode code;
};

}  // namespace onefold::cli
