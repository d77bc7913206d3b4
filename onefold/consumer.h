#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/evidence.h"
#include "onefold/failure.h"
#include "onefold/handler.h"

namespace onefold {

/// One thing that must happen once: the event itself, or what it speaks of (a payment, the third
/// attempt of an order). Events with equal values under one rule are one effect, whoever sent them
/// and whatever their ids are (semantics 1.2). Part of the key: never rename a rule.
struct KeySpec {
  std::string rule = {};  ///< Its name; empty: the event's own identity.
  /// What makes the key: JSON Pointers into the data, or "attr:id", "attr:source", "attr:type",
  /// "attr:subject". Each must lead to a string or a 64-bit integer, or the event is dead. Empty
  /// exactly if `rule` is.
  std::vector<std::string> values = {};
};

/// A handler with its place in a consumer.
struct HandlerSpec {
  std::string name = {};    ///< Recorded as evidence; unique in its consumer.
  std::string type = {};    ///< An event type, or a prefix followed by one trailing `*`.
  int version = 1;          ///< Recorded as evidence. Raise it when the handler's meaning changes.
  std::string entity = {};  ///< JSON Pointer into the data, recorded as evidence; empty: none.
  Handler handle = {};      ///< This, or ...
  BatchHandler handle_batch = {};  ///< ... this.
  std::vector<KeySpec> keys = {};  ///< With `Scope::handler` only; empty: those of the consumer.
  /// JSON Pointers to the fields by which two events with one business key are compared: others may
  /// differ (semantics 1.4). Empty: all of the data.
  std::vector<std::string> fingerprint_of = {};
  std::optional<RetryPolicy> retry = {};  ///< Absent: that of the consumer.
};

/// What must not be overtaken.
struct OrderRule {
  /// JSON Pointer into the data: events with equal values are about the same thing. While one of
  /// them waits for another try, later ones wait behind it; others go on. An event without a value
  /// waits for nobody.
  std::string entity = {};
};

/// What to do with a type that no handler matches.
enum class Unsupported { dead_letter, ignore };

/// What is claimed, and succeeds or fails, as one.
enum class Scope {
  consumer,  ///< All handlers of an event together, in one outcome.
  handler,   ///< Each handler by itself: own claims, own outcome. The worst counts (semantics 8).
};

/// How two events with one key are compared: another fingerprint is a conflict (semantics 1.4).
struct FingerprintRule {
  enum class Kind {
    canonical,  ///< JSON by its content, other data by its bytes.
    bytes,      ///< The bytes of the data.
    off,        ///< Not at all: whatever has the key is a duplicate.
  };
  Kind kind = Kind::canonical;
  std::vector<std::string> ignore = {};  ///< JSON Pointers to what may differ. `canonical` only.
};

/// A named scope of effect: each event is applied once *per consumer* (B15).
///
/// A plain description; `Runner` gives it life. The name is part of every key: never rename it.
struct Consumer {
  std::string name;
  std::vector<HandlerSpec> handlers = {};

  /// What must happen once; empty: the event. With several, an event is fresh only if all its keys
  /// are, and a duplicate if one is known.
  std::vector<KeySpec> keys = {};
  Scope scope = Scope::consumer;
  FingerprintRule fingerprint = {};
  std::size_t batch_max = 500;  ///< Deliveries in one transaction, 1 to 10,000.
  RetryPolicy retry = {};
  BreakerRule breaker = {};
  int crashes_max = 3;  ///< An event that has killed the process so often is dead, 1 to 100.
  std::optional<OrderRule> order = {};  ///< Absent: nothing waits for anything.
  Unsupported unsupported = Unsupported::dead_letter;
  /// Workers, 1 to 64, for each source that several can share; other sources have one. Each has a
  /// thread and a session, so that handlers run at the same time; on SQLite they take turns.
  int workers = 1;
  /// How keys are claimed. Absent: optimistic if all partitions have one owner, otherwise first. To
  /// claim first costs a little more, and much less where workers meet on the same events. A store
  /// with a single writer always claims first. Optimistic is refused for other sources.
  std::optional<ClaimMode> claim = {};

  /// Adds a handler for a type. All handlers that match an event run, in the order of these calls,
  /// under one outcome.
  Consumer& on(std::string type, Handler handle);
  Consumer& on(HandlerSpec spec);
};

/// Whether a handler's type pattern covers an event type.
bool matches(std::string_view pattern, std::string_view type) noexcept;

}  // namespace onefold
