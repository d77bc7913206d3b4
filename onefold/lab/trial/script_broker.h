#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/lab/choice.h"
#include "onefold/source.h"

namespace onefold::lab {

/// The broker of one subscription. As an owned log it hands out what follows the database's
/// position; otherwise what is not acknowledged, each delivery to one worker at a time. Further
/// copies of an event can be added at any time, as at-least-once senders do.
class ScriptBroker {
 public:
  struct Traits {
    SourceClass kind = SourceClass::queue;
    bool ordered = false;
    bool id_is_place = false;  ///< A second copy has another id.
  };
  /// A delivery that the broker has, or had.
  struct Entry {
    enum class Place : std::uint8_t { ready, in_hand, done };
    std::size_t event = 0;  ///< Which of the deliveries that it began with.
    std::size_t copy = 0;
    Place place = Place::ready;
    int holder = -1;
    int attempts = 0;
  };
  /// What the lab decides and wants to know.
  struct Script {
    /// Which of these entries alone has arrived; absent: all of them.
    std::function<std::optional<std::size_t>(std::span<const std::size_t> entries)> choose;
    std::function<Act()> acknowledgement;
    std::function<void(std::size_t entry, int worker)> handed;
    std::function<void(std::size_t entry)> done;
  };

  /// `deliveries` must outlive it.
  ScriptBroker(std::string source, Traits traits, std::span<const Delivery> deliveries);
  void set_script(Script script) { script_ = std::move(script); }

  /// As at the start, but for events that are left out. All sources must be closed.
  void reset(const std::vector<bool>& left_out);
  /// The source as one worker sees it, with the rules of the real one.
  SourceFactory factory(const SourceFactory& real, int worker);
  bool has_work(int worker) const;
  const Traits& traits() const noexcept { return traits_; }
  bool is_log() const noexcept { return traits_.kind == SourceClass::owned_log; }
  std::span<const Entry> entries() const noexcept { return entries_; }
  /// The event is sent once more, after all that is there.
  void send_again(std::size_t event);
  /// Bytes that cannot be decoded are known by their place in a log: a copy is another thing.
  bool can_be_sent_again(std::size_t event) const;
  /// "evt_1#0": the event, and which of its copies.
  std::string name_of(std::size_t entry) const;
  std::string event_name(std::size_t event) const;

  // For its sources.
  void open(int worker, std::size_t next);
  void close(int worker);
  std::size_t start(const PositionLookup& positions) const;
  std::vector<Delivery> receive(int worker, std::size_t limit);
  void acknowledge(int worker, std::span<const Settled> settled);
  void release(int worker, std::span<const Delivery> deliveries);

 private:
  struct Reader {
    bool is_open = false;
    std::size_t next = 0;  ///< Of a log.
  };
  std::vector<std::size_t> available(int worker, std::size_t limit) const;
  Delivery deliver(std::size_t entry);
  std::size_t entry_of(const Delivery& delivery) const;

  std::string source_;
  Traits traits_;
  std::span<const Delivery> deliveries_;
  Script script_;
  std::vector<Entry> entries_;
  std::vector<Reader> readers_;
};

}  // namespace onefold::lab
