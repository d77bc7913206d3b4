#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/event.h"
#include "onefold/source.h"
#include "onefold/store.h"

namespace onefold {

/// The handlers that an event type leads to.
struct Route {
  std::vector<const HandlerSpec*> handlers;
  std::string handled_by;  ///< "credit@1 notify@3".
};

/// A delivery on its way through the loop.
struct Item {
  explicit Item(const Delivery& one) : delivery{&one} {}

  const Delivery* delivery;  ///< Never null; the worker keeps it.

  // Known once it is identified.
  Key key;
  Fingerprint fingerprint{};
  const Route* route = nullptr;
  std::string entity;
  bool keyed_by_bytes = false;     ///< Undecodable and without a position: repetitions are counted.
  std::optional<Outcome> verdict;  ///< Decided before any handler: dead, or ignored.

  // Started again with each transaction: what was rolled back uses up nobody's attempts.
  std::optional<Outcome> outcome;  ///< Absent: its handlers are still to run.
  bool fresh = false;              ///< The claim is ours, in this transaction.
  std::string result;
  int attempts = 0;                 ///< That a handler has refused under the claim.
  std::vector<std::string> errors;  ///< Oldest first.
  std::string failed_handler;

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
  /// What to claim: one element per key, sorted by key. The first delivery of a key stands for it.
  std::vector<Evidence> wanted(Timestamp recorded_at);
  /// Takes the answers to `wanted`: duplicates and conflicts are decided here and nowhere else
  /// (B05, B22).
  void settle_claims(std::span<const Claim> claims);
  /// What to write. Optimistic: the evidence of all fresh events. Claim-first: of those only that
  /// differ from what their claim says already.
  std::vector<Evidence> evidence(Timestamp recorded_at, ClaimMode mode) const;
  /// What to set aside, with its bytes.
  std::vector<Deferral> deferrals(ConsumerId consumer, std::string_view source,
                                  Timestamp recorded_at) const;
  /// The last position of each partition.
  std::vector<Position> positions() const;
  std::vector<Settled> settled() const;

 private:
  std::span<Item> items_;
  std::vector<Item*> by_key_;  ///< Sorted by key, then by arrival; those without a claim left out.
};

}  // namespace onefold
