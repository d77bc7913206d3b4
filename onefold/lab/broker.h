#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "onefold/formats/state_digest.h"
#include "onefold/lab/choice.h"
#include "onefold/source.h"

namespace onefold::lab {

/// The broker of a world. As an owned log it hands out everything from the database's position on
/// to the worker that owns its one partition; otherwise what is not acknowledged, each delivery to
/// one worker at a time.
class Broker {
 public:
  enum class Place : std::uint8_t { ready, in_hand, acknowledged };

  Broker(SourceClass kind, std::vector<Delivery> deliveries, int workers);

  /// As at the start. All sources must be closed.
  void reset();
  /// The source as one worker sees it. The broker must outlive it.
  SourceFactory factory(int worker);
  bool is_log() const noexcept { return kind_ == SourceClass::owned_log; }
  /// Whether `receive` would do something for this worker.
  bool has_work(int worker) const;

  std::span<const Delivery> deliveries() const noexcept { return deliveries_; }
  Place place(std::size_t delivery) const { return entries_[delivery].place; }
  int holder(std::size_t delivery) const { return entries_[delivery].holder; }
  int owner() const noexcept { return owner_; }

  // Faults.
  /// Another worker may have it too.
  void redeliver(std::size_t delivery);
  /// The log goes to the next worker.
  void revoke();
  struct Past {
    std::vector<Place> places;
  };
  Past past() const;
  /// Back to an earlier state; every connection is lost.
  void restore(const Past& past);

  /// Asked at each acknowledgement.
  void decide_acknowledgements(std::function<Act()> fate) { fate_ = std::move(fate); }
  /// What a worker called done, and what was handed out, since this was last asked.
  std::vector<std::size_t> take_settled() { return std::exchange(settled_, {}); }
  std::vector<std::size_t> take_handed() { return std::exchange(handed_, {}); }

  /// What does not belong to a worker, and what does.
  void add_to(StateDigest& digest) const;
  void add_to(StateDigest& digest, int worker) const;

  // For its sources.
  void open(int worker, std::size_t next);
  void close(int worker);
  std::vector<Delivery> receive(int worker, std::size_t limit, const PositionLookup& positions);
  void acknowledge(int worker, std::span<const Settled> settled);
  void release(int worker, std::span<const Delivery> deliveries);
  void seek(int worker, std::size_t next);
  std::size_t start(const PositionLookup& positions) const;
  bool at_end(int worker) const;

 private:
  struct Entry {
    Place place = Place::ready;
    int holder = -1;
  };
  struct Reader {
    bool is_open = false;
    bool broken = false;
    bool stale = false;    ///< It has to ask where to go on: the partition has come to it anew.
    std::size_t next = 0;  ///< Of a log.
  };
  std::size_t index_of(const Delivery& delivery) const;

  SourceClass kind_;
  std::vector<Delivery> deliveries_;
  std::vector<Entry> entries_;
  std::vector<Reader> readers_;
  int owner_ = 0;
  std::function<Act()> fate_;
  std::vector<std::size_t> settled_;
  std::vector<std::size_t> handed_;
};

}  // namespace onefold::lab
