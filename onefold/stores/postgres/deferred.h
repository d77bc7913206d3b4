#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/store.h"
#include "onefold/stores/postgres/connection.h"

/// Events set aside, as rows.
namespace onefold::postgres {

/// Queues the insert of a row, or the counting of its repetition. Call it inside a transaction.
void queue_deferred(Connection& connection, const Deferral& deferral);
std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter);

}  // namespace onefold::postgres
