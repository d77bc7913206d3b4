#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "onefold/store.h"

struct sqlite3;

namespace onefold::sqlite {

/// Who opens the database. SQLite before 3.51.3 can corrupt a WAL that two connections checkpoint
/// at the same time (traps.md 11), so exactly one does.
enum class Role {
  runner,   ///< Applies events, writes and checkpoints; one per database, held by a lock file.
  visitor,  ///< Everything else: never checkpoints.
};

struct Options {
  std::string path;  ///< A local file; network file systems are not supported.
  Role role = Role::runner;
  std::chrono::milliseconds busy_timeout{5000};  ///< How long BEGIN waits for another writer.
  /// How many event sources of a consumer get scopes of their own. Tests make it small.
  int event_sources_max = onefold::event_sources_max;
};

/// Opens or creates the database: WAL, synchronous=FULL (a confirmed commit survives a power cut).
/// Throws `bad_configuration` if it cannot be opened, and `contention` while another runner has it.
std::unique_ptr<Store> open_store(Options options);

/// The connection on which `transaction` is open, for your own SQL: never COMMIT, ROLLBACK,
/// SAVEPOINT, ATTACH or PRAGMA (refused, and the consumer stops). Throws if it belongs to another
/// database.
::sqlite3* connection(const Transaction& transaction);

}  // namespace onefold::sqlite
