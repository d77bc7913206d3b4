#pragma once

#include <memory>

#include "onefold/replays.h"
#include "onefold/runs.h"
#include "onefold/stores/postgres/postgres.h"

namespace onefold::postgres {

/// Each opens a connection of its own.
std::unique_ptr<Runs> open_runs(const Options& options);
std::unique_ptr<Replays> open_replays(const Options& options);

}  // namespace onefold::postgres
