#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "onefold/cli/arguments.h"
#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/error.h"

namespace {

using onefold::cli::ExitCode;

/// Locks are waited for at the start only: later on the work is repeated. Who was refused at once
/// has been told by whom.
void complain_about(const onefold::Error& error, std::chrono::steady_clock::time_point started) {
  const auto waited =
      std::chrono::round<std::chrono::seconds>(std::chrono::steady_clock::now() - started);
  const bool in_vain = error.kind() == onefold::ErrorKind::contention && waited.count() > 0;
  onefold::cli::complain(error.what(), in_vain ? "waited " + std::to_string(waited.count()) +
                                                     " s for it; try again when the other "
                                                     "program has finished"
                                               : "");
}

/// The last stop of every exception: each becomes a message and an exit status.
ExitCode guarded(int count, const char* const* words) {
  const auto started = std::chrono::steady_clock::now();
  try {
    return onefold::cli::run_command_line(count, words);
  } catch (const onefold::cli::Stopped& stopped) {
    return stopped.code;
  } catch (const onefold::Error& error) {
    complain_about(error, started);
    return onefold::cli::exit_code_for(error.kind());
  } catch (const std::bad_alloc&) {
    onefold::cli::complain("out of memory");
    return ExitCode::try_again;
  } catch (const std::exception& error) {
    onefold::cli::complain(error.what(), "this is a mistake in onefold: please report it");
    return ExitCode::internal;
  }
}

/// A closed standard stream would give its number to the next file that is opened: our lock or the
/// database would then be read as input, or written over by a table.
void occupy_standard_streams() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened > STDERR_FILENO) ::close(opened);
}

}  // namespace

int main(int count, char** words) {
  occupy_standard_streams();
  // A pipe that nobody reads any more is told by write(), see terminal.h, and so is a file that may
  // not grow.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const ExitCode code = guarded(count, words);
  onefold::cli::end_complaints(code);
  return static_cast<int>(code);
}
