#pragma once

#include <memory>
#include <string>

#include "onefold/decisions.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Opens a connection of its own.
std::unique_ptr<Decisions> open_decisions(const Options& options);

/// Queues a row of the audit. Call it inside a transaction.
void queue_audit(Connection& connection, const std::string& who, const char* action,
                 const std::string& detail);

}  // namespace onefold::postgres
