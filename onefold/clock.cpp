#include "onefold/clock.h"

namespace onefold {
namespace {
class SystemClock final : public Clock {
 public:
  Timestamp now() override {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  std::chrono::steady_clock::time_point ticks() override {
    return std::chrono::steady_clock::now();
  }
};
}  // namespace

Clock& system_clock() noexcept {
  static SystemClock clock;
  return clock;
}

}  // namespace onefold
