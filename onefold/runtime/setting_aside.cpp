#include <algorithm>
#include <cmath>

#include "onefold/runtime/worker.h"

// What is set aside, and why; what waits behind it; and when it is not the events' fault.
//
// All of it is decided under the event's own claim, in the transaction that holds it
// (semantics 2.2, 3.2). Nothing here writes but through that transaction.

namespace onefold {
namespace {

/// How old what is known of a pause may be.
constexpr std::chrono::seconds pause_look_interval{1};

const RetryPolicy& policy_of(const Consumer& consumer, const HandlerSpec& handler) {
  return handler.retry ? *handler.retry : consumer.retry;
}

bool has_passed(const std::vector<Position>& found, const std::vector<Position>& reached) {
  return std::ranges::all_of(reached, [&](const Position& each) {
    return std::ranges::any_of(found, [&](const Position& one) {
      return *one.partition == *each.partition && one.next >= each.next;
    });
  });
}

}  // namespace

/// A failed event waits for another try, or for a person.
Outcome Worker::judge(Item& item, const HandlerSpec& handler, const Answer& answer) {
  item.failed_handler = handler.name;
  item.add_error(handler.name + ": " + answer.note, answer.failure);
  const RetryPolicy& policy = policy_of(subscription_.consumer, handler);
  const bool is_probe = item.waiting() != nullptr && item.waiting()->probe;
  if (is_probe && trips_breaker(answer.failure)) {
    // While the consumer is paused, nobody's attempts are used up.
    item.reason = DeferralReason::retry;
    item.retry_in = retry_pause(policy, std::max(1, item.attempts));
    return Outcome::deferred;
  }
  ++item.attempts;
  const bool permanent =
      !may_be_retried(answer.failure) ||
      std::ranges::find(policy.permanent, answer.failure) != policy.permanent.end();
  if (permanent || item.attempts >= policy.attempts) {
    item.reason = DeferralReason::dead;
    return Outcome::dead;
  }
  item.reason = DeferralReason::retry;
  item.retry_in = retry_pause(policy, item.attempts);
  return Outcome::deferred;
}

std::chrono::milliseconds Worker::retry_pause(const RetryPolicy& policy, int attempts) {
  const auto longest = static_cast<double>(policy.longest.count());
  const double whole = static_cast<double>(policy.initial.count()) *
                       std::pow(policy.factor, std::min(attempts - 1, 1000));
  std::uniform_real_distribution<double> spread{1 - policy.jitter, 1};
  return std::chrono::milliseconds{
      static_cast<std::int64_t>(std::min(whole, longest) * spread(random_))};
}

/// What something of the same entity stands in front of waits behind it, unrun.
void Worker::hold_back() {
  const std::span<Item> items = unit_.items();
  const auto may_wait = [](const Item& item) {
    const bool fresh = item.waiting() == nullptr || !item.held;
    return !item.outcome && !item.entity.empty() && (fresh || item.waiting()->reason == "behind");
  };
  std::vector<Front> fronts;
  for (const Item& item : items) {
    if (!may_wait(item)) continue;
    const auto known = std::ranges::find(fronts, item.entity, &Front::entity);
    if (known != fronts.end()) continue;  // The first of an entity has the smallest id.
    Front front{.entity = item.entity};
    if (item.waiting() != nullptr) front.before = item.waiting()->id;
    fronts.push_back(front);
  }
  if (fronts.empty()) return;
  const auto blocked = transaction_->waiting_room().blocked(subscription_.id, fronts);
  for (std::size_t i = 0; i < fronts.size(); ++i) {
    if (blocked[i]) fronts_.emplace(fronts[i].entity);
  }
}

/// An earlier event of its entity waits.
bool Worker::overtakes(const Item& item) const {
  if (!subscription_.consumer.order || item.entity.empty() || !fronts_.contains(item.entity)) {
    return false;
  }
  // What is tried again at its own time is in front itself.
  const Waiting* const waiting = item.waiting();
  return waiting == nullptr || !item.held || waiting->reason == "behind";
}

void Worker::put_behind(Item& item) {
  item.reason = DeferralReason::behind;
  settle(item, Outcome::deferred);
}

/// What was taken and is done with leaves; the rest has been set aside anew.
///
/// A replay of a range is counted with the positions that it counts up to, so that its report is
/// true whoever is killed. Counting locks the replay: of two processes that drive it, the second
/// sees afterwards that the positions have moved, and begins anew. A commit in doubt that has
/// worked has counted already.
void Worker::settle_waiting() {
  WaitingRoom& room = transaction_->waiting_room();
  if (subscription_.replay) {
    ReplayTally tally{.replay = subscription_.replay->id};
    if (!in_doubt_.empty()) room.tally({&tally, 1});
    const bool counted =
        !in_doubt_.empty() &&
        has_passed(committed_positions(connection_.session(), subscription_), unit_.positions());
    if (counted) return;
    tally = unit_.tally_of_all(tally.replay);
    return room.tally({&tally, 1});
  }
  const std::vector<Key> provisional = unit_.provisional_keys();
  if (!provisional.empty()) transaction_->ledger().withdraw(provisional);
  const std::vector<std::int64_t> leavers = unit_.leavers();
  if (!leavers.empty()) room.leave(leavers);
  const std::vector<ReplayTally> tallies = unit_.tallies();
  if (!tallies.empty()) room.tally(tallies);
  for (const Item& item : unit_.items()) {
    if (item.waiting() == nullptr || !item.waiting()->probe || item.gone) continue;
    const bool worked = !item.is_set_aside() || !trips_breaker(item.failure);
    room.probed(subscription_.id, worked, subscription_.consumer.breaker.probe);
  }
}

/// Many different events that fail the same way are not at fault: the consumer pauses, and what it
/// has just set aside for that waits for another try instead of a person.
void Worker::pause_if_many_fail() {
  trip_ = breaker_.judge(unit_.items(), recorded_at_);
  if (!trip_) return;
  std::string example;
  for (Item& item : unit_.items()) {
    const bool same = item.is_set_aside() && item.reason != DeferralReason::behind &&
                      item.failure == trip_->failure && !item.committed;
    if (!same) continue;
    example = item.errors.back();
    item.outcome = Outcome::deferred;
    item.reason = DeferralReason::retry;
    item.retry_in = std::chrono::milliseconds{0};
    item.attempts = 0;
  }
  const std::string reason = std::to_string(trip_->failures) + " of the last " +
                             std::to_string(trip_->events) + " events failed the same way (" +
                             to_string(trip_->failure) + "): " + example;
  transaction_->waiting_room().pause({.consumer = subscription_.id,
                                      .who = "breaker",
                                      .reason = reason,
                                      .failure = trip_->failure,
                                      .failing_since = trip_->since,
                                      .probe_in = subscription_.consumer.breaker.probe});
}

/// Whether the consumer takes no events. Of the waiting room, the source asks by itself.
bool Worker::is_paused() {
  if (subscription_.of_waiting) return false;
  const auto now = clock_.ticks();
  if (now < pause_looked_at_ + pause_look_interval &&
      pause_looked_at_.time_since_epoch().count() != 0) {
    return paused_.has_value();
  }
  const bool was_paused = paused_.has_value();
  try {
    paused_ = connection_.session().pause(subscription_.id);
  } catch (const Error& error) {
    if (error.needs_reconnect()) connection_.drop();
    throw;
  }
  pause_looked_at_ = now;
  if (paused_ && !was_paused) {
    say(Severity::warning, "is paused: " + paused_->reason +
                               "; nothing is lost; single events are tried, and it goes on when "
                               "one of them works");
  }
  if (!paused_ && was_paused) say(Severity::info, "is no longer paused");
  return paused_.has_value();
}

}  // namespace onefold
