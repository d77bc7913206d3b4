#pragma once

#include <memory>

#include "onefold/replays.h"
#include "onefold/runs.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// Each opens a connection of its own, which never checkpoints.
std::unique_ptr<Runs> open_runs(const Options& options);
std::unique_ptr<Replays> open_replays(const Options& options);

}  // namespace onefold::sqlite
