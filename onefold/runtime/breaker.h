#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>

#include "onefold/failure.h"
#include "onefold/runtime/batch.h"

namespace onefold {

/// Counts what became of a worker's last fresh events, to tell failing events from a failing
/// deployment. Each event is counted once: tries of what waits are another worker's.
class Breaker {
 public:
  explicit Breaker(const BreakerRule& rule) : rule_{rule} {}

  struct Trip {
    FailureClass failure;
    int failures;  ///< Of that class, among `events`.
    int events;
    Timestamp since;  ///< Of the first of them.
  };
  /// Whether the consumer has to pause if these are committed.
  std::optional<Trip> judge(std::span<const Item> items, Timestamp recorded_at) const;
  /// They are committed.
  void note(std::span<const Item> items, Timestamp recorded_at);
  void forget() { seen_.clear(); }

 private:
  struct Seen {
    std::optional<FailureClass> failure;
    Timestamp at;
  };
  void add(std::deque<Seen>& seen, std::span<const Item> items, Timestamp recorded_at) const;

  BreakerRule rule_;
  std::deque<Seen> seen_;  ///< Oldest first, at most the window.
};

}  // namespace onefold
