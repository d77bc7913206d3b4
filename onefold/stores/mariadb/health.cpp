#include "onefold/stores/mariadb/health.h"

#include <fmt/core.h>

namespace onefold::mariadb {

void Health::require_alive() {
  if (poison_) {
    if (poison_->kind() != ErrorKind::permanent) throw Error{*poison_};
    return;  // A statement failed by its own fault, which leaves the transaction open.
  }
  if (const char* violation = connection_.violation()) {
    poison_.emplace(ErrorKind::contract_violation,
                    fmt::format("MariaDB: a handler tried {}", violation));
    throw Error{*poison_};
  }
  // A failure that only the handler saw, on the raw handle.
  const unsigned int code = mysql_errno(connection_.handle());
  const ErrorKind kind = code == 0 ? ErrorKind::permanent : kind_of(code, Origin::handler);
  if (kind == ErrorKind::contention || kind == ErrorKind::unavailable) {
    poison_.emplace(kind, words_of(reason_of(connection_.handle()), Origin::handler) +
                              " on the connection that a handler used by itself");
    throw Error{*poison_};
  }
  if (code == 0 && !connection_.in_transaction()) {
    poison_.emplace(ErrorKind::contract_violation,
                    "MariaDB: the transaction has ended before its commit: a handler ended it, "
                    "with COMMIT or DDL, or went on after a deadlock");
    throw Error{*poison_};
  }
}

void Health::require() {
  require_alive();
  if (poison_) throw Error{*poison_};
}

void Health::require_healable() {
  require_alive();
}

}  // namespace onefold::mariadb
