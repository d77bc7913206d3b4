#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Ends the sessions of this role that hold the inbox and have stood still for so long in the
/// middle of a burst: their process was stopped between its first byte and its Sync, where none of
/// the server's timeouts counts. No code of a handler runs there, so that nobody else is met.
/// Outside of a transaction; tells `notify` of each, and throws nothing.
void end_stopped(Connection& connection, std::chrono::milliseconds standing,
                 const std::function<void(const std::string&)>& notify);

}  // namespace onefold::postgres
