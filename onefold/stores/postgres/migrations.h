#pragma once

#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// The text of schema.sql.
extern const char* const first_schema;

/// Applies what is missing, in one transaction. See `Housekeeping::migrate`.
std::vector<Migration> migrate(Connection& connection);
/// See `Housekeeping::pending`.
std::vector<Migration> pending(Connection& connection);
/// See `Housekeeping::check_schema`.
void check_schema(Connection& connection);

}  // namespace onefold::postgres
