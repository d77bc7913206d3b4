#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "onefold/cli/arguments.h"
#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/error.h"

namespace {

using onefold::cli::ExitCode;

/// The last stop of every exception: each becomes a message and an exit status.
ExitCode guarded(int count, const char* const* words) {
  try {
    return onefold::cli::run_command_line(count, words);
  } catch (const onefold::cli::Stopped& stopped) {
    return stopped.code;
  } catch (const onefold::Error& error) {
    onefold::cli::complain(error.what());
    return onefold::cli::exit_code_for(error.kind());
  } catch (const std::bad_alloc&) {
    onefold::cli::complain("out of memory");
    return ExitCode::try_again;
  } catch (const std::exception& error) {
    onefold::cli::complain(error.what(), "this is a mistake in onefold: please report it");
    return ExitCode::internal;
  }
}

}  // namespace

int main(int count, char** words) {
  // A pipe that nobody reads any more is told by write(), see terminal.h.
  std::signal(SIGPIPE, SIG_IGN);
  return static_cast<int>(guarded(count, words));
}
