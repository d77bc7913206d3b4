#pragma once

#include <memory>

#include "onefold/decisions.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// Opens a connection of its own, which never checkpoints.
std::unique_ptr<Decisions> open_decisions(const Options& options);

/// An audit row of now. Call it inside a transaction.
void insert_audit(Connection& connection, const std::string& who, const char* action,
                  const std::string& detail);

}  // namespace onefold::sqlite
