#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/handler.h"

namespace onefold {

/// A handler with its place in a consumer.
struct HandlerSpec {
  std::string name = {};    ///< Recorded as evidence; unique in its consumer.
  std::string type = {};    ///< An event type, or a prefix followed by one trailing `*`.
  int version = 1;          ///< Recorded as evidence. Raise it when the handler's meaning changes.
  std::string entity = {};  ///< JSON Pointer into the data, recorded as evidence; empty: none.
  Handler handle = {};
};

/// What to do with a type that no handler matches.
enum class Unsupported { dead_letter, ignore };

/// A named scope of effect: each event is applied once *per consumer* (B15).
///
/// A plain description; `Runner` gives it life. The name is part of every key: never rename it.
struct Consumer {
  std::string name;
  std::vector<HandlerSpec> handlers = {};

  std::size_t batch_max = 500;  ///< Deliveries in one transaction, 1 to 10,000.
  int attempts_max = 3;         ///< How often a `retry` is run in place before the event is dead.
  Unsupported unsupported = Unsupported::dead_letter;
  bool claim_first = false;  ///< Also where the sources would allow the optimistic path.

  /// Adds a handler for a type. All handlers that match an event run, in the order of these calls,
  /// under one outcome.
  Consumer& on(std::string type, Handler handle);
  Consumer& on(HandlerSpec spec);
};

/// Whether a handler's type pattern covers an event type.
bool matches(std::string_view pattern, std::string_view type) noexcept;

}  // namespace onefold
