#pragma once

#include <chrono>
#include <cstdint>

#include "onefold/runner.h"

namespace onefold::cli {

/// One line on standard error that says how far a run has come; nothing if that is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(Progress&&) = delete;

  /// Called after every batch; shows at most ten lines a second.
  void show(const Totals& totals);

 private:
  const bool shown_;
  const std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
  std::int64_t last_received_ = 0;
  double rate_ = 0;  ///< Events a second, smoothed.
};

/// "12,345 received: 11,000 applied, 1,345 duplicate". Outcomes that did not occur are left out.
std::string summary(const Totals& totals);

}  // namespace onefold::cli
