#include "onefold/brokers/file/standard_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "onefold/brokers/file/intake.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class StandardInput final : public Source {
 public:
  StandardInput(int descriptor, const Options& options, SourceContext context)
      : descriptor_{descriptor},
        context_{std::move(context)},
        intake_{options},
        splitter_{options.limits.event_bytes_max} {}

  std::vector<Delivery> receive(std::size_t limit, milliseconds patience) override;
  /// Nobody remembers what a pipe has delivered: there is nothing to tell it, to give back to it,
  /// or to rewind it to.
  void acknowledge(std::span<const Settled> /*settled*/) override {}
  void release(std::span<const Delivery> /*deliveries*/, milliseconds /*delay*/) override {}
  void reposition() override {}
  bool at_end() const override { return ended_; }
  SourceTraits traits() const override { return {.kind = SourceClass::queue, .ordered = true}; }

 private:
  bool wait(milliseconds patience) const;
  void fill();
  void finish(Batch& batch);
  [[noreturn]] static void fail(int number);

  int descriptor_;
  SourceContext context_;
  Intake intake_;
  Splitter splitter_;
  bool ended_ = false;
};

std::vector<Delivery> StandardInput::receive(std::size_t limit, milliseconds patience) {
  if (limit == 0) return {};
  if (ended_) {
    // The caller asks in a loop: returning at once would keep a core busy.
    std::this_thread::sleep_for(patience);
    return {};
  }
  const auto deadline = steady_clock::now() + patience;
  Batch batch{limit};
  while (!batch.full() && !ended_) {
    if (const auto element = splitter_.next()) {
      batch.add([&](Delivery& delivery) { intake_.deliver(*element, delivery); });
      continue;
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (!wait(batch.empty() ? std::max(left, milliseconds{0}) : milliseconds{0})) break;
    fill();
    if (ended_) finish(batch);
  }
  return batch.release();
}

/// Whether there is something to read. A signal ends the wait, so that it is noticed.
bool StandardInput::wait(milliseconds patience) const {
  pollfd entry{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&entry, 1, static_cast<int>(patience.count()));
  if (ready < 0 && errno != EINTR) fail(errno);
  if (ready > 0 && (entry.revents & POLLNVAL) != 0) fail(EBADF);
  return ready > 0;
}

void StandardInput::fill() {
  const auto room = splitter_.room();
  const auto count = ::read(descriptor_, room.data(), room.size());
  if (count > 0) {
    splitter_.filled(static_cast<std::size_t>(count));
  } else if (count == 0) {
    ended_ = true;
  } else if (errno != EINTR && errno != EAGAIN) {
    fail(errno);
  }
}

void StandardInput::finish(Batch& batch) {
  const Rest rest = splitter_.rest();
  if (rest.ending == Ending::clean) return;
  if (rest.ending == Ending::last_line && intake_.is_complete(rest.element)) {
    batch.add([&](Delivery& delivery) { intake_.deliver(rest.element, delivery); });
  } else {
    context_.notify({Severity::problem, describe(rest, "standard input")});
  }
}

void StandardInput::fail(int number) {
  const bool unusable = number == EBADF || number == EISDIR || number == EINVAL;
  throw Error{
      unusable ? ErrorKind::bad_configuration : ErrorKind::unavailable,
      fmt::format("cannot read standard input: {}; {}", std::generic_category().message(number),
                  unusable ? "redirect a file or a pipe to it" : "it is tried again")};
}

}  // namespace

std::unique_ptr<Source> open_standard_input(int descriptor, const Options& options,
                                            SourceContext context) {
  return std::make_unique<StandardInput>(descriptor, options, std::move(context));
}

}  // namespace onefold::file
