#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// The texts of schema.sql and failures.sql.
extern const char* const first_schema;
extern const char* const failures_schema;

/// Applies what is missing, in one transaction. See `Housekeeping::migrate`.
std::vector<Migration> migrate(Connection& connection);
/// See `Housekeeping::pending`.
std::vector<Migration> pending(Connection& connection);
/// See `Housekeeping::check_schema`.
void check_schema(Connection& connection);

}  // namespace onefold::postgres
