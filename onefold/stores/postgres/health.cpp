#include "onefold/stores/postgres/health.h"

#include <fmt/core.h>

namespace onefold::postgres {

void Health::give_up(ErrorKind kind, const std::string& why) {
  gone_.emplace(kind, "PostgreSQL: " + why);
  throw Error{*gone_};
}

void Health::require_alive() {
  if (gone_) throw Error{*gone_};
  const Connection::Foreign& foreign = connection_.foreign();
  if (foreign.command != nullptr) {
    give_up(ErrorKind::contract_violation,
            fmt::format("a handler has executed {}; the transaction is given up", foreign.command));
  }
  if (connection_.is_broken() || PQstatus(connection_.handle()) != CONNECTION_OK) {
    give_up(ErrorKind::unavailable, "the connection was lost within the transaction");
  }
  const auto status = connection_.status();
  if (status == PQTRANS_ACTIVE) {
    give_up(ErrorKind::contract_violation,
            "a handler has left a statement running on the connection, or its result unread");
  }
  if (begun_ && status == PQTRANS_IDLE) {
    give_up(ErrorKind::contract_violation, "a handler has ended the transaction");
  }
  if (status == PQTRANS_INERROR && !poison_) {
    // A handler saw the failure on the raw handle, and nobody else.
    const std::string& code = foreign.failed_code;
    poison_.emplace(
        code.empty() ? ErrorKind::permanent : kind_of(code, Part::handler),
        fmt::format("PostgreSQL: a statement of a handler has failed (SQLSTATE {}), and "
                    "the handler went on",
                    code.empty() ? "unknown" : code),
        class_of(code));
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
  const bool lost = connection_.is_broken() || PQstatus(connection_.handle()) != CONNECTION_OK;
  if ((lost || error.contract_violation()) && !gone_) gone_.emplace(error);
  if (gone_) throw Error{*gone_};
  poison_.emplace(error);
  throw Error{error};
}

}  // namespace onefold::postgres
