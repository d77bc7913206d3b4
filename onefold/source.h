#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"
#include "onefold/notice.h"

namespace onefold {

/// Who decides what is delivered next, and so where the truth about progress lives.
enum class SourceClass {
  owned_log,            ///< One owner per partition: the position in the database is the truth.
  shared_subscription,  ///< The broker's list of pending deliveries is the truth.
  queue,                ///< The broker alone; there is no position. Also HTTP and standard input.
};

struct SourceTraits {
  SourceClass kind = SourceClass::queue;
  bool ordered = false;    ///< Deliveries of one partition arrive in order.
  bool can_delay = false;  ///< `release` honours its delay.
  bool shareable = false;  ///< Several handles, in threads or processes, share its deliveries.
};

/// A delivery with what became of it: HTTP answers with the outcome and the handler's result.
struct Settled {
  const Delivery* delivery = nullptr;
  Outcome outcome = Outcome::applied;
  std::string_view result;
};

/// A broker subscription, a file, an endpoint. Used by one thread at a time.
///
/// A source never decides that something is done: only `runtime/worker.cpp` acknowledges, and only
/// after a confirmed commit. Failures of the broker are thrown as `Error` with `unavailable`; the
/// source is then destroyed and opened again, and what it had handed out is forgotten.
class Source {
 public:
  virtual ~Source() = default;
  /// Waits up to `patience`; returns at most `limit` deliveries, oldest first. Bytes that cannot be
  /// decoded are returned too, with `defect` set: they are never dropped. A limit of 0 keeps a
  /// paused source alive. Memory is bounded by `limit` and the event size limit (P12).
  virtual std::vector<Delivery> receive(std::size_t limit, std::chrono::milliseconds patience) = 0;
  /// The database has committed: the broker may forget these deliveries.
  virtual void acknowledge(std::span<const Settled> settled) = 0;
  /// Not processed: the broker should deliver them again, after `delay` where it can.
  virtual void release(std::span<const Delivery> deliveries, std::chrono::milliseconds delay) = 0;
  /// Owned logs: forget what was handed out, start again at the positions in the database.
  virtual void reposition() = 0;
  /// Everything that is there now has been handed out.
  virtual bool at_end() const = 0;
  virtual SourceTraits traits() const = 0;
};

/// The positions of this subscription that are committed in the database, one per partition and
/// incarnation known. Throws `Error` as the store does.
using PositionLookup = std::function<std::vector<Position>()>;

/// What a source needs from its surroundings while it lives.
struct SourceContext {
  PositionLookup positions;
  Notify notify;
};

/// Decodes bytes once more as their source would: fills the event, or the defect. `position`, where
/// the delivery had one, is set before.
using Decode = std::function<void(std::string_view bytes, Delivery& delivery)>;

/// A source that can be opened, and opened again after it failed. Made by the adapters, for example
/// `file::source({.path = "orders.jsonl", ...})`.
struct SourceFactory {
  std::string name;  ///< Of the subscription; part of every position.
  SourceTraits traits;
  std::string identity;  ///< The identity rule as text: persisted, and compared at the next start.
  std::string attributes =
      {};  ///< The same of type and subject, of which business keys may be made.
  std::vector<std::string> id_prefixes;  ///< Declared constant prefixes of ids (semantics 1.1).
  std::function<std::unique_ptr<Source>(SourceContext)> open;
  /// Makes a decoder, for one thread. Without one, bytes that were no event stay set aside.
  std::function<Decode()> decoder = {};
};

}  // namespace onefold
