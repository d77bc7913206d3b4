#include "onefold/stores/sqlite/health.h"

#include <fmt/core.h>

namespace onefold::sqlite {

void Health::require_alive() {
  if (gone_) throw Error{*gone_};
  if (const char* violation = connection_.violation()) {
    gone_.emplace(
        ErrorKind::contract_violation,
        fmt::format("SQLite: a handler tried {}; the transaction is given up", violation));
    throw Error{*gone_};
  }
  if (!connection_.in_transaction()) {
    // A handler saw the failure on the raw handle, and nobody else.
    const int code = sqlite3_extended_errcode(connection_.handle());
    const bool environment = kind_of(code, Origin::handler) == ErrorKind::unavailable;
    gone_.emplace(
        environment ? ErrorKind::unavailable : ErrorKind::contract_violation,
        fmt::format("SQLite: the transaction has ended before its commit (code {}): {}", code,
                    environment ? "the disk failed; check it"
                                : "a handler or an OR ROLLBACK clause ended it"));
    throw Error{*gone_};
  }
}

void Health::require() {
  require_alive();
  if (poison_) throw Error{*poison_};
}

void Health::heal() {
  require_alive();
  if (poison_ && poison_->kind() != ErrorKind::permanent) throw Error{*poison_};
  poison_.reset();
}

void Health::poison(const Error& error) {
  if (!connection_.in_transaction() && !gone_) {
    // Full disks and the like end the transaction with the statement. What is the statement's own
    // fault does so only through OR ROLLBACK or RAISE(ROLLBACK), which is a handler ending it.
    const bool own_fault = error.kind() == ErrorKind::permanent;
    gone_.emplace(own_fault ? ErrorKind::contract_violation : error.kind(),
                  fmt::format("{}; the transaction ended with it", error.what()));
  } else if (error.contract_violation() && !gone_) {
    gone_.emplace(error);
  }
  if (gone_) throw Error{*gone_};
  poison_.emplace(error);
  throw Error{error};
}

}  // namespace onefold::sqlite
