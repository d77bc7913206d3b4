#include "onefold/stores/mariadb/transaction.h"

#include <fmt/core.h>
#include <mysqld_error.h>

namespace onefold::mariadb {
namespace {

void begin(Link& link) {
  Connection& connection = link.connection;
  if (const char* violation = connection.violation()) {
    connection.accuse(nullptr);
    throw Error{ErrorKind::contract_violation,
                fmt::format("MariaDB: a handler tried {}", violation)};
  }
  if (link.broken) {
    throw Error{ErrorKind::unavailable, "MariaDB: this session has failed; open another one"};
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
  try {
    begin(*link_);
  } catch (const Error& error) {
    if (!error.contract_violation()) link_->broken = true;
    throw;
  }
}

OpenTransaction::~OpenTransaction() {
  if (!ended_) undo();
}

void OpenTransaction::undo() noexcept {
  ended_ = true;
  if (!link_->connection.rollback()) link_->broken = true;
}

void OpenTransaction::savepoint() {
  health_.guard([&] {
    // One of the same name replaces the previous one.
    link_->connection.execute("SAVEPOINT onefold_event", "setting a savepoint");
    has_savepoint_ = true;
  });
}

void OpenTransaction::rollback_to_savepoint() {
  health_.require_healable();
  if (!has_savepoint_) {
    throw Error{ErrorKind::contention, "MariaDB: there is no savepoint; the transaction must end"};
  }
  Connection& connection = link_->connection;
  health_.watch([&] {
    constexpr std::string_view sql = "ROLLBACK TO SAVEPOINT onefold_event";
    if (mysql_real_query(connection.handle(), sql.data(), sql.size()) != 0) {
      const Reason reason = reason_of(connection.handle());
      if (reason.code == ER_SP_DOES_NOT_EXIST) {
        throw Error{ErrorKind::contract_violation,
                    "MariaDB: the savepoint is gone: a handler ended the transaction"};
      }
      fail(reason, Origin::own, "undoing an event");
    }
    connection.check_undoing();
  });
  health_.heal();
  health_.require();
}

CommitAnswer OpenTransaction::explain(unsigned int code) {
  Connection& connection = link_->connection;
  const Reason reason = reason_of(connection.handle());
  if (code == ER_SP_DOES_NOT_EXIST) {
    undo();
    throw Error{ErrorKind::contract_violation,
                "MariaDB: the transaction that began with the claims is not the one that would be "
                "committed: a handler ended it and began another"};
  }
  const bool undone = code == ER_LOCK_DEADLOCK || code == ER_CHECKREAD;
  if (undone && connection.rollback())
    return {CommitResult::refused, words_of(reason, Origin::own)};
  // The server may have written its commit or not. Another connection reads what is there.
  link_->broken = true;
  return {CommitResult::in_doubt, words_of(reason, Origin::own)};
}

CommitAnswer OpenTransaction::commit() {
  Connection& connection = link_->connection;
  try {
    health_.require();
  } catch (const Error&) {
    // Nothing of it can become true any more, so nobody should have to wait for it.
    undo();
    throw;
  }
  ended_ = true;
  if (const unsigned int code = connection.commit(); code != 0) return explain(code);
  if (connection.in_transaction()) {
    link_->broken = true;
    return {CommitResult::in_doubt, "the transaction is still open after its commit"};
  }
  return CommitResult::committed;
}

}  // namespace onefold::mariadb
