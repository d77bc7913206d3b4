#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "onefold/lab/trial/player.h"

namespace onefold::lab {

/// A schedule that fails, without some of the events.
struct FailingSchedule {
  std::vector<std::size_t> left_out;  ///< Ascending.
  Schedule schedule;
  TrialDefect defect;
};

/// Makes it as small as it can until the deadline: fewer choices other than the default ones, fewer
/// events. The kind of the defect stays the same. The player is left with that failure's events.
FailingSchedule shrink(FailingSchedule failure, Player& player,
                       std::chrono::steady_clock::time_point deadline);

}  // namespace onefold::lab
