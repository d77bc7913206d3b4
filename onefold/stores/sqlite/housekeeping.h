#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// Opens a connection of its own, which never checkpoints.
std::unique_ptr<Housekeeping> open_housekeeping(const Options& options);

/// The committed positions of a consumer; of one source, or of all if `source` has no value.
std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source);

}  // namespace onefold::sqlite
