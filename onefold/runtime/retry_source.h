#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/runtime/connection.h"
#include "onefold/source.h"

namespace onefold {

/// Events in one transaction. Each may be as large as its source allows (P12).
inline constexpr std::size_t waiting_events_max = 64;

/// How bytes of each source are decoded, by its name.
using Decoders = std::map<std::string, std::function<Decode()>>;

/// The source of what waits in `deferred`: hands out what is due, under the identity and the keys
/// that it has. Retry, release and replay are this one way (semantics 4.2).
///
/// It remembers nothing that matters: what is due is asked of the database each time, so that no
/// wake-up can be lost. `connection` must outlive it.
SourceFactory retry_source(ConsumerId consumer, Connection& connection, Clock& clock,
                           Decoders decoders);

}  // namespace onefold
