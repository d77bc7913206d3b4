#include "onefold/lab/oracle.h"

#include <algorithm>
#include <utility>

#include "onefold/runtime/identifier.h"

namespace onefold::lab {
namespace {

constexpr int quiet_steps_max = 100'000;

std::vector<const InboxRecord*> inbox_of(memory::Model& model) {
  std::vector<const InboxRecord*> rows;
  model.visit([&](const InboxRecord& row) { rows.push_back(&row); }, [](const DeferredRecord&) {});
  return rows;
}

std::vector<const DeferredRecord*> deferred_of(memory::Model& model) {
  std::vector<const DeferredRecord*> rows;
  model.visit([](const InboxRecord&) {}, [&](const DeferredRecord& row) { rows.push_back(&row); });
  return rows;
}

std::map<Key, const InboxRecord*> claims_of(memory::Model& model) {
  std::map<Key, const InboxRecord*> claims;
  for (const InboxRecord* row : inbox_of(model)) claims.emplace(row->key, row);
  return claims;
}

std::string text_of(const Cells& cells) {
  std::string text;
  for (const auto& [name, amount] : cells) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(amount);
  }
  return text;
}

std::string event_name(const Event& event) {
  return event.id.empty() ? "(undecodable)" : event.id;
}

}  // namespace

std::vector<std::string> facts_of(memory::Model& model) {
  std::vector<std::string> facts;
  for (const auto& [name, amount] : model.cells()) {
    facts.push_back("cell " + name + " = " + std::to_string(amount));
  }
  for (const InboxRecord* row : inbox_of(model)) {
    facts.push_back("inbox " + row->event_id + " " + to_string(row->outcome) +
                    (row->waiting ? ", waiting" : "") + " by '" + row->handled_by + "'");
  }
  for (const DeferredRecord* row : deferred_of(model)) {
    facts.push_back("set aside " + event_name(row->event) + " as " + row->reason + " after " +
                    std::to_string(row->attempts) + " attempts and " +
                    std::to_string(row->errors.size()) + " errors, handler '" + row->handler + "'");
  }
  std::ranges::sort(facts);
  return facts;
}

void run_quietly(World& world) {
  world.reset();
  bool replayed = false;
  for (int steps = 0; steps < quiet_steps_max; ++steps) {
    const std::size_t number = world.can_go_on(0) || world.size() == 1 ? 0 : 1;
    if (!world.can_go_on(number)) {
      if (world.size() > 1 && world.model().has_later()) {
        world.model().pass_time();
      } else if (world.spec().replays_at_end && !std::exchange(replayed, true)) {
        world.replay_dead();
      } else {
        return;
      }
      continue;
    }
    try {
      world.worker(number).step();
    } catch (const std::exception&) {
      return;  // The consumer has to stop; whether it may is judged elsewhere.
    }
    world.machine(number).clock.end_pause();
  }
}

Oracle::Oracle(World& world)
    : parts_(world.broker().deliveries().size()), start_{world.spec().cells} {
  world.reset();
  for (std::size_t delivery = 0; delivery < parts_.size(); ++delivery) learn(world, delivery);
  learn_effects(world.spec());
}

void Oracle::learn(World& world, std::size_t delivery) {
  const auto session = world.model().connect();
  Identifier identifier{world.spec().consumer, world.consumer_id(),
                        world.machine(0).subscription->source.name, KeyRule{}};
  std::vector<Item> items;
  identifier.open(world.broker().deliveries()[delivery], items);
  identifier.identify(items, *session);
  for (const Item& item : items) {
    Part& part = parts_[delivery].emplace_back();
    if (item.verdict == Outcome::ignored) continue;
    part.keys.push_back(item.key);
    part.keys.insert(part.keys.end(), item.further_keys.begin(), item.further_keys.end());
    for (ItemKey& key : part.keys) key.rule = {};  // It points into what is gone soon.
  }
}

/// The difference that an event makes when there is no other; of its part for one handler, when
/// there is no other handler.
void Oracle::learn_effects(const WorldSpec& spec) {
  if (!spec.additive || spec.stops) return;
  for (std::size_t delivery = 0; delivery < parts_.size(); ++delivery) {
    for (std::size_t number = 0; number < parts_[delivery].size(); ++number) {
      WorldSpec alone = spec;
      alone.workers = 1;
      alone.waiters = std::min(alone.waiters, 1);
      alone.deliveries = {spec.deliveries[delivery]};
      if (spec.consumer.scope == Scope::handler && parts_[delivery].size() > 1) {
        std::size_t left = number;
        std::erase_if(alone.consumer.handlers, [&](const HandlerSpec& handler) {
          return !matches(handler.type, alone.deliveries.front().event.type) || left-- != 0;
        });
      }
      World world{alone};
      run_quietly(world);
      for (const auto& [name, amount] : world.model().cells()) {
        const auto before = start_.find(name);
        const std::int64_t change = amount - (before == start_.end() ? 0 : before->second);
        if (change != 0) parts_[delivery][number].effect.emplace_back(name, change);
      }
    }
  }
}

bool Oracle::is_decided(std::size_t delivery, const Claims& claims) const {
  return std::ranges::all_of(parts_[delivery], [&](const Part& part) {
    return part.keys.empty() || std::ranges::any_of(part.keys, [&](const ItemKey& key) {
             return claims.contains(key.key);
           });
  });
}

bool Oracle::is_decided(World& world, std::size_t delivery) const {
  return is_decided(delivery, claims_of(world.model()));
}

std::optional<Defect> Oracle::check_settled(World& world,
                                            std::span<const std::size_t> settled) const {
  const Claims claims = claims_of(world.model());
  for (const std::size_t delivery : settled) {
    const Delivery& one = world.broker().deliveries()[delivery];
    const std::string name =
        "delivery " + std::to_string(delivery) + " (event " + event_name(one.event) + ")";
    if (!is_decided(delivery, claims)) {
      return Defect{"P2", name + " was acknowledged, and the database knows nothing of it"};
    }
    for (const Part& part : parts_[delivery]) {
      if (part.keys.size() != 1) continue;
      const InboxRecord& row = *claims.at(part.keys.front().key);
      if (row.fingerprint == part.keys.front().fingerprint) continue;
      const bool kept = std::ranges::any_of(deferred_of(world.model()), [&](const auto* deferred) {
        return deferred->key == row.key && deferred->raw == one.raw;
      });
      if (!kept && world.spec().consumer.fingerprint.kind != FingerprintRule::Kind::off) {
        return Defect{"P11", name +
                                 " has other data than the event that was applied under its id, "
                                 "and it was acknowledged without being kept"};
      }
    }
  }
  return {};
}

std::optional<Defect> Oracle::check_committed(World& world) const {
  const std::vector<const InboxRecord*> rows = inbox_of(world.model());
  if (auto defect = check_sum(world, rows)) return defect;
  Claims claims;
  for (const InboxRecord* row : rows) claims.emplace(row->key, row);
  if (world.broker().is_log()) {
    if (auto defect = check_positions(world, claims)) return defect;
  }
  if (auto defect = check_deferred(world, claims)) return defect;
  return check_invariants(world);
}

/// An inbox row exactly if its effect is there.
std::optional<Defect> Oracle::check_sum(World& world,
                                        const std::vector<const InboxRecord*>& rows) const {
  if (world.spec().stops) {
    if (rows.empty() && world.model().cells() == start_) return {};
    return Defect{"P1", "the consumer had to stop, and yet something was committed"};
  }
  if (!world.spec().additive) return {};
  Cells sum = start_;
  for (const InboxRecord* row : rows) {
    if (row->outcome != Outcome::applied) continue;
    const auto deliveries = world.broker().deliveries();
    bool known = false;
    for (std::size_t delivery = 0; delivery < parts_.size() && !known; ++delivery) {
      const Event& event = deliveries[delivery].event;
      if (event.id != row->event_id || event.source != row->event_source) continue;
      for (const Part& part : parts_[delivery]) {
        const auto key = std::ranges::find(part.keys, row->key, &ItemKey::key);
        if (key == part.keys.end() || key->fingerprint != row->fingerprint) continue;
        known = true;
        if (key != part.keys.begin()) continue;  // The effect belongs to the first of its keys.
        for (const auto& [name, change] : part.effect) sum[name] += change;
      }
    }
    if (!known) return Defect{"P1", "an inbox row speaks of an event that there never was"};
  }
  if (sum == world.model().cells()) return {};
  return Defect{"P1", "the inbox and the effects differ: by the inbox " + text_of(sum) +
                          ", committed " + text_of(world.model().cells())};
}

std::optional<Defect> Oracle::check_positions(World& world, const Claims& claims) const {
  const auto session = world.model().connect();
  const auto& source = world.machine(0).subscription->source.name;
  for (const Position& position : session->positions(world.consumer_id(), source)) {
    const std::size_t end = std::min<std::size_t>(position.next.low, parts_.size());
    for (std::size_t delivery = 0; delivery < end; ++delivery) {
      if (is_decided(delivery, claims)) continue;
      return Defect{"P3", "the position is " + std::to_string(position.next.low) +
                              ", and delivery " + std::to_string(delivery) +
                              " before it was neither applied nor set aside"};
    }
  }
  return {};
}

std::optional<Defect> Oracle::check_deferred(World& world, const Claims& claims) const {
  const auto deliveries = world.broker().deliveries();
  for (const DeferredRecord* row : deferred_of(world.model())) {
    const std::string name = "event " + event_name(row->event) + " was set aside ";
    const bool whole = std::ranges::any_of(deliveries, [&](const Delivery& delivery) {
      return delivery.raw == row->raw && delivery.event.id == row->event.id &&
             delivery.event.source == row->event.source;
    });
    if (!whole) return Defect{"P9", name + "without its bytes"};
    if (row->errors.empty() && row->reason != to_string(DeferralReason::behind)) {
      return Defect{"P9", name + "without a reason"};
    }
    if (row->reason != to_string(DeferralReason::conflict)) {
      const auto claim = claims.find(row->key);
      if (claim == claims.end() || !claim->second->waiting) {
        return Defect{"P9", name + "without a claim that waits"};
      }
      // Without an identity and a position repetitions are counted.
      const bool counted = row->event.id.empty() && !row->position;
      if (row->count != 1 && !counted) return Defect{"P9", name + "twice"};
    }
    if (row->source.empty()) return Defect{"P9", name + "without its source"};
    if (world.broker().is_log() && !row->position) {
      return Defect{"P9", name + "without its position"};
    }
  }
  return {};
}

std::optional<Defect> Oracle::check_invariants(World& world) const {
  if (world.spec().invariants.empty()) return {};
  Committed committed{.cells = world.model().cells(), .inbox = {}, .deferred = {}};
  for (const InboxRecord* row : inbox_of(world.model())) committed.inbox.push_back(*row);
  for (const DeferredRecord* row : deferred_of(world.model())) committed.deferred.push_back(*row);
  for (const Invariant& invariant : world.spec().invariants) {
    if (!invariant.holds(committed)) {
      return Defect{"invariant",
                    "'" + invariant.name + "' does not hold; cells: " + text_of(committed.cells)};
    }
  }
  return {};
}

std::optional<Defect> Oracle::check_expected(World& world) const {
  if (!world.spec().expected) return {};
  const Expected& expected = *world.spec().expected;
  if (world.model().cells() != expected.cells) {
    return Defect{"P3", "expected " + text_of(expected.cells) + ", committed " +
                            text_of(world.model().cells())};
  }
  std::map<std::string, std::string> set_aside;
  for (const DeferredRecord* row : deferred_of(world.model())) {
    set_aside.insert_or_assign(row->event.id, row->reason);
  }
  for (const auto& [id, reason] : expected.set_aside) {
    const auto found = set_aside.find(id);
    const std::string is = found == set_aside.end() ? "not set aside" : found->second;
    if (is != reason) {
      return Defect{reason == "conflict" ? "P11" : "P9",
                    "event " + id + " must be set aside as " + reason + ", and is " + is};
    }
  }
  if (set_aside.size() != expected.set_aside.size()) {
    return Defect{"P9", "an event is set aside that should not be"};
  }
  return {};
}

void Oracle::add_reference(World& world) {
  references_.emplace(world.model().digest(false), facts_of(world.model()));
  counts_.insert(world.worker(0).totals().by_outcome);
}

std::optional<Defect> Oracle::check_counts(const Totals& totals) const {
  if (counts_.contains(totals.by_outcome)) return {};
  std::string text = "the outcomes are counted wrongly:";
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const std::int64_t wanted = (*counts_.begin())[i];
    if (totals.by_outcome[i] == wanted) continue;
    text += std::string{" "} + to_string(static_cast<Outcome>(i)) + " " +
            std::to_string(totals.by_outcome[i]) + " instead of " + std::to_string(wanted) + ";";
  }
  return Defect{"counting", text};
}

std::optional<Defect> Oracle::check_end(World& world) const {
  if (auto defect = check_expected(world)) return defect;
  for (std::size_t i = 0; !world.broker().is_log() && i < parts_.size(); ++i) {
    if (world.broker().place(i) == Broker::Place::acknowledged) continue;
    return Defect{"liveness", "the broker still waits for an answer to delivery " +
                                  std::to_string(i) + ", and nobody will give it"};
  }
  if (world.spec().open_end) return {};
  if (references_.empty() || references_.contains(world.model().digest(false))) return {};
  const std::vector<std::string> found = facts_of(world.model());
  const std::vector<std::string>& wanted = references_.begin()->second;
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::ranges::set_difference(wanted, found, std::back_inserter(missing));
  std::ranges::set_difference(found, wanted, std::back_inserter(extra));
  std::string text = "the end differs from that of an undisturbed run:";
  for (const std::string& fact : missing) text += " [missing: " + fact + "]";
  for (const std::string& fact : extra) text += " [instead: " + fact + "]";
  if (missing.empty() && extra.empty()) text += " in positions or details";
  return Defect{missing.empty() ? "P1" : "P3", text};
}

}  // namespace onefold::lab
