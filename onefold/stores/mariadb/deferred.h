#pragma once

#include <vector>

#include "onefold/records.h"
#include "onefold/store.h"
#include "onefold/stores/mariadb/connection.h"

/// Events set aside, as rows.
namespace onefold::mariadb {

/// Inserts a row, or counts the repetition of one. Call it inside a transaction.
void insert_deferred(Connection& connection, const Deferral& deferral);
std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter);

}  // namespace onefold::mariadb
