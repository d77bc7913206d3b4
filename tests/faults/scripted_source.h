#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/error.h"
#include "onefold/source.h"

namespace onefold::faults {

/// An event of source "shop" and type "test"; `data` is JSON text.
Event event(std::string id, std::string data = "{}", std::string type = "test");
/// A delivery without a position, its raw bytes made up from the event.
Delivery delivery(Event event);
/// A delivery that could not be decoded.
Delivery undecodable(std::string raw, std::string defect = "BAD_JSON: made up by the test");

/// A broker whose content a test writes and whose acknowledgements it reads. It outlives the
/// sources it opens, as a broker outlives its connections.
///
/// As an owned log it hands out everything from the database's position on, whatever was
/// acknowledged before. Otherwise it hands out what is not acknowledged, each delivery to one
/// source at a time; opening a source again returns to the broker what an earlier one still held.
class ScriptedBroker {
 public:
  struct Acknowledgement {
    std::string event_id;  ///< Empty for what could not be decoded.
    std::string receipt;
    Outcome outcome = Outcome::applied;
    std::string result;
  };

  explicit ScriptedBroker(std::string name = "orders", SourceClass kind = SourceClass::queue);
  ~ScriptedBroker();

  void add(Event event);
  void add(Delivery delivery);
  /// The `nth` receive from now, counted from 1 and over all sources, throws `error`.
  void fail_receive(Error error, int nth = 1);
  /// The same for acknowledgements: nothing of that call is acknowledged.
  void fail_acknowledge(Error error, int nth = 1);
  /// The log was deleted and created anew: empty, and offsets start from 0 again.
  void recreate(std::string incarnation);

  SourceFactory factory();

  /// All acknowledgements in their order.
  const std::vector<Acknowledgement>& acknowledged() const noexcept;
  /// Deliveries that were never acknowledged.
  std::size_t unacknowledged() const noexcept;
  /// How often a source was opened, and how often one was repositioned.
  int opened() const noexcept;
  int repositioned() const noexcept;
  /// What sources gave back with `release`, by receipt.
  const std::vector<std::string>& released() const noexcept;
  /// The partition of an owned log.
  std::shared_ptr<const Partition> partition() const noexcept;

  struct State;  ///< Known to the sources it opens.

 private:
  std::shared_ptr<State> state_;
};

}  // namespace onefold::faults
