#include "onefold/stores/sqlite/transaction.h"

#include <fmt/core.h>

namespace onefold::sqlite {
namespace {

void begin(Link& link) {
  Connection& connection = link.connection;
  if (const char* violation = connection.violation()) {
    connection.forgive();
    throw Error{
        ErrorKind::contract_violation,
        fmt::format("SQLite: a handler tried {} after its transaction had ended", violation)};
  }
  if (link.broken || connection.in_transaction()) {
    throw Error{ErrorKind::unavailable, "SQLite: this session has failed; open another one"};
  }
  connection.begin();
}

}  // namespace

OpenTransaction::OpenTransaction(std::shared_ptr<Link> link)
    : link_{std::move(link)},
      health_{link_->connection},
      ledger_{link_->connection, health_, link_->words},
      waiting_room_{link_->connection, health_},
      statements_{link_->connection, health_} {
  begin(*link_);
}

OpenTransaction::~OpenTransaction() {
  if (!ended_ && !link_->connection.rollback()) link_->broken = true;
  link_->connection.forgive();
}

void OpenTransaction::require_foreign_keys() {
  int open = 0;
  int unused = 0;
  sqlite3_db_status(handle(), SQLITE_DBSTATUS_DEFERRED_FKS, &open, &unused, 0);
  if (open != 0) {
    throw Error{ErrorKind::permanent,
                "SQLite: a deferred foreign key points nowhere at the end of the event",
                FailureClass::constraint};
  }
}

void OpenTransaction::verify() {
  health_.guard([&] { require_foreign_keys(); });
}

void OpenTransaction::savepoint() {
  health_.guard([&] {
    const Connection::Inside inside{link_->connection};
    require_foreign_keys();
    link_->connection.stop_leftovers();
    if (has_savepoint_) link_->connection.execute("RELEASE onefold_event");
    has_savepoint_ = false;
    link_->connection.execute("SAVEPOINT onefold_event");
    has_savepoint_ = true;
  });
}

void OpenTransaction::rollback_to_savepoint() {
  health_.heal();
  if (!has_savepoint_) {
    throw Error{ErrorKind::contention, "SQLite: there is no savepoint; the transaction must end"};
  }
  health_.guard([&] {
    const Connection::Inside inside{link_->connection};
    link_->connection.stop_leftovers();
    link_->connection.execute("ROLLBACK TO onefold_event");
  });
}

CommitAnswer OpenTransaction::commit() {
  Connection& connection = link_->connection;
  try {
    health_.guard([&] { require_foreign_keys(); });
  } catch (const Error&) {
    // Nothing of it can become true any more, so nobody should have to wait for it.
    if (!connection.rollback()) link_->broken = true;
    throw;
  }
  ended_ = true;
  const int code = connection.commit();
  if (code == SQLITE_OK) return CommitResult::committed;
  const std::string why = reason_of(connection.handle(), code);
  if ((code & 0xff) == SQLITE_BUSY) {
    // Kept from ending, and so still open: rolling back makes the answer certain.
    if (!connection.rollback()) link_->broken = true;
    return {CommitResult::refused, why};
  }
  // The commit record may have reached the log or not. Another connection reads what is there.
  connection.rollback();
  link_->broken = true;
  return {CommitResult::in_doubt, why};
}

}  // namespace onefold::sqlite
