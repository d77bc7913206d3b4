#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/event.h"
#include "onefold/source.h"
#include "onefold/store.h"
#include "onefold/waiting.h"

namespace onefold {

/// The handlers that run for an event under one claim and one outcome.
struct Route {
  std::vector<const HandlerSpec*> handlers;
  std::string handled_by;             ///< "credit@1 notify@3".
  std::string_view scope;             ///< The handler's name, if it has a scope of its own.
  const std::vector<KeySpec>* keys;   ///< Never null, never empty.
  std::vector<std::string> compared;  ///< What a business key's fingerprint covers; empty: all.
};

/// One of the keys of an item, and what tells a repetition from a conflict.
struct ItemKey {
  Key key;
  Fingerprint fingerprint{};
  std::string_view rule = {};  ///< Of a business key; empty: the event's identity.
  std::size_t slot = 0;        ///< Its place among the keys of the unit.
};

/// A delivery on its way through the loop; with a scope for each handler, its part for one of them.
struct Item {
  explicit Item(const Delivery& one, const Route* through = nullptr)
      : delivery{&one}, route{through} {}

  const Delivery* delivery;  ///< Never null; the worker keeps it.
  const Route* route;        ///< Null if the delivery could not be decoded.
  std::size_t part = 0;      ///< The items of one delivery follow each other, and count from 0.
  bool last_part = true;

  // Known once it is identified.
  ItemKey key;
  std::vector<ItemKey> further_keys;  ///< If more than one thing must happen once.
  std::string entity;
  bool keyed_by_bytes = false;  ///< Undecodable and without a position: repetitions are counted.
  /// Its key is the one under which it waits already: it is taken, and not claimed.
  bool held = false;
  /// Decided before any handler, or known from a commit that failed: dead, deferred or ignored.
  std::optional<Outcome> verdict;

  // Started again with each transaction: what was rolled back uses up nobody's attempts.
  std::optional<Outcome> outcome;  ///< Absent: its handlers are still to run.
  std::vector<std::string> conflict_errors;
  const ItemKey* conflicting = nullptr;  ///< The key that an event with other data has.
  bool committed = false;                ///< By our own commit that had been in doubt.
  std::string result;
  bool gone = false;  ///< It waited, and somebody else has settled it.
  int attempts = 0;   ///< That have failed under the claim, of the round that it is in.
  std::vector<std::string> errors;  ///< Oldest first.
  std::string failed_handler;
  FailureClass failure = FailureClass::undecodable;  ///< Of the last error.
  DeferralReason reason = DeferralReason::dead;      ///< If it is set aside.
  std::chrono::milliseconds retry_in{0};             ///< If the reason is `retry`.

  const Waiting* waiting() const noexcept { return delivery->waiting.get(); }
  void add_error(std::string why, FailureClass what);
  bool is_set_aside() const noexcept {
    return outcome == Outcome::dead || outcome == Outcome::deferred;
  }

  /// What the last commit whose answer was lost would have made true.
  struct InDoubt {
    Outcome outcome;
    Timestamp recorded_at;
  };
  std::optional<InDoubt> in_doubt;
};

/// The part of a batch that is one transaction. All of it in the fast path, less in a rerun.
class Unit {
 public:
  Unit() = default;
  explicit Unit(std::span<Item> items) : items_{items} {}

  std::span<Item> items() const noexcept { return items_; }
  /// Forgets what the rolled back transaction has decided.
  void restart() const;
  /// What to take out of the waiting room, sorted by id, and what came of it.
  std::vector<const Waiting*> tickets() const;
  void settle_tickets(std::span<const Claim> claims);
  /// What to claim: one element per key, sorted by key. The first delivery of a key stands for it.
  std::vector<Evidence> wanted(Timestamp recorded_at);
  /// Takes the answers to `wanted`: duplicates and conflicts are decided here and nowhere else
  /// (B05, B22). Of several keys one that is taken is enough; who is first has all of its own.
  void settle_claims(std::span<const Claim> claims);
  /// Keys that were free, and that no event of the unit is entitled to after all: it had another
  /// one that was taken.
  std::vector<Key> unheld() const;
  /// What to write. Optimistic: the evidence of all fresh events. Claim-first: of those only that
  /// differ from what their claim says already.
  std::vector<Evidence> evidence(Timestamp recorded_at, ClaimMode mode) const;
  /// What to set aside, with its bytes; or anew, if it has waited already.
  std::vector<Deferral> deferrals(ConsumerId consumer, std::string_view source,
                                  Timestamp recorded_at) const;
  /// What no longer waits: rows to remove, and the keys that stood for bytes that are events now.
  std::vector<std::int64_t> leavers() const;
  std::vector<Key> provisional_keys() const;
  /// What became of the events of replays.
  std::vector<ReplayTally> tallies() const;
  /// What became of all deliveries that are complete with this unit, for a replay of a range.
  ReplayTally tally_of_all(const std::string& replay) const;
  /// The last position of each partition, of deliveries that are complete with this unit.
  std::vector<Position> positions() const;
  /// Those deliveries. The worst of what became of its parts is what became of a delivery
  /// (semantics 8).
  std::vector<Settled> settled() const;

 private:
  /// A key of the unit, and who has it.
  struct Slot {
    const Item* leader;  ///< The first delivery with this key.
    const ItemKey* leader_key;
    const Item* holder = nullptr;  ///< Who has it now; null if nobody, or somebody earlier, has.
    const ItemKey* holder_key = nullptr;
    bool known = false;         ///< An earlier transaction has it.
    bool held = false;          ///< The leader waits under it, and was taken.
    Fingerprint fingerprint{};  ///< Of whoever has it.
    Timestamp recorded_at{};    ///< Of the earlier transaction.
  };

  void settle(Item& item);
  bool has_left(const Item& item) const;

  std::span<Item> items_;
  std::vector<Slot> slots_;  ///< Sorted by key.
};

}  // namespace onefold
