#include <algorithm>
#include <functional>

#include "onefold/runtime/worker.h"

// What happens when a step fails: the transaction is dropped and the deliveries are kept.
//
// * A lost race, a deadlock, a refused commit: the unit is repeated, smaller; nobody is blamed.
// * The database is away, or a commit in doubt: a new session is opened, and the unit repeated.
// * A handler's own failure: a rerun with a savepoint per event, so that exactly it is set aside.
// * The source is away: it is opened again, and what it had handed out is forgotten.
// * A broken contract, a configuration that cannot work: the consumer stops.

namespace onefold {
namespace {
constexpr std::chrono::milliseconds first_pause{5};
constexpr std::chrono::milliseconds longest_pause{2000};

std::uint32_t seed_of(const Subscription& subscription, std::uint32_t worker) {
  const std::string name = subscription.consumer.name + '/' + subscription.source.name;
  return static_cast<std::uint32_t>(std::hash<std::string>{}(name)) + worker;
}
}  // namespace

Worker::Worker(const Subscription& subscription, Connection& connection, Clock& clock,
               Options options)
    : subscription_{subscription},
      connection_{connection},
      clock_{clock},
      options_{std::move(options)},
      identifier_{subscription.consumer, subscription.id, subscription.source.name,
                  KeyRule{subscription.id_prefixes}},
      unit_max_{subscription.consumer.batch_max},
      plan_{base_plan()},
      breaker_{subscription.consumer.breaker},
      random_{seed_of(subscription, options_.number)},
      backoff_{first_pause, longest_pause, seed_of(subscription, options_.number)} {}

Worker::~Worker() = default;

Worker::Plan Worker::base_plan() const noexcept {
  return subscription_.mode == ClaimMode::optimistic ? Plan::optimistic : Plan::claim_first;
}

ClaimMode Worker::claim_mode() const noexcept {
  return plan_ == Plan::optimistic ? ClaimMode::optimistic : ClaimMode::claim_first;
}

StepResult Worker::fail(const Error& error) {
  const bool source_failed = step_ == Step::receive;
  const bool was_open = step_ != Step::identify && step_ != Step::begin;
  transaction_.reset();
  switch (error.kind()) {
    case ErrorKind::contract_violation:
    case ErrorKind::bad_configuration:
      stop(error);
    case ErrorKind::permanent:
      if (!blame(error)) stop(error);
      return StepResult::progressed;
    case ErrorKind::contention:
    case ErrorKind::unavailable:
    case ErrorKind::commit_in_doubt:
      break;
  }
  if (source_failed) {
    lose_source(error);
  } else {
    repeat(error, was_open);
  }
  return StepResult::waiting;
}

/// A handler's own failure that surfaced where it could not be told whose it was.
/// Returns false if no handler can have caused it.
bool Worker::blame(const Error& error) {
  // What is queued surfaces at the next call that waits, which may be the look at the position. In
  // a rerun every event was sealed before.
  const bool handlers_ran = step_ == Step::handle || step_ == Step::seal || step_ == Step::record ||
                            step_ == Step::commit ||
                            (step_ == Step::advance && plan_ != Plan::rerun);
  if (!handlers_ran) return false;
  if (plan_ != Plan::rerun) {
    rerun();
    return true;
  }
  // Events that fit alone but not together are told apart by smaller and smaller transactions. One
  // that fails at COMMIT although it is alone (a deferred constraint) is dead under its claim.
  const std::span<Item> items = unit_.items();
  if (items.size() > 1) {
    unit_max_ = std::max<std::size_t>(1, items.size() / 8);
  } else if (items.front().verdict) {
    return false;
  } else {
    Item& item = items.front();
    item.verdict =
        judge(item, *item.route->handlers.back(), Answer::fail(error.failure(), error.what()));
  }
  start_unit(unit_first_);
  step_ = Step::begin;
  return true;
}

/// From here to the end of the batch: claim-first, few events a transaction, each behind a
/// savepoint.
void Worker::rerun() {
  transaction_.reset();
  plan_ = Plan::rerun;
  unit_max_ = options_.rerun_max;
  start_unit(unit_first_);
  step_ = Step::begin;
}

/// Nobody is to blame. The same deliveries again, after a pause: what had been committed is found
/// by its claim.
void Worker::repeat(const Error& error, bool was_open) {
  if (plan_ == Plan::optimistic) plan_ = Plan::claim_first;
  if (error.needs_reconnect()) {
    connection_.drop();
    step_ = Step::identify;
  } else if (was_open) {
    // Smaller, so that rivals collide less.
    unit_max_ = std::max<std::size_t>(1, unit_.items().size() / 2);
    start_unit(unit_first_);
    step_ = Step::begin;
  }
  const auto pause = backoff_.next();
  ready_at_ = clock_.ticks() + pause;
  const int failures = backoff_.failures();
  if ((failures & (failures - 1)) != 0) return;  // Said at the 1st, 2nd, 4th, 8th … failure.
  say(error.kind() == ErrorKind::contention ? Severity::info : Severity::warning,
      std::string{error.what()} + "; nothing is lost, trying again (failure " +
          std::to_string(failures) + ")");
}

/// The handler and the event it ran for, if it is known, and the events of its transaction.
std::string Worker::who_broke_it() const {
  constexpr std::size_t ids_bytes_max = 400;
  const std::span<Item> items = unit_.items();
  std::string who;
  std::string ids;
  for (const Item& item : items) {
    if (ids.size() < ids_bytes_max) ids += " " + item.delivery->event.id;
    const std::string names = item.route != nullptr ? item.route->handled_by : std::string{};
    if (!names.empty() && who.find(names) == std::string::npos) who += " " + names;
  }
  if (step_ == Step::handle && item_ < items.size()) {
    const Item& item = items[item_];
    who = " " + item.route->handlers[handler_]->name + ", event " + item.delivery->event.id;
  }
  return " (handler" + who + "; events of the batch:" + ids + ")";
}

void Worker::stop(const Error& error) {
  std::string text = "consumer '" + subscription_.consumer.name + "' stops: " + error.what();
  if (error.contract_violation()) text += who_broke_it();
  step_ = Step::stopped;
  // What no handler can have caused is no event's fault either: a person has to change something.
  const bool nobodys = error.kind() == ErrorKind::permanent;
  throw Error{nobodys ? ErrorKind::bad_configuration : error.kind(), text};
}

void Worker::lose_source(const Error& error) {
  source_.reset();
  forget_batch();
  ready_at_ = clock_.ticks() + backoff_.next();
  say(Severity::warning, std::string{error.what()} + "; the source is opened again");
}

void Worker::forget_batch() {
  items_.clear();
  deliveries_.clear();
  unit_ = Unit{};
  unit_first_ = 0;
  plan_ = base_plan();
  unit_max_ = subscription_.consumer.batch_max;
  step_ = Step::receive;
}

void Worker::open_source() {
  const auto positions = [this] {
    try {
      std::vector<Position> stored = committed_positions(connection_.session(), subscription_);
      expected_.clear();
      for (const Position& position : stored) expected_[*position.partition] = position.next;
      return stored;
    } catch (const Error& error) {
      if (error.needs_reconnect()) connection_.drop();
      throw;
    }
  };
  source_ = subscription_.source.open({.positions = positions, .notify = options_.notify});
}

/// True once after each new session: what the old one has told is forgotten.
bool Worker::reconnected() {
  if (connection_.generation() == generation_) return false;
  identifier_.forget_scopes();
  return true;
}

/// Whether the database stands somewhere else than this worker knows it to stand: neither where it
/// has committed nor where a commit in doubt would have brought it. Then it was restored, or has
/// lost commits (P10).
bool Worker::position_moved() {
  if (subscription_.source.traits.kind != SourceClass::owned_log) return false;
  PartitionOffsets found;
  for (const Position& position : committed_positions(connection_.session(), subscription_)) {
    found[*position.partition] = position.next;
  }
  return std::ranges::any_of(expected_, [&](const auto& known) {
    const auto now = found.find(known.first);
    if (now == found.end()) return true;
    const auto doubted = in_doubt_.find(known.first);
    const bool has_worked = doubted != in_doubt_.end() && now->second == doubted->second;
    return now->second != known.second && !has_worked;
  });
}

/// After a new session: an owned log is read again from where the database stands. This comes
/// before the deliveries in hand are run again, since their positions would jump over what was
/// lost.
bool Worker::database_went_back() {
  const std::uint64_t generation = connection_.generation();
  const bool moved = position_moved();
  if (moved) {
    source_->reposition();
    // Of a replay, another process that drives it may have gone on.
    if (!subscription_.replay) {
      say(Severity::warning,
          "DATA_LOSS_SUSPECTED: the database no longer has the position that this process has "
          "committed; the source is read again from the position that it has");
    }
  }
  generation_ = generation;
  return moved;
}

void Worker::say(Severity severity, const std::string& text) const {
  if (!options_.notify) return;
  options_.notify({severity, "consumer '" + subscription_.consumer.name + "', source '" +
                                 subscription_.source.name + "': " + text});
}

const char* to_string(Step step) noexcept {
  switch (step) {
    case Step::receive:
      return "receive";
    case Step::identify:
      return "identify";
    case Step::begin:
      return "begin";
    case Step::claim:
      return "claim";
    case Step::handle:
      return "handle";
    case Step::seal:
      return "seal";
    case Step::record:
      return "record";
    case Step::advance:
      return "advance";
    case Step::commit:
      return "commit";
    case Step::acknowledge:
      return "acknowledge";
    case Step::stopped:
      return "stopped";
  }
  return "stopped";
}

}  // namespace onefold
