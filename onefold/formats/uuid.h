#pragma once

#include <string>

#include "onefold/event.h"

namespace onefold {

/// A new UUID of version 7 (RFC 9562): the milliseconds of `now`, then random bits, so that later
/// ones sort behind earlier ones. Throws `std::runtime_error` if the system gives no random bits.
std::string new_uuid(Timestamp now);

}  // namespace onefold
