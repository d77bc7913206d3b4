#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/store.h"
#include "onefold/stores/sqlite/connection.h"

/// Events set aside, as rows.
namespace onefold::sqlite {

/// Two columns hold an offset: unsigned numbers, bit for bit.
void bind_offset(Statement& statement, int index, const Offset& offset);
Offset offset_of(const Statement& statement, int column);

/// The clock of this database is that of the process.
std::int64_t now_microseconds();

/// Inserts a row, or counts the repetition of one; or rewrites that of an event that was taken out
/// of the waiting room. Call it inside a transaction.
void insert_deferred(Connection& connection, const Deferral& deferral);
std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter);

}  // namespace onefold::sqlite
