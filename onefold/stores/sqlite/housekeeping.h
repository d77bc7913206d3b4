#pragma once

#include <memory>

#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// Opens a connection of its own, which never checkpoints.
std::unique_ptr<Housekeeping> open_housekeeping(const Options& options);

}  // namespace onefold::sqlite
