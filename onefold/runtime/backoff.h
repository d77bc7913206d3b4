#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace onefold {

/// Growing pauses with jitter, so that rivals that met once do not meet again.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest, std::uint32_t seed)
      : first_{first}, longest_{longest}, random_{seed} {}

  /// Between half and the whole of first x 2^n, at most `longest`.
  std::chrono::milliseconds next() {
    const auto whole = std::min(longest_, first_ * (std::int64_t{1} << std::min(failures_, 20)));
    ++failures_;
    std::uniform_int_distribution<std::int64_t> spread{whole.count() / 2, whole.count()};
    return std::chrono::milliseconds{spread(random_)};
  }
  void reset() noexcept { failures_ = 0; }
  /// Failures since the last success.
  int failures() const noexcept { return failures_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::minstd_rand random_;
  int failures_ = 0;
};

}  // namespace onefold
