#pragma once

#include <memory>

#include "onefold/housekeeping.h"
#include "onefold/stores/mariadb/connection.h"

namespace onefold::mariadb {

/// On a connection of its own.
std::unique_ptr<Housekeeping> open_housekeeping(const Options& options);

}  // namespace onefold::mariadb
