#include "onefold/runtime/worker.h"

#include <algorithm>
#include <utility>

#include "onefold/runtime/crash_file.h"
#include "onefold/runtime/handler_call.h"

// The guarantee, to be read from top to bottom.
//
//   receive → identify → begin → claim → handle → record → advance → commit → acknowledge
//
// * The key of each event is claimed in the transaction that also holds its business change (claim,
//   handle, record): either both commit or neither does, so an event is applied at most once (P1).
// * The source is told "done" in one place, `acknowledge`, and the only way there leads through a
//   COMMIT that the database has confirmed (P2, P3).
// * Any failure drops the transaction and runs the same deliveries again; the claims tell what had
//   been committed (P4). What else it leads to is in failure.cpp.
//
// A *batch* is what one `receive` returned, a *unit* the part of it in one transaction: normally
// all of it. The *plan* says how a unit is run. `optimistic` looks keys up and inserts them at the
// end, `claim_first` inserts them before the handlers run; a `rerun`, after a handler has failed,
// claims first too, has at most 64 events a unit, and each behind a savepoint, with the extra step
// `seal`.

namespace onefold {
namespace {
RunId run_of(const Careful* careful) {
  return careful != nullptr ? careful->run() : 0;
}
}  // namespace

StepResult Worker::step() {
  if (clock_.ticks() < ready_at_) return StepResult::waiting;
  try {
    switch (step_) {
      case Step::receive:
        return receive();
      case Step::identify:
        identify();
        break;
      case Step::begin:
        begin();
        break;
      case Step::claim:
        claim();
        break;
      case Step::handle:
        handle();
        break;
      case Step::seal:
        seal();
        break;
      case Step::record:
        record();
        break;
      case Step::advance:
        advance();
        break;
      case Step::commit:
        commit();
        break;
      case Step::acknowledge:
        acknowledge();
        break;
      case Step::stopped:
        return StepResult::idle;
    }
  } catch (const Error& error) {
    return fail(error);
  }
  return StepResult::progressed;
}

/// Takes what has arrived. Bytes that could not be decoded come along, as deliveries with a defect.
StepResult Worker::receive() {
  Careful* const careful = options_.careful;
  if (careful != nullptr) careful->before_receive();
  if (is_paused()) {
    if (source_) source_->receive(0, options_.patience);
    return StepResult::idle;
  }
  if (!source_) open_source();
  const std::size_t most = subscription_.consumer.batch_max;
  std::vector<Delivery> deliveries =
      source_->receive(careful != nullptr ? careful->at_most(most) : most, options_.patience);
  if (deliveries.empty()) {
    if (careful != nullptr) careful->rest(source_->at_end());
    return StepResult::idle;
  }
  deliveries_ = std::move(deliveries);
  items_.clear();
  items_.reserve(deliveries_.size());
  identifier_.trim();
  for (const Delivery& delivery : deliveries_) identifier_.open(delivery, items_);
  unit_first_ = 0;
  unit_ = Unit{};
  in_doubt_.clear();
  step_ = Step::identify;
  return StepResult::progressed;
}

/// Which effect must happen once: key, fingerprint, handlers. Before the transaction, since a new
/// scope gets its number in a transaction of its own.
void Worker::identify() {
  Session& session = connection_.session();
  if (reconnected() && database_went_back()) {
    forget_batch();
    return;
  }
  for (std::span rest = std::span{items_}.subspan(unit_first_); !rest.empty();) {
    const auto last = std::ranges::find_if(rest, &Item::last_part);
    const auto parts = static_cast<std::size_t>(last - rest.begin()) + 1;
    identifier_.identify(rest.first(parts), session);
    rest = rest.subspan(parts);
  }
  if (Careful* careful = watchful()) careful->condemn(std::span{items_}.subspan(unit_first_));
  start_unit(unit_first_);
  step_ = Step::begin;
}

/// One transaction holds everything that follows.
void Worker::begin() {
  if (connection_.generation() != generation_) {
    step_ = Step::identify;  // Another worker lost the session that our scopes came from.
    return;
  }
  if (Careful* careful = watchful()) careful->hold(unit_.items());
  transaction_ = connection_.session().begin();
  unit_.restart();
  item_ = handler_ = 0;
  touched_ = false;
  fronts_.clear();
  trip_.reset();
  step_ = Step::claim;
}

/// Whose event is it? The inbox's unique key decides; a known key is a duplicate or a conflict.
/// What has waited has its key already: the first to take it has the event.
void Worker::claim() {
  if (subscription_.of_waiting) {
    unit_.settle_tickets(transaction_->waiting_room().take(unit_.tickets()));
  }
  const std::vector<Evidence> wanted = unit_.wanted(recorded_at_);
  const std::vector<Claim> claims = transaction_->ledger().claim(wanted, claim_mode());
  unit_.settle_claims(claims);
  if (plan_ != Plan::optimistic) transaction_->ledger().withdraw(unit_.unheld());
  if (subscription_.consumer.order) {
    hold_back();
  }
  if (plan_ == Plan::rerun) transaction_->savepoint();
  step_ = Step::handle;
}

/// The business change of one event, by one handler a step.
void Worker::handle() {
  const std::span<Item> items = unit_.items();
  while (item_ < items.size() && items[item_].outcome) ++item_;
  if (item_ == items.size()) {
    step_ = Step::record;
    return;
  }
  Item& item = items[item_];
  if (overtakes(item)) {
    put_behind(item);
    return;
  }
  const HandlerSpec& handler = *item.route->handlers[handler_];
  if (plan_ != Plan::rerun && handler.handle_batch) {
    const std::vector<Item*> together = those_together_with(item);
    if (together.size() > 1) {
      handle_together(handler, together);
      return;
    }
  }
  Answer answer = run(handler, item);
  if (answer.kind != Answer::Kind::done) {
    refuse(item, handler, answer);
    return;
  }
  if (!answer.note.empty()) item.result += (item.result.empty() ? "" : "\n") + answer.note;
  if (++handler_ < item.route->handlers.size()) return;
  if (plan_ == Plan::rerun) {
    step_ = Step::seal;
  } else {
    settle(item, Outcome::applied);
  }
}

/// In a rerun each event stands alone: what its handlers queued has to finish before it counts.
void Worker::seal() {
  Item& item = unit_.items()[item_];
  try {
    transaction_->savepoint();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::permanent) throw;
    touched_ = true;
    refuse(item, *item.route->handlers.back(), Answer::fail(error.failure(), error.what()));
    return;
  }
  settle(item, Outcome::applied);
  step_ = Step::handle;
}

/// The evidence, and the bytes of what is set aside, beside the change they speak of. A claim made
/// first says "applied" already, so that only what turned out otherwise is written again.
void Worker::record() {
  if (!subscription_.of_waiting) pause_if_many_fail();
  Ledger& ledger = transaction_->ledger();
  const std::vector<Evidence> evidence = unit_.evidence(recorded_at_, claim_mode());
  if (!evidence.empty()) ledger.record(evidence, claim_mode());
  const std::vector<Deferral> deferrals =
      unit_.deferrals(subscription_.id, subscription_.source.name, recorded_at_);
  if (!deferrals.empty()) ledger.defer(deferrals);
  if (subscription_.of_waiting || subscription_.replay) settle_waiting();
  step_ = Step::advance;
}

/// Where to go on after a restart or a restore, true exactly if the rest is.
void Worker::advance() {
  if (position_moved()) {
    throw Error{ErrorKind::unavailable,
                "the position in the database is not the one that this process has committed"};
  }
  // The waiting room acknowledges nothing, and has no position: its rows are its truth.
  if (!subscription_.of_waiting) {
    transaction_->ledger().advance(subscription_.id,
                                   positions_to_store(unit_.positions(), subscription_));
  }
  step_ = Step::commit;
}

/// One batch, one truth. Only a confirmed COMMIT leads on; anything else runs the unit again.
void Worker::commit() {
  const CommitAnswer answer = transaction_->commit();
  transaction_.reset();
  const std::string why = answer.why.empty() ? "" : ": " + answer.why;
  switch (answer.result) {
    case CommitResult::committed:
      step_ = Step::acknowledge;
      return;
    case CommitResult::refused:
      throw Error{ErrorKind::contention, "the database refused to commit" + why};
    case CommitResult::in_doubt:
      for (Item& item : unit_.items()) {
        item.in_doubt = Item::InDoubt{item.outcome.value_or(Outcome::applied), recorded_at_};
      }
      for (const Position& position : unit_.positions()) {
        in_doubt_[*position.partition] = position.next;
      }
      throw Error{ErrorKind::commit_in_doubt,
                  "it is not known whether the COMMIT has worked" + why};
  }
}

/// The only place that tells the source "done". It may be lost: the next delivery is a duplicate.
void Worker::acknowledge() {
  const std::vector<Settled> settled = unit_.settled();
  for (const Position& position : unit_.positions()) expected_[*position.partition] = position.next;
  for (const Settled& one : settled) ++totals_.by_outcome.at(static_cast<std::size_t>(one.outcome));
  backoff_.reset();
  if (Careful* careful = watchful()) careful->note_settled(unit_.items());
  breaker_.note(unit_.items(), recorded_at_);
  if (trip_) {
    breaker_.forget();
    pause_looked_at_ = {};
  }
  unit_first_ += unit_.items().size();
  try {
    source_->acknowledge(settled);
  } catch (const Error& error) {
    lose_source(error);
    return;
  }
  if (unit_first_ < items_.size()) {
    start_unit(unit_first_);
    step_ = Step::begin;
    return;
  }
  plan_ = base_plan();
  unit_max_ = subscription_.consumer.batch_max;
  step_ = Step::receive;
}

/// What a handler answers for one event. What it throws is an answer too, unless it is nobody's
/// fault. A failure that it caught and kept to itself counts all the same.
Answer Worker::run(const HandlerSpec& handler, Item& item) {
  Context context{*transaction_};
  const InHand in_hand{run_of(options_.careful), subscription_.consumer.name, handler.name,
                       &item.key.key};
  Answer answer = answer_to(item.delivery->event, handler, context);
  try {
    transaction_->verify();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::permanent) throw;
    answer = Answer::fail(error.failure(), error.what());
  }
  touched_ = touched_ || context.touched();
  return answer;
}

/// The events that a batch handler gets in one call: those that come next and lead to it alone.
std::vector<Item*> Worker::those_together_with(Item& first) const {
  std::vector<Item*> together;
  for (Item& item : unit_.items().subspan(item_)) {
    if (item.outcome || overtakes(item)) continue;
    if (item.route->handlers != first.route->handlers || item.route->handlers.size() != 1) break;
    together.push_back(&item);
  }
  return together;
}

/// One call for several events. If one of them cannot be applied, a rerun finds out which.
void Worker::handle_together(const HandlerSpec& handler, const std::vector<Item*>& items) {
  std::vector<const Event*> events;
  for (const Item* item : items) events.push_back(&item->delivery->event);
  Context context{*transaction_};
  const InHand in_hand{run_of(options_.careful), subscription_.consumer.name, handler.name,
                       nullptr};
  auto answers = answers_to(events, handler, context);
  const auto not_done = [](const Answer& answer) { return answer.kind != Answer::Kind::done; };
  if (answers && std::ranges::none_of(*answers, not_done)) transaction_->verify();
  if (!answers || std::ranges::any_of(*answers, not_done)) {
    rerun();
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i]->result = std::move((*answers)[i].note);
    items[i]->outcome = Outcome::applied;
  }
}

/// An event is blamed only while its claim is held and nothing of it remains: in the fast path a
/// refusal that has touched the database first leads to a rerun (semantics 3.2, 3.3).
void Worker::refuse(Item& item, const HandlerSpec& handler, const Answer& answer) {
  if (touched_ && plan_ != Plan::rerun) {
    rerun();
    return;
  }
  if (touched_) transaction_->rollback_to_savepoint();
  touched_ = false;
  handler_ = 0;
  item.result.clear();
  step_ = Step::handle;
  settle(item, judge(item, handler, answer));
}

void Worker::settle(Item& item, Outcome outcome) {
  item.outcome = outcome;
  if (outcome == Outcome::deferred && !item.entity.empty()) fronts_.insert(item.entity);
  ++item_;
  handler_ = 0;
  touched_ = false;
}

/// Asked for each event and each transaction; null as long as nobody is suspected.
Careful* Worker::watchful() const noexcept {
  Careful* const careful = options_.careful;
  return careful != nullptr && !careful->is_calm() ? careful : nullptr;
}

void Worker::start_unit(std::size_t first) {
  std::size_t size = std::min(unit_max_, items_.size() - first);
  if (const Careful* careful = watchful()) size = careful->at_most(size);
  unit_first_ = first;
  unit_ = Unit{std::span{items_}.subspan(first, size)};
  // What is in doubt keeps its time, by which its claims are recognised.
  const auto& in_doubt = items_[first].in_doubt;
  recorded_at_ = in_doubt ? in_doubt->recorded_at : clock_.now();
}

}  // namespace onefold
