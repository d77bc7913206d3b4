#pragma once

#include <memory>

#include "onefold/housekeeping.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Opens a connection of its own.
std::unique_ptr<Housekeeping> open_housekeeping(const Options& options);

}  // namespace onefold::postgres
