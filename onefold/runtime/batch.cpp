#include "onefold/runtime/batch.h"

#include <algorithm>

namespace onefold {
namespace {

bool same_key(const Item* left, const Item* right) {
  return left->key == right->key;
}

Evidence evidence_of(const Item& item, Timestamp recorded_at) {
  const Event& event = item.delivery->event;
  const Outcome outcome = item.outcome.value_or(Outcome::applied);
  const bool ran = outcome == Outcome::applied && item.route != nullptr;
  return {.key = item.key,
          .outcome = outcome,
          .waiting = outcome == Outcome::dead,
          .event_source = event.source,
          .event_id = event.id,
          .event_type = event.type,
          .event_time = event.time,
          .entity = item.entity,
          .handled_by = ran ? std::string_view{item.route->handled_by} : std::string_view{},
          .fingerprint = item.fingerprint,
          .result = item.result,
          .recorded_at = recorded_at};
}

const std::vector<std::string> conflict_errors{
    "ID_REUSE: another event with other data has this identity already; both are kept"};

/// A second delivery of the same key: the same event again, or another one that took its identity.
Outcome repetition(const Fingerprint& first, const Item& item) {
  return first == item.fingerprint ? Outcome::duplicate : Outcome::conflict;
}

}  // namespace

void Unit::restart() const {
  for (Item& item : items_) {
    item.outcome = item.verdict;
    item.fresh = false;
    item.result.clear();
    if (item.verdict) continue;  // What led to the verdict stays true.
    item.attempts = 0;
    item.errors.clear();
    item.failed_handler.clear();
  }
}

std::vector<Evidence> Unit::wanted(Timestamp recorded_at) {
  by_key_.clear();
  for (Item& item : items_) {
    if (item.verdict != Outcome::ignored) by_key_.push_back(&item);
  }
  // Ids that are ordered by time arrive sorted already, which is much cheaper to see than to do.
  // Items of one key stay in the order of their arrival, which is that of their places.
  const auto earlier = [](const Item* left, const Item* right) {
    const auto order = left->key <=> right->key;
    return order != 0 ? order < 0 : left < right;
  };
  if (!std::ranges::is_sorted(by_key_, earlier)) std::ranges::sort(by_key_, earlier);
  std::vector<Evidence> wanted;
  wanted.reserve(by_key_.size());
  for (std::size_t i = 0; i < by_key_.size(); ++i) {
    if (i > 0 && same_key(by_key_[i - 1], by_key_[i])) continue;
    wanted.push_back(evidence_of(*by_key_[i], recorded_at));
  }
  return wanted;
}

void Unit::settle_claims(std::span<const Claim> claims) {
  auto claim = claims.begin();
  for (auto first = by_key_.begin(); first != by_key_.end(); ++claim) {
    const auto end = std::find_if(first, by_key_.end(),
                                  [&](const Item* item) { return !same_key(*first, item); });
    Item& leader = **first;
    Fingerprint known = leader.fingerprint;
    if (claim->state == ClaimState::fresh) {
      leader.fresh = true;
    } else {
      known = claim->fingerprint;
      leader.outcome = repetition(known, leader);
      // Our own commit, whose answer was lost, has worked after all.
      const bool ours = leader.in_doubt && leader.in_doubt->recorded_at == claim->recorded_at;
      if (ours) leader.outcome = leader.in_doubt->outcome;
    }
    for (auto other = first + 1; other != end; ++other) {
      (*other)->outcome = repetition(known, **other);
    }
    first = end;
  }
}

std::vector<Evidence> Unit::evidence(Timestamp recorded_at, ClaimMode mode) const {
  std::vector<Evidence> evidence;
  evidence.reserve(by_key_.size());
  for (const Item* item : by_key_) {
    if (!item->fresh) continue;
    const bool claimed_as_is = item->result.empty() && (item->outcome == Outcome::applied ||
                                                        item->outcome == item->verdict);
    if (mode == ClaimMode::claim_first && claimed_as_is) continue;
    evidence.push_back(evidence_of(*item, recorded_at));
  }
  return evidence;
}

std::vector<Deferral> Unit::deferrals(ConsumerId consumer, std::string_view source,
                                      Timestamp recorded_at) const {
  std::vector<Deferral> deferrals;
  for (const Item* item : by_key_) {
    const bool dead = item->outcome == Outcome::dead && item->fresh;
    const bool repeated = item->outcome == Outcome::duplicate && item->keyed_by_bytes;
    const bool conflict = item->outcome == Outcome::conflict;
    if (!dead && !repeated && !conflict) continue;
    deferrals.push_back({.key = item->key,
                         .fingerprint = item->fingerprint,
                         .consumer = consumer,
                         .source = source,
                         .delivery = item->delivery,
                         .reason = conflict ? DeferralReason::conflict : DeferralReason::dead,
                         .handler = item->failed_handler,
                         .errors = conflict ? conflict_errors : item->errors,
                         .attempts = item->attempts,
                         .recorded_at = recorded_at});
  }
  return deferrals;
}

std::vector<Position> Unit::positions() const {
  std::vector<Position> positions;
  for (const Item& item : items_) {
    if (!item.delivery->position) continue;
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
    settled.push_back({item.delivery, item.outcome.value_or(Outcome::applied), item.result});
  }
  return settled;
}

}  // namespace onefold
