#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// What a consumer's evidence adds up to: the last time, the least and the greatest outcome, and
/// the rows of each outcome. Without GROUP BY, for which SQLite would sort the whole inbox in
/// memory.
inline constexpr const char* inbox_counts_sql =
    "SELECT max(i.recorded_at), min(i.outcome), max(i.outcome), sum(i.outcome = 0), "
    "sum(i.outcome = 1), sum(i.outcome = 2), sum(i.outcome = 3), sum(i.outcome = 4), "
    "sum(i.outcome = 5), sum(i.outcome = 6) FROM main.onefold_scope s "
    "CROSS JOIN main.onefold_inbox i ON i.scope = s.id WHERE s.consumer = ?";
static_assert(outcome_count == 7);

/// The rows of each reason that the schema allows, in the order of their names.
inline constexpr const char* deferred_counts_sql =
    "SELECT sum(reason = 'conflict'), sum(reason = 'dead'), sum(reason = 'quarantine') "
    "FROM main.onefold_deferred WHERE consumer = ?";

/// Opens a connection of its own, which never checkpoints.
std::unique_ptr<Housekeeping> open_housekeeping(const Options& options);

/// The committed positions of a consumer; of one source, or of all if `source` has no value.
std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source);

}  // namespace onefold::sqlite
