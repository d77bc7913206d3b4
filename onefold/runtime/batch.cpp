#include "onefold/runtime/batch.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "onefold/formats/fingerprint.h"

namespace onefold {
namespace {

constexpr Fingerprint not_compared{};

template <class Visit>
void for_each_key(Item& item, Visit visit) {
  visit(item.key);
  for (ItemKey& key : item.further_keys) visit(key);
}

/// The keys of a dead event are claimed too: it waits for a person.
Evidence evidence_of(const Item& item, const ItemKey& key, Timestamp recorded_at) {
  const Event& event = item.delivery->event;
  const Outcome outcome = item.outcome.value_or(Outcome::applied);
  const bool ran = outcome == Outcome::applied && item.route != nullptr;
  return {.key = key.key,
          .outcome = outcome,
          .waiting = outcome == Outcome::dead,
          .event_source = event.source,
          .event_id = event.id,
          .event_type = event.type,
          .event_time = event.time,
          .entity = item.entity,
          .handled_by = ran ? std::string_view{item.route->handled_by} : std::string_view{},
          .fingerprint = key.fingerprint,
          .result = item.result,
          .recorded_at = recorded_at};
}

std::string conflict_error(const ItemKey& key) {
  if (key.rule.empty()) {
    return "ID_REUSE: another event with other data has this identity already; both are kept";
  }
  return "KEY_REUSE: another event, which says something else, has this '" + std::string{key.rule} +
         "' already; both are kept";
}

/// Conflicts are kept once for each fingerprint. Under a business key two events that say the same
/// are two all the same: both are kept.
Fingerprint fingerprint_of_conflict(const Item& item) {
  const ItemKey& key = *item.conflicting;
  if (key.rule.empty()) return key.fingerprint;
  const std::string_view bytes{reinterpret_cast<const char*>(key.fingerprint.data()),
                               key.fingerprint.size()};
  return sha256_128_of_parts({bytes, item.delivery->event.source, item.delivery->event.id});
}

/// A claim made first says this about it already.
bool said_by_its_claim(const Item& item) {
  return item.result.empty() && (item.outcome == Outcome::applied || item.outcome == item.verdict);
}

/// From the mildest to the worst.
std::size_t severity(Outcome outcome) {
  constexpr std::array order{Outcome::ignored, Outcome::duplicate, Outcome::applied,
                             Outcome::stale,   Outcome::deferred,  Outcome::dead,
                             Outcome::conflict};
  return static_cast<std::size_t>(std::ranges::find(order, outcome) - order.begin());
}

Settled settle_delivery(const Item& last) {
  Settled worst{last.delivery, last.outcome.value_or(Outcome::applied), last.result};
  for (const Item* item = &last - last.part; item != &last; ++item) {
    const Outcome outcome = item->outcome.value_or(Outcome::applied);
    if (severity(outcome) > severity(worst.outcome)) {
      worst = {item->delivery, outcome, item->result};
    }
  }
  return worst;
}

}  // namespace

void Unit::restart() const {
  for (Item& item : items_) {
    item.outcome = item.verdict;
    item.conflicting = nullptr;
    item.committed = false;
    item.result.clear();
    if (item.verdict) continue;  // What led to the verdict stays true.
    item.attempts = 0;
    item.errors.clear();
    item.failed_handler.clear();
  }
}

std::vector<Evidence> Unit::wanted(Timestamp recorded_at) {
  struct Wish {
    Item* item;
    ItemKey* key;
  };
  std::vector<Wish> wishes;
  wishes.reserve(items_.size());
  for (Item& item : items_) {
    if (item.verdict == Outcome::ignored) continue;
    for_each_key(item, [&](ItemKey& key) { wishes.push_back({&item, &key}); });
  }
  // Ids that are ordered by time arrive sorted already, which is much cheaper to see than to do.
  // Items of one key stay in the order of their arrival, which is that of their places.
  const auto earlier = [](const Wish& left, const Wish& right) {
    const auto order = left.key->key <=> right.key->key;
    return order != 0 ? order < 0 : left.item < right.item;
  };
  if (!std::ranges::is_sorted(wishes, earlier)) std::ranges::sort(wishes, earlier);
  slots_.clear();
  std::vector<Evidence> wanted;
  wanted.reserve(wishes.size());
  for (const Wish& wish : wishes) {
    if (slots_.empty() || slots_.back().leader_key->key != wish.key->key) {
      slots_.push_back({.leader = wish.item, .leader_key = wish.key});
      wanted.push_back(evidence_of(*wish.item, *wish.key, recorded_at));
    }
    wish.key->slot = slots_.size() - 1;
  }
  return wanted;
}

void Unit::settle_claims(std::span<const Claim> claims) {
  auto claim = claims.begin();
  for (Slot& slot : slots_) {
    slot.known = claim->state != ClaimState::fresh;
    slot.fingerprint = claim->fingerprint;
    slot.recorded_at = claim->recorded_at;
    slot.holder = nullptr;
    ++claim;
  }
  for (Item& item : items_) {
    if (item.verdict != Outcome::ignored) settle(item);
  }
}

void Unit::settle(Item& item) {
  bool taken = false;
  for_each_key(item, [&](const ItemKey& key) {
    const Slot& slot = slots_[key.slot];
    if (slot.known && item.in_doubt && item.in_doubt->recorded_at == slot.recorded_at) {
      item.committed = true;
    }
    if (!slot.known && slot.holder == nullptr) return;
    taken = true;
    const bool same = slot.fingerprint == key.fingerprint || slot.fingerprint == not_compared ||
                      key.fingerprint == not_compared;
    if (!same && item.conflicting == nullptr) item.conflicting = &key;
  });
  if (item.conflicting != nullptr) item.conflict_errors = {conflict_error(*item.conflicting)};
  if (item.committed) {
    item.outcome = item.in_doubt->outcome;  // Its answer was lost, and yet it has worked.
  } else if (taken) {
    item.outcome = item.conflicting != nullptr ? Outcome::conflict : Outcome::duplicate;
  } else {
    for_each_key(item, [&](const ItemKey& key) {
      Slot& slot = slots_[key.slot];
      slot.holder = &item;
      slot.holder_key = &key;
      slot.fingerprint = key.fingerprint;
    });
  }
}

std::vector<Key> Unit::unheld() const {
  std::vector<Key> keys;
  for (const Slot& slot : slots_) {
    if (!slot.known && slot.holder == nullptr) keys.push_back(slot.leader_key->key);
  }
  return keys;
}

std::vector<Evidence> Unit::evidence(Timestamp recorded_at, ClaimMode mode) const {
  std::vector<Evidence> evidence;
  for (const Slot& slot : slots_) {
    if (slot.holder == nullptr) continue;
    const bool written = mode == ClaimMode::claim_first && slot.holder == slot.leader;
    if (written && said_by_its_claim(*slot.holder)) continue;
    evidence.push_back(evidence_of(*slot.holder, *slot.holder_key, recorded_at));
  }
  return evidence;
}

std::vector<Deferral> Unit::deferrals(ConsumerId consumer, std::string_view source,
                                      Timestamp recorded_at) const {
  std::vector<Deferral> deferrals;
  for (const Item& item : items_) {
    const bool dead = item.outcome == Outcome::dead && !item.committed;
    const bool repeated = item.outcome == Outcome::duplicate && item.keyed_by_bytes;
    const bool conflict = item.outcome == Outcome::conflict;
    // A conflict of a commit that was in doubt is counted once more: twice is better than never.
    if (!dead && !repeated && !conflict) continue;
    const ItemKey& key = conflict ? *item.conflicting : item.key;
    Deferral deferral{.key = key.key,
                      .fingerprint = conflict ? fingerprint_of_conflict(item) : key.fingerprint,
                      .consumer = consumer,
                      .source = source,
                      .delivery = item.delivery,
                      .reason = conflict ? DeferralReason::conflict : DeferralReason::dead,
                      .handler = item.failed_handler,
                      .errors = conflict ? item.conflict_errors : item.errors,
                      .attempts = item.attempts,
                      .recorded_at = recorded_at};
    if (dead) {
      for (const ItemKey& further : item.further_keys) deferral.further_keys.push_back(further.key);
    }
    if (deferral.handler.empty() && item.route != nullptr) deferral.handler = item.route->scope;
    deferrals.push_back(std::move(deferral));
  }
  // Deliveries stand in the order of their arrival.
  std::ranges::sort(deferrals, [](const Deferral& left, const Deferral& right) {
    return std::tie(left.key, left.delivery) < std::tie(right.key, right.delivery);
  });
  return deferrals;
}

std::vector<Position> Unit::positions() const {
  std::vector<Position> positions;
  for (const Item& item : items_) {
    if (!item.last_part || !item.delivery->position) continue;
    const Position& position = *item.delivery->position;
    const auto known = std::ranges::find_if(
        positions, [&](const Position& p) { return p.partition == position.partition; });
    if (known == positions.end()) {
      positions.push_back(position);
    } else {
      *known = position;
    }
  }
  return positions;
}

std::vector<Settled> Unit::settled() const {
  std::vector<Settled> settled;
  settled.reserve(items_.size());
  for (const Item& item : items_) {
    if (item.last_part) settled.push_back(settle_delivery(item));
  }
  return settled;
}

}  // namespace onefold
