#pragma once

#include <chrono>

#include "onefold/event.h"

namespace onefold {

/// Time, as a seam: tests and the disorder lab bring their own. Used by the threads of a `Runner`,
/// and has to outlive it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall time. Used for evidence that people read, never for a decision about correctness.
  virtual Timestamp now() = 0;
  /// Monotonic. Used for backoff and rates.
  virtual std::chrono::steady_clock::time_point ticks() = 0;
};

/// The machine's clocks. Thread-safe, lives for ever.
Clock& system_clock() noexcept;

}  // namespace onefold
