#pragma once

#include <string>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/source.h"

namespace onefold {

/// A consumer's subscription to a source, as the worker needs it. Must outlive the worker.
struct Subscription {
  const Consumer& consumer;
  ConsumerId id = 0;
  SourceFactory source;
  ClaimMode mode = ClaimMode::claim_first;
  std::vector<std::string> id_prefixes;  ///< Of all sources of the consumer.
  /// The source is the waiting room: its events are taken, and not claimed.
  bool of_waiting = false;
};

}  // namespace onefold
