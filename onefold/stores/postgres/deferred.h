#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/store.h"
#include "onefold/stores/postgres/connection.h"

/// Events set aside, as rows.
namespace onefold::postgres {

/// Queues the insert of a row, or the counting of its repetition, or the rewriting of that of an
/// event that was taken out of the waiting room. Call it inside a transaction.
void queue_deferred(Connection& connection, const Deferral& deferral);
std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter);
/// These rows, with all that they hold, in the order of their numbers.
std::vector<DeferredRecord> select_deferred(Connection& connection,
                                            std::span<const std::int64_t> ids);

}  // namespace onefold::postgres
