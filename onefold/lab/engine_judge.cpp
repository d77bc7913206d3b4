#include "onefold/lab/engine.h"

// What has come of a step, and of the whole.

namespace onefold::lab {

void Engine::judge() {
  if (defect_) return;
  note_handed(actor_);
  const memory::Insight insight = world_.model().insight();
  if (insight.deadlocks != deadlocks_) {
    deadlocks_ = insight.deadlocks;
    reach(Landmark::deadlock);
    for (std::size_t number = 0; number < world_.size(); ++number) world_.touch(number);
  }
  if (insight.versions != versions_) {
    versions_ = insight.versions;
    notice_change();
  }
  const std::vector<std::size_t> settled = world_.broker().take_settled();
  if (settled.empty()) return;
  if (timeline_ != nullptr) timeline_->note_settled(world_, settled);
  // A log does not care what was acknowledged before the database went back.
  const bool counts = !restored_ || !world_.broker().is_log();
  if (!defect_ && counts && !world_.spec().stops) {
    defect_ = oracle_.check_settled(world_, settled);
  }
}

void Engine::notice_change() {
  if (timeline_ != nullptr) timeline_->note_database(world_);
  if (world_.spec().faults.restore + world_.spec().faults.promote > 0) {
    remember();
  }
  defect_ = oracle_.check_committed(world_);
  if (world_.spec().waiters == 0) return;
  world_.model().visit([](const InboxRecord&) {},
                       [this](const DeferredRecord& row) {
                         if (row.reason == to_string(DeferralReason::behind)) {
                           reach(Landmark::behind);
                         }
                       });
}

void Engine::note_handed(std::size_t number) {
  const std::vector<std::size_t> handed = world_.broker().take_handed();
  if (handed.empty()) return;
  if (timeline_ != nullptr) timeline_->note_handed(world_, number, handed);
  constexpr auto before = static_cast<std::size_t>(Landmark::duplicate_before_commit);
  constexpr auto after = static_cast<std::size_t>(Landmark::duplicate_after_commit);
  if (reached_.test(before) && reached_.test(after)) return;
  const auto deliveries = world_.broker().deliveries();
  for (const std::size_t delivery : handed) {
    if (oracle_.is_decided(world_, delivery)) {
      reach(Landmark::duplicate_after_commit);
      continue;
    }
    for (std::size_t other = 0; other < deliveries.size(); ++other) {
      if (other == delivery || world_.broker().place(other) != Broker::Place::in_hand) continue;
      if (deliveries[other].event.id == deliveries[delivery].event.id) {
        reach(Landmark::duplicate_before_commit);
      }
    }
  }
}

void Engine::finish(bool quiet) {
  if (defect_) return;
  if (!quiet) {
    defect_ = Defect{"liveness", stuck()};
    return;
  }
  if (world_.spec().stops) return;
  defect_ = oracle_.check_end(world_);
  if (defect_) return;
  check_totals();
  if (restored_) reach(Landmark::restore_healed);
  if (lost_acknowledgement_) reach(Landmark::lost_acknowledgement);
  world_.model().visit(
      [](const InboxRecord&) {},
      [this](const DeferredRecord& row) {
        reach(row.reason == "conflict" ? Landmark::conflict : Landmark::dead_letter);
      });
}

/// Each delivery has exactly one outcome, unless it was handed out again.
void Engine::check_totals() {
  Totals totals = totals_;
  for (std::size_t number = 0; number < world_.size(); ++number) {
    if (world_.machine(number).worker) totals += world_.machine(number).worker->totals();
  }
  // How often something is tried depends on the schedule.
  if (counts_are_exact_ && world_.spec().waiters == 0) defect_ = oracle_.check_counts(totals);
}

std::string Engine::stuck() const {
  if (steps_ > steps_max) {
    return "after " + std::to_string(steps_max) + " steps there is still something to do";
  }
  std::string text = "nobody can go on:";
  for (std::size_t number = 0; number < world_.size(); ++number) {
    if (!world_.has_in_hand(number)) continue;
    text +=
        " worker " + std::to_string(number) + " is before '" + to_string(world_.next(number)) + "'";
    if (world_.is_blocked(number)) text += ", waiting for another session";
    text += ';';
  }
  return text;
}

}  // namespace onefold::lab
