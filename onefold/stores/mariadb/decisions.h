#pragma once

#include <memory>
#include <string>

#include "onefold/decisions.h"
#include "onefold/stores/mariadb/connection.h"

namespace onefold::mariadb {

/// On a connection of its own.
std::unique_ptr<Decisions> open_decisions(const Options& options);

/// Leaves an audit row in the open transaction.
void insert_audit(Connection& connection, const std::string& who, const char* action,
                  const std::string& detail);

}  // namespace onefold::mariadb
