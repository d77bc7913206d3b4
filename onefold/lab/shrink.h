#pragma once

#include <chrono>

#include "onefold/lab/oracle.h"
#include "onefold/lab/seed.h"

namespace onefold::lab {

/// A schedule that breaks a promise, in a world or a smaller one.
struct Failure {
  Seed seed;
  Defect defect;
};

/// Makes the failure as small as it can until the deadline: fewer deliveries, fewer workers, fewer
/// choices other than the default ones. The promise that is broken stays the same.
Failure shrink(Failure failure, const WorldSpec& whole,
               std::chrono::steady_clock::time_point deadline);

}  // namespace onefold::lab
