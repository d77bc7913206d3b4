#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "onefold/lab/world.h"

namespace onefold::lab {

/// A promise that does not hold.
struct Defect {
  std::string promise;  ///< As in `Violation`.
  std::string what;
};

/// What was committed, a line for each fact, sorted; without times and counts.
std::vector<std::string> facts_of(memory::Model& model);

/// Runs a world's first worker to its end, undisturbed. Others must not be needed.
void run_quietly(World& world);

/// Judges a world: after every step by rules that hold at any time, and at the end by what the same
/// deliveries lead to one after the other, undisturbed.
class Oracle {
 public:
  /// Learns each event's keys, and its effect when it is alone.
  explicit Oracle(World& world);

  /// After a step that has changed what is committed, or called deliveries done.
  std::optional<Defect> check_committed(World& world) const;
  std::optional<Defect> check_settled(World& world, std::span<const std::size_t> settled) const;
  /// When nothing is left to do.
  std::optional<Defect> check_end(World& world) const;
  /// Where nothing was handed out twice, what was counted must be so too.
  std::optional<Defect> check_counts(const Totals& totals) const;
  /// The event has been decided: applied, or set aside with its bytes.
  bool is_decided(World& world, std::size_t delivery) const;

  /// One end that is right; there may be several, where the order matters. Its first worker has
  /// done it all.
  void add_reference(World& world);

 private:
  /// What is claimed and applied as one: an event, or its part for a single handler.
  struct Part {
    std::vector<ItemKey> keys;  ///< None: it is ignored.
    std::vector<std::pair<std::string, std::int64_t>> effect;
  };
  using Claims = std::map<Key, const InboxRecord*>;

  void learn(World& world, std::size_t delivery);
  void learn_effects(const WorldSpec& spec);
  std::optional<Defect> check_sum(World& world, const std::vector<const InboxRecord*>& rows) const;
  std::optional<Defect> check_positions(World& world, const Claims& claims) const;
  std::optional<Defect> check_deferred(World& world, const Claims& claims) const;
  std::optional<Defect> check_invariants(World& world) const;
  std::optional<Defect> check_expected(World& world) const;
  bool is_decided(std::size_t delivery, const Claims& claims) const;

  std::vector<std::vector<Part>> parts_;  ///< Of each delivery.
  Cells start_;
  std::map<std::uint64_t, std::vector<std::string>> references_;  ///< Digest to facts.
  std::set<std::array<std::int64_t, outcome_count>> counts_;      ///< Of the references.
};

}  // namespace onefold::lab
