#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/mariadb/connection.h"

namespace onefold::mariadb {

/// The texts of schema.sql and failures.sql.
extern const char* const first_schema;
extern const char* const failures_schema;

/// Applies what is missing, under a lock of the server. See `Housekeeping::migrate`.
std::vector<Migration> migrate(Connection& connection);
/// See `Housekeeping::pending`.
std::vector<Migration> pending(Connection& connection);
/// See `Housekeeping::check_schema`.
void check_schema(Connection& connection);

}  // namespace onefold::mariadb
