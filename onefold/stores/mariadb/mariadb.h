#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "onefold/notice.h"
#include "onefold/store.h"

struct st_mysql;  // MYSQL of libmariadb.

namespace onefold::mariadb {

enum class Role {
  runner,   ///< Applies events: refuses a server whose confirmed commits a power cut can take back.
  visitor,  ///< Everything else.
};

struct Options {
  /// mariadb://user:password@host:port/database. The database must exist; it holds our tables, all
  /// beginning with onefold_, and those of the handlers may be in others of the same server. After
  /// a `?`, joined by `&`: socket=PATH, tls=off|required|verify (the default takes what the server
  /// offers), tls_ca=, tls_cert=, tls_key=PATH. Reserved characters are written as %XX.
  std::string connection = {};
  /// Instead: connections of your own, for example from a pool. Each session, and each of the cold
  /// interfaces, calls it once, on its thread, and alone uses what it gets until it is destroyed;
  /// nobody closes it then. No transaction may be open. It must have been opened with
  /// CLIENT_FOUND_ROWS and utf8mb4, and its sql_mode must be strict and its time_zone +00:00: what
  /// is missing is refused by name. Timeouts stay yours. All workers of a runner take turns on one,
  /// in the thread that runs it.
  std::function<::st_mysql*()> borrow = {};
  Role role = Role::runner;
  /// The server or its settings may lose confirmed commits in a power cut, and you know it.
  bool accept_relaxed_durability = false;

  // Together they bound every wait. All are rounded up to whole seconds but the statement's.
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{20'000};
  std::chrono::milliseconds lock_timeout{10'000};
  /// A worker that stands still in a transaction is cut off, so that others can have its events.
  std::chrono::milliseconds idle_timeout{30'000};
  /// How long bytes that were sent may stay without a sign of the other side.
  std::chrono::milliseconds tcp_user_timeout{15'000};

  Notify notify = {};  ///< May be called on every thread that has a session.
  /// How many event sources of a consumer get scopes of their own. Tests make it small.
  int event_sources_max = onefold::event_sources_max;
};

/// Connects once, to say now what is wrong. Every transaction is READ COMMITTED. Throws
/// `bad_configuration` if a person must change something, `unavailable` if waiting may help.
std::unique_ptr<Store> open_store(Options options);

/// The connection on which `transaction` is open, for your own SQL: read every result to its end,
/// never COMMIT, ROLLBACK, USE, SET or LOCK, and no DDL, which commits (noticed, and the consumer
/// stops). Throws if it belongs to another database.
::st_mysql* connection(const Transaction& transaction);

}  // namespace onefold::mariadb
