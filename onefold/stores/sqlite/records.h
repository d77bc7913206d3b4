#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "onefold/records.h"
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

/// The rows of each reason, in the order of their names.
inline constexpr const char* deferred_counts_sql =
    "SELECT sum(reason = 'behind'), sum(reason = 'conflict'), sum(reason = 'dead'), "
    "sum(reason = 'quarantine'), sum(reason = 'retry') "
    "FROM main.onefold_deferred WHERE consumer = ?";

/// The rows of one scope in the order of its keys, and of each whether it fits: rows that do not
/// are counted by the caller, who wants to stop after so many.
inline constexpr const char* inbox_scan_sql =
    "SELECT (?4 IS NULL OR outcome = ?4) AND (?5 IS NULL OR event_type = ?5) AND "
    "(?6 IS NULL OR coalesce(event_source, ?7) = ?6) AND (?8 IS NULL OR event_id = ?8) AND "
    "(?9 IS NULL OR recorded_at >= ?9), key, outcome, waiting, coalesce(event_source, ?7), "
    "event_id, event_type, event_time, entity, handled_by, fingerprint, result, recorded_at "
    "FROM main.onefold_inbox WHERE scope = ?1 AND key > ?2 ORDER BY key LIMIT ?3";

/// Opens a connection of its own, which never checkpoints.
std::unique_ptr<Records> open_records(const Options& options);

std::optional<InboxRecord> select_evidence(Connection& connection, const Key& key);

/// The committed positions of a consumer; of one source, or of all if `source` has no value.
std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source);

}  // namespace onefold::sqlite
