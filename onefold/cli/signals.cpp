#include "onefold/cli/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "onefold/runner.h"

namespace onefold::cli {
namespace {

constexpr std::array signals{SIGINT, SIGTERM};

std::atomic<Runner*> running{nullptr};
std::atomic<bool> signalled{false};
static_assert(std::atomic<Runner*>::is_always_lock_free, "a signal handler must not lock");

void on_signal(int number) {
  if (signalled.exchange(true)) {
    // Whoever insists gets what the signal means by itself, with its exit status. It arrives when
    // this handler returns.
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  if (Runner* runner = running.load()) runner->stop();
  if (::isatty(STDERR_FILENO) == 1) {
    constexpr const char* told = "\nonefold: finishing the batch; once more stops at once\n";
    static_cast<void>(!::write(STDERR_FILENO, told, std::strlen(told)));
  }
}

void handle_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a read that waits for more input must notice.
  for (const int number : signals) sigaction(number, &action, nullptr);
}

}  // namespace

StopOnSignal::StopOnSignal() {
  signalled = false;
  handle_signals(on_signal);
}

StopOnSignal::StopOnSignal(Runner& runner) {
  signalled = false;
  running = &runner;
  handle_signals(on_signal);
}

StopOnSignal::~StopOnSignal() {
  handle_signals(SIG_DFL);
  running = nullptr;
}

bool StopOnSignal::stopped() const noexcept {
  return signalled;
}

}  // namespace onefold::cli
