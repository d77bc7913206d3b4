// The lab has to find each planted bug: mutation_gate [SECONDS_EACH]. Prints how, and fails if one
// survives, or if there is something to find without any. Each bug has a process of its own, since
// it may do anything.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

#include "onefold/lab/lab.h"
#include "tests/mutants/planted.h"
#include "tests/mutants/worlds.h"

namespace onefold::mutants {
namespace {

/// A little of each world first, then more. Once without pruning, so that no bug hides in what the
/// lab takes for one state.
struct Stage {
  std::uint64_t schedules_max;  ///< For each world.
  bool prune;
};
constexpr std::array<Stage, 4> stages{{{150, true}, {1000, false}, {4000, true}, {40'000, true}}};

struct Hunt {
  bool found = false;
  std::string how;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Runs in the process of the bug.
Hunt look_for(int bug, std::chrono::milliseconds time_max) {
  const auto all = worlds();
  const auto end = std::chrono::steady_clock::now() + time_max;
  std::uint64_t schedules = 0;
  switched_on = bug;
  const auto how = [&](const std::string& what) {
    std::ostringstream row;
    row << std::setw(7) << schedules << "  " << what;
    return row.str();
  };
  try {
    for (const Stage& stage : stages) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      const auto report = lab::explore(
          all, {.schedules_max = stage.schedules_max, .time_max = left, .prune = stage.prune});
      schedules += report.schedules();
      if (!report.violation) continue;
      const lab::Violation& violation = *report.violation;
      const std::string cause = violation.cause.empty() ? "nothing" : first_line(violation.cause);
      return {true, how(violation.promise + ": " + first_line(violation.what).substr(0, 90) +
                        "; cause: " + cause + "; " + violation.seed)};
    }
  } catch (const std::exception& error) {
    return {true, how(std::string{"it throws: "} + error.what())};
  }
  return {false, how("nothing found")};
}

/// In a process of its own; one that dies or does not end has been found, too.
Hunt look_apart(int bug, std::chrono::milliseconds time_max) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(static_cast<unsigned>(time_max.count() / 1000 + 30));
    const Hunt hunt = look_for(bug, time_max);
    const std::string text = (hunt.found ? '1' : '0') + hunt.how;
    const auto written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return {true, "      -  it ends with signal " + std::to_string(WTERMSIG(status))};
  }
  return {text.starts_with('1'), text.empty() ? "nothing was said" : text.substr(1)};
}

int hunt_all(std::chrono::milliseconds time_each) {
  const auto start = std::chrono::steady_clock::now();
  std::cout << std::left << std::setw(42) << "bug"
            << "schedules until found, the promise that is broken, cause, seed\n";
  const Hunt without = look_apart(0, time_each);
  std::cout << std::left << std::setw(42) << "(without any)" << without.how << '\n' << std::flush;
  int survivors = 0;
  int looked_for = 0;
  for (const Bug& bug : bugs()) {
    if (!bug.in_the_lab) continue;
    ++looked_for;
    const Hunt hunt = look_apart(bug.number, time_each);
    if (!hunt.found) ++survivors;
    std::cout << std::left << std::setw(42) << bug.name << (hunt.found ? "" : "SURVIVES ")
              << hunt.how << '\n'
              << std::flush;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << looked_for << " bugs, " << survivors << " of them survive, "
            << static_cast<int>(seconds.count()) << " s\n";
  if (without.found) std::cout << "without any bug there is a violation: the worlds are wrong\n";
  return survivors == 0 && !without.found ? 0 : 1;
}

}  // namespace
}  // namespace onefold::mutants

int main(int count, char** arguments) {
  const int seconds = count > 1 ? std::stoi(arguments[1]) : 15;
  return onefold::mutants::hunt_all(std::chrono::seconds{seconds});
}
