#include "onefold/runtime/batch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

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
          .waiting = outcome == Outcome::dead || outcome == Outcome::deferred,
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

void Item::add_error(std::string why, FailureClass what) {
  // The first ones tell how it began, the last ones how it stands.
  constexpr std::size_t kept = 10;
  if (errors.size() >= kept) errors.erase(errors.begin() + kept / 2);
  errors.push_back(std::move(why));
  failure = what;
}

void Unit::restart() const {
  for (Item& item : items_) {
    item.outcome = item.verdict;
    item.conflicting = nullptr;
    item.committed = false;
    item.gone = false;
    item.result.clear();
    if (item.verdict) continue;  // What led to the verdict stays true.
    const Waiting* const waiting = item.waiting();
    item.attempts = waiting != nullptr ? waiting->attempts : 0;
    item.errors = waiting != nullptr ? waiting->errors : std::vector<std::string>{};
    item.failed_handler.clear();
  }
}

std::vector<const Waiting*> Unit::tickets() const {
  std::vector<const Waiting*> tickets;
  for (const Item& item : items_) {
    if (item.part == 0 && item.waiting() != nullptr) tickets.push_back(item.waiting());
  }
  std::ranges::sort(tickets, {}, &Waiting::id);
  return tickets;
}

void Unit::settle_tickets(std::span<const Claim> claims) {
  const std::vector<const Waiting*> all = tickets();
  for (Item& item : items_) {
    const auto place = std::ranges::lower_bound(all, item.waiting()->id, {}, &Waiting::id);
    const Claim& claim = claims[static_cast<std::size_t>(place - all.begin())];
    if (claim.state == ClaimState::fresh || item.verdict == Outcome::ignored) continue;
    item.gone = true;
    item.committed = item.in_doubt && item.in_doubt->recorded_at == claim.recorded_at;
    item.outcome = item.committed ? item.in_doubt->outcome : Outcome::duplicate;
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
    if (item.verdict == Outcome::ignored || item.gone) continue;
    for_each_key(item, [&](ItemKey& key) { wishes.push_back({&item, &key}); });
  }
  // Ids that are ordered by time arrive sorted already, which is much cheaper to see than to do.
  // Items of one key stay in the order of their arrival, which is that of their places.
  const auto earlier = [](const Wish& left, const Wish& right) {
    const auto order = left.key->key <=> right.key->key;
    if (order != 0) return order < 0;
    return left.item->held != right.item->held ? left.item->held : left.item < right.item;
  };
  if (!std::ranges::is_sorted(wishes, earlier)) std::ranges::sort(wishes, earlier);
  slots_.clear();
  std::vector<Evidence> wanted;
  wanted.reserve(wishes.size());
  for (const Wish& wish : wishes) {
    if (slots_.empty() || slots_.back().leader_key->key != wish.key->key) {
      slots_.push_back({.leader = wish.item, .leader_key = wish.key, .held = wish.item->held});
      if (!wish.item->held) wanted.push_back(evidence_of(*wish.item, *wish.key, recorded_at));
    }
    wish.key->slot = slots_.size() - 1;
  }
  return wanted;
}

void Unit::settle_claims(std::span<const Claim> claims) {
  auto claim = claims.begin();
  for (Slot& slot : slots_) {
    slot.holder = nullptr;
    slot.known = false;
    if (slot.held) continue;
    slot.known = claim->state != ClaimState::fresh;
    slot.fingerprint = claim->fingerprint;
    slot.recorded_at = claim->recorded_at;
    ++claim;
  }
  for (Item& item : items_) {
    if (item.verdict != Outcome::ignored && !item.gone) settle(item);
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
    const bool free = !slot.known && !slot.held && slot.holder == nullptr;
    if (free) keys.push_back(slot.leader_key->key);
  }
  return keys;
}

std::vector<Evidence> Unit::evidence(Timestamp recorded_at, ClaimMode mode) const {
  std::vector<Evidence> evidence;
  for (const Slot& slot : slots_) {
    if (slot.holder == nullptr) continue;
    const bool written = mode == ClaimMode::claim_first && slot.holder == slot.leader && !slot.held;
    if (written && said_by_its_claim(*slot.holder)) continue;
    evidence.push_back(evidence_of(*slot.holder, *slot.holder_key, recorded_at));
  }
  return evidence;
}

std::vector<Deferral> Unit::deferrals(ConsumerId consumer, std::string_view source,
                                      Timestamp recorded_at) const {
  // What waits is numbered in the order of its arrival, in which it is released; its keys are held.
  // Rows that others may have as well are touched in the order of their keys.
  std::vector<Deferral> deferrals;
  std::vector<Deferral> shared;
  for (const Item& item : items_) {
    const bool aside = item.is_set_aside() && !item.committed;
    const bool repeated = item.outcome == Outcome::duplicate && item.keyed_by_bytes;
    const bool conflict = item.outcome == Outcome::conflict;
    // A conflict of a commit that was in doubt is counted once more: twice is better than never.
    if (!aside && !repeated && !conflict) continue;
    const ItemKey& key = conflict ? *item.conflicting : item.key;
    Deferral deferral{.key = key.key,
                      .fingerprint = conflict ? fingerprint_of_conflict(item) : key.fingerprint,
                      .consumer = consumer,
                      .source = source,
                      .delivery = item.delivery,
                      .reason = conflict ? DeferralReason::conflict : item.reason,
                      .failure = item.failure,
                      .entity = item.entity,
                      .handler = item.failed_handler,
                      .errors = conflict ? item.conflict_errors : item.errors,
                      .attempts = item.attempts,
                      .recorded_at = recorded_at};
    if (item.reason == DeferralReason::retry) deferral.due_in = item.retry_in;
    if (item.held) deferral.waiting = item.waiting();
    if (aside) {
      for (const ItemKey& further : item.further_keys) deferral.further_keys.push_back(further.key);
    }
    if (deferral.handler.empty() && item.route != nullptr) deferral.handler = item.route->scope;
    (conflict || repeated ? shared : deferrals).push_back(std::move(deferral));
  }
  std::ranges::sort(shared, [](const Deferral& left, const Deferral& right) {
    return std::tie(left.key, left.delivery) < std::tie(right.key, right.delivery);
  });
  std::ranges::move(shared, std::back_inserter(deferrals));
  return deferrals;
}

/// Taken, and no longer set aside under the key under which it waited.
bool Unit::has_left(const Item& item) const {
  if (item.waiting() == nullptr || item.gone || item.verdict == Outcome::ignored) return false;
  return !item.held || !item.is_set_aside();
}

std::vector<std::int64_t> Unit::leavers() const {
  std::vector<std::int64_t> ids;
  for (const Item& item : items_) {
    if (has_left(item)) ids.push_back(item.waiting()->id);
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);  // Of several parts of one delivery.
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

std::vector<Key> Unit::provisional_keys() const {
  std::vector<Key> keys;
  for (const Item& item : items_) {
    if (has_left(item) && !item.held) keys.push_back(item.waiting()->key);
  }
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  return keys;
}

std::vector<ReplayTally> Unit::tallies() const {
  std::vector<ReplayTally> tallies;
  for (const Item& item : items_) {
    const Waiting* const waiting = item.waiting();
    if (!item.last_part || waiting == nullptr || waiting->replay.empty()) continue;
    const std::span parts{&item - item.part, item.part + 1};
    if (std::ranges::any_of(parts, &Item::gone)) continue;  // Whoever has it has counted it.
    const Outcome outcome = settle_delivery(item).outcome;
    if (outcome == Outcome::deferred) continue;
    auto tally = std::ranges::find(tallies, waiting->replay, &ReplayTally::replay);
    if (tally == tallies.end()) {
      tally = tallies.insert(tallies.end(), {.replay = waiting->replay});
    }
    ++(outcome == Outcome::dead || outcome == Outcome::conflict ? tally->failed : tally->applied);
  }
  return tallies;
}

ReplayTally Unit::tally_of_all(const std::string& replay) const {
  ReplayTally tally{.replay = replay};
  for (const Item& item : items_) {
    if (!item.last_part) continue;
    ++tally.received;
    switch (settle_delivery(item).outcome) {
      case Outcome::applied:
        ++tally.applied;
        break;
      case Outcome::duplicate:
        ++tally.duplicate;
        break;
      case Outcome::stale:
        ++tally.stale;
        break;
      case Outcome::deferred:
        ++tally.deferred;
        break;
      case Outcome::conflict:
        ++tally.conflict;
        ++tally.failed;
        break;
      case Outcome::dead:
        ++tally.failed;
        break;
      case Outcome::ignored:
        ++tally.ignored;
        break;
    }
  }
  return tally;
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
