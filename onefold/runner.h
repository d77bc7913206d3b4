#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/consumer.h"
#include "onefold/housekeeping.h"
#include "onefold/notice.h"
#include "onefold/source.h"
#include "onefold/store.h"
#include "onefold/waiting.h"

namespace onefold {

/// What became of all deliveries since the start: `received` is the sum of the outcomes.
struct Totals {
  std::array<std::int64_t, outcome_count> by_outcome{};

  std::int64_t operator[](Outcome outcome) const {
    return by_outcome.at(static_cast<std::size_t>(outcome));
  }
  std::int64_t received() const noexcept;
  Totals& operator+=(const Totals& other) noexcept;
};

/// Runs consumers on a store: subscribes them to their sources and applies every event once.
///
/// Each worker has a thread and a session of its own, so that handlers and `open` of sources run at
/// the same time, and share nothing. On a store with a single writer (SQLite), or with one worker
/// alone, all of it happens in the thread that calls `run`.
class Runner {
 public:
  struct Options {
    /// Sources are left alone; only what waits, and is due, is tried again.
    bool waiting_only = false;
    bool migrate = true;  ///< Bring the schema up to date first; otherwise refuse another one.
    std::optional<RuleChange> rule_change = {};  ///< Accept changed key rules (semantics 1.5).
    Notify notify = {};                          ///< From any worker's thread, one call at a time.
    /// Called after every batch, for progress displays; as `notify`.
    std::function<void(const Totals&)> progress = {};
    Clock* clock = nullptr;  ///< The machine's, unless given.
    /// A folder where the process leaves word of how it has died, so that the event that kills it
    /// is found at once, and said with its signal (docs/failures.md). While it runs, SIGSEGV,
    /// SIGBUS, SIGFPE, SIGILL and SIGABRT have handlers, which pass on to those that were there
    /// before. Empty: none; such an event is found all the same, after four deaths more.
    std::string state_folder = {};
  };

  /// The store must outlive the runner.
  explicit Runner(Store& store);
  Runner(Store& store, Options options);
  ~Runner();
  Runner(Runner&&) = delete;

  /// Subscribes a consumer to a source; before the first `run`. A consumer that is added again,
  /// with another source, must be the same one. Throws `bad_configuration` if the consumer or the
  /// subscription cannot work, or a consumer of that name says something else.
  void add(const Consumer& consumer, SourceFactory source);

  /// Applies everything that is there, then returns. Throws `Error` if a consumer has to stop
  /// (`contract_violation`, `bad_configuration`); what was committed stays committed.
  Totals run_until_idle();
  /// Goes on until `stop` has been called. Then the batch in hand is finished.
  Totals run();
  /// Ends `run` and `run_until_idle` after the batch in hand. Safe in a signal handler and from any
  /// thread.
  void stop() noexcept;
  /// Of what was committed when a run returned or threw. Not for use while one is going on.
  const Totals& totals() const noexcept;
  /// The consumers that were found paused, and took no events. As `totals`.
  std::vector<PauseRecord> paused() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace onefold
