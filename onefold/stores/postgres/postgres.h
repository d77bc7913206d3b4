#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "onefold/store.h"

struct pg_conn;

namespace onefold::postgres {

/// Who opens the database.
enum class Role {
  runner,   ///< Applies events: refuses a server that can lose what it has confirmed.
  visitor,  ///< Everything else.
};

struct Options {
  std::string connection = {};  ///< "postgres://user@host/database", or "host=... dbname=...".
  /// Gives your own connection instead, at every call one that nothing else uses meanwhile, and
  /// outside of a transaction. It is never closed. If it fails, the next call must give another
  /// one, or the same after `PQreset`. All workers of a runner take turns on one, in the thread
  /// that runs it.
  std::function<::pg_conn*()> borrow = {};
  std::string schema = "onefold";  ///< Of our tables: lower-case letters, digits, underscores.
  Role role = Role::runner;
  /// Behind PgBouncer in transaction mode. It is noticed if this is false, unless it shares its
  /// process numbers with the server.
  bool pgbouncer = false;
  bool accept_relaxed_durability = false;  ///< A confirmed commit may be lost in a power cut.
  std::chrono::milliseconds connect_timeout{5'000};     ///< For each address of the host.
  std::chrono::milliseconds statement_timeout{20'000};  ///< For each statement.
  std::chrono::milliseconds lock_timeout{10'000};  ///< For a row that somebody else has locked.
  /// The server ends a transaction that does nothing for so long, so that a process that was
  /// stopped delays others no longer. More than a handler takes between two statements.
  std::chrono::milliseconds idle_in_transaction_timeout{30'000};
  std::chrono::milliseconds tcp_user_timeout{15'000};  ///< For bytes that nobody confirms.
  /// Told what the server says about a commit whose answer was lost, and of a rival that stood
  /// still and was ended. On any session's thread.
  std::function<void(const std::string&)> notify = {};
  /// How many event sources of a consumer get scopes of their own. Tests make it small.
  int event_sources_max = onefold::event_sources_max;
};

/// Opens a database of PostgreSQL 13 or newer whose encoding is UTF8. Throws `bad_configuration` if
/// a person must change something, and `unavailable` if the server does not answer.
std::unique_ptr<Store> open_store(Options options);

/// The connection on which `transaction` is open, for your own SQL: never BEGIN, COMMIT, ROLLBACK
/// or SET without LOCAL (the consumer stops). What was queued has been executed. Leave it as you
/// found it: not in pipeline mode, no result unread. Throws if it belongs to another database.
::pg_conn* connection(const Transaction& transaction);

}  // namespace onefold::postgres
