#pragma once

#include <vector>

#include "onefold/lab/world_spec.h"

namespace onefold::mutants {

/// Small worlds that are right without a bug, each made for some of the planted ones. What they
/// must end with is said here and not learnt from the runtime, which has the bug.
std::vector<lab::WorldSpec> worlds();

}  // namespace onefold::mutants
