#pragma once

namespace onefold {
class Runner;
}

namespace onefold::cli {

/// While it lives, the first SIGINT or SIGTERM stops `runner`, if there is one, after the batch in
/// hand, and the second one ends the process at once. One at a time.
class StopOnSignal {
 public:
  explicit StopOnSignal(Runner& runner);
  /// For work that asks `stopped` itself.
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(StopOnSignal&&) = delete;

  /// Whether such a signal has come.
  bool stopped() const noexcept;
};

}  // namespace onefold::cli
