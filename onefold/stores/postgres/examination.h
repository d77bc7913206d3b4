#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// See `Housekeeping::examine`.
std::vector<Finding> examine(Connection& connection, const Options& options,
                             std::span<const std::string> statements);
/// See `Housekeeping::statement_defect`.
std::string statement_defect(Connection& connection, std::string_view sql);

}  // namespace onefold::postgres
