#include "onefold/stores/sqlite/connection.h"

#include <fmt/core.h>

#include <array>
#include <thread>

namespace onefold::sqlite {
namespace {

/// Pages in the log (16 MiB) before the runner copies them into the database. Random keys touch a
/// page each, and often the same one again, so that more pages are copied less often; but a log
/// that has filled the disk keeps itself from being copied.
constexpr int checkpoint_pages = 4000;
/// A log that one large transaction has made longer is cut to this, in bytes.
constexpr const char* set_log_size = "PRAGMA journal_size_limit = 16777216";
/// Kibibytes of page cache, with the sign that SQLite wants.
constexpr const char* set_cache_size = "PRAGMA cache_size = -16384";
/// Statements of handlers that are kept prepared. Beyond it somebody builds SQL by hand.
constexpr std::size_t handler_statements_max = 256;
constexpr int commit_attempts_max = 20;
constexpr std::chrono::milliseconds commit_pause{10};

bool is_ours(const char* name) noexcept {
  return name != nullptr && sqlite3_strnicmp(name, "onefold_", 8) == 0;
}

/// Full text search and R-trees ask for these themselves; they change nothing.
bool is_harmless_pragma(const char* name, const char* argument) noexcept {
  if (name == nullptr || argument != nullptr) return false;
  return sqlite3_stricmp(name, "data_version") == 0 || sqlite3_stricmp(name, "page_size") == 0;
}

/// What is wrong with an action of a handler; null: nothing.
const char* objection(int action, const char* third, const char* fourth) noexcept {
  switch (action) {
    case SQLITE_TRANSACTION:
      return "BEGIN, COMMIT or ROLLBACK";
    case SQLITE_SAVEPOINT:
      return "SAVEPOINT, RELEASE or ROLLBACK TO";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "ATTACH, DETACH or VACUUM";
    case SQLITE_PRAGMA:
      return is_harmless_pragma(third, fourth) ? nullptr : "PRAGMA";
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
      return is_ours(third) ? "a write to a table of Onefold" : nullptr;
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_TEMP_VIEW:
    case SQLITE_DROP_VTABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_ALTER_TABLE:
    case SQLITE_REINDEX:
    case SQLITE_ANALYZE:
      return is_ours(third) || is_ours(fourth) ? "a change of Onefold's schema"
                                               : "a change of the schema";
    default:
      return nullptr;
  }
}

}  // namespace

HandlerStatement::HandlerStatement(::sqlite3* database, std::string_view sql)
    : statement{database, sql, Origin::handler} {
  const int count = sqlite3_bind_parameter_count(statement.handle());
  for (int i = 1; i <= count; ++i) {
    const char* name = sqlite3_bind_parameter_name(statement.handle(), i);
    if (name == nullptr || name[0] == '?') {
      throw Error{ErrorKind::permanent,
                  fmt::format("SQLite: parameter {} has no name in \"{}\"; write :name", i,
                              statement.beginning()),
                  FailureClass::statement};
    }
    slots.push_back({name + 1, slots.size()});
  }
}

Connection::Connection(const Options& options, std::shared_ptr<RunnerShare> share)
    : path_{options.path}, busy_timeout_{options.busy_timeout}, checkpointing_{std::move(share)} {
  ::sqlite3* opened = nullptr;
  // No mutex: a connection stays on its thread.
  const int code =
      sqlite3_open_v2(path_.c_str(), &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(opened);
  if (code != SQLITE_OK) fail(opened, code, Origin::own, fmt::format("opening {}", path_));
  configure();
}

void Connection::configure() {
  const Inside inside{*this};
  sqlite3_extended_result_codes(handle(), 1);
  sqlite3_busy_timeout(handle(), static_cast<int>(busy_timeout_.count()));
  // Two connections that checkpoint at once can corrupt the database before SQLite 3.51.3.
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_autocheckpoint(handle(), 0);
  // Keeps handlers from writing into the schema table.
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  {
    // Who may only read takes the log as it is.
    const bool only_reads = sqlite3_db_readonly(handle(), "main") == 1;
    const char* const sql = only_reads ? "PRAGMA journal_mode" : "PRAGMA journal_mode = WAL";
    Statement wal{handle(), sql, Origin::own};
    if (!wal.step() || wal.text_at(0) != "wal") {
      throw Error{
          ErrorKind::bad_configuration,
          fmt::format("SQLite: {} cannot have a write-ahead log; put it on a local disk", path_)};
    }
  }
  for (const char* sql :
       {"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA mmap_size = 0",
        "PRAGMA temp_store = MEMORY", set_cache_size, set_log_size}) {
    Statement{handle(), sql, Origin::own}.run();
  }
  sqlite3_set_authorizer(handle(), &Connection::authorize, this);
  sqlite3_commit_hook(handle(), &Connection::on_commit, this);
}

int Connection::authorize(void* self, int action, const char* third, const char* fourth,
                          const char* /*database*/, const char* /*trigger*/) noexcept {
  auto& connection = *static_cast<Connection*>(self);
  if (connection.inside_) return SQLITE_OK;
  const char* const wrong = objection(action, third, fourth);
  if (wrong == nullptr) return SQLITE_OK;
  connection.violation_ = wrong;
  return SQLITE_DENY;
}

int Connection::on_commit(void* self) noexcept {
  // SQLite rolls a transaction back by itself when the disk is full, and a conflict clause can do
  // it too. What a handler then writes would commit statement by statement, without the claim: this
  // is the last place to refuse it.
  auto& connection = *static_cast<Connection*>(self);
  if (connection.inside_) return 0;
  connection.violation_ = "a write outside the transaction";
  return 1;
}

Statement& Connection::own(const char* sql) {
  const auto found = own_.find(sql);
  if (found != own_.end()) return found->second;
  const Inside inside{*this};
  return own_.try_emplace(sql, handle(), sql, Origin::own).first->second;
}

HandlerStatement& Connection::of_handler(std::string_view sql) {
  const auto found = of_handlers_.find(sql);
  if (found != of_handlers_.end()) return found->second;
  if (of_handlers_.size() >= handler_statements_max) of_handlers_.clear();
  return of_handlers_.try_emplace(std::string{sql}, handle(), sql).first->second;
}

void Connection::take_over_checkpointing() {
  RunnerShare* const share = checkpointing_.share.get();
  if (share == nullptr) return;
  if (checkpointing_.held) {
    if (share->unsynced) copy_log(*share);
    return;
  }
  if (share->checkpointing.exchange(true)) return;
  checkpointing_.held = true;
  sqlite3_wal_autocheckpoint(handle(), checkpoint_pages);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  // The log of a process that was killed, or of a session that found the disk full: its pages can
  // be used again once they are copied. What keeps it from being copied is told by what follows.
  copy_log(*share);
}

/// After a sync that failed nothing more is confirmed until the whole log is in the database, which
/// writes and syncs it anew: what was in doubt looks committed from here, and may not be on the
/// disk.
void Connection::copy_log(RunnerShare& share) {
  int pages = 0;
  int copied = 0;
  const int code =
      sqlite3_wal_checkpoint_v2(handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
  if ((code & 0xff) == SQLITE_IOERR) share.unsynced = true;
  if (!share.unsynced) return;
  if (code != SQLITE_OK) fail(handle(), code, Origin::own, "copying the log after a failed sync");
  if (copied < pages) {
    throw Error{ErrorKind::contention,
                fmt::format("SQLite: the log of {} has to be copied after a failed sync, and a "
                            "program that reads the database keeps it from that; end it",
                            path_)};
  }
  share.unsynced = false;
}

void Connection::begin() {
  const Inside inside{*this};
  take_over_checkpointing();
  sqlite3_busy_timeout(handle(), static_cast<int>(busy_timeout_.count()));
  execute("BEGIN IMMEDIATE");
  // The lock is ours: a statement that is busy from here on could wait for ever.
  sqlite3_busy_timeout(handle(), 0);
}

int Connection::commit() noexcept {
  const Inside inside{*this};
  int code = SQLITE_OK;
  for (int attempt = 1; attempt <= commit_attempts_max; ++attempt) {
    if (attempt > 1) std::this_thread::sleep_for(commit_pause);
    stop_leftovers();
    code = sqlite3_exec(handle(), "COMMIT", nullptr, nullptr, nullptr);
    if ((code & 0xff) != SQLITE_BUSY || !in_transaction()) break;
  }
  if ((code & 0xff) == SQLITE_IOERR && checkpointing_.share) checkpointing_.share->unsynced = true;
  return code;
}

bool Connection::rollback() noexcept {
  const Inside inside{*this};
  if (!in_transaction()) return true;
  stop_leftovers();
  sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  return !in_transaction();
}

void Connection::stop_leftovers() noexcept {
  for (auto* each = sqlite3_next_stmt(handle(), nullptr); each != nullptr;
       each = sqlite3_next_stmt(handle(), each)) {
    if (sqlite3_stmt_busy(each) != 0) sqlite3_reset(each);
  }
}

void OwnTransaction::commit() {
  const int code = connection_.commit();
  if (code != SQLITE_OK) fail(connection_.handle(), code, Origin::own, "committing");
  committed_ = true;
}

}  // namespace onefold::sqlite
