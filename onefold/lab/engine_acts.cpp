#include "onefold/lab/engine.h"

// What was chosen happens.

namespace onefold::lab {
namespace {

std::string in_words(const Option& option) {
  const std::string who = "worker " + std::to_string(option.who);
  switch (option.act) {
    case Act::step:
      return who + " goes on instead";
    case Act::crash:
      return who + " crashes";
    case Act::crash_all:
      return "the process crashes";
    case Act::disconnect:
      return who + " loses its session";
    case Act::redeliver:
      return "delivery " + std::to_string(option.what) + ", in the hands of " + who +
             ", is delivered again";
    case Act::revoke:
      return "the partition moves away from " + who;
    case Act::restore:
      return "the database is restored to " + std::to_string(option.what) + " commits ago";
    case Act::promote:
      return "a failover loses the last commit";
    case Act::clock_jump:
      return "the clock jumps by " + std::to_string(option.what) + " hours";
    default:
      return to_string(option.act);
  }
}

}  // namespace

void Engine::describe(const Option& option) {
  const bool within = option.act > Act::clock_jump;
  const std::string where = within ? " (worker " + std::to_string(actor_) + ")" : "";
  timeline_->note_cause("before step " + std::to_string(steps_ + (within ? 0 : 1)) + ": " +
                        in_words(option) + where);
}

void Engine::act(const Option& option) {
  const auto who = static_cast<std::size_t>(option.who);
  if (timeline_ != nullptr) {
    timeline_->begin(steps_);
    if (option.act != Act::step) {
      option.who >= 0 ? timeline_->note(who, in_words(option))
                      : timeline_->note_all(in_words(option));
    }
  }
  switch (option.act) {
    case Act::step:
      step(who);
      return;
    case Act::crash:
      --left_.crash;
      counts_are_exact_ = false;
      if (world_.next(who) > Step::claim) reach(Landmark::crash_in_hand);
      if (world_.machine(who).worker) totals_ += world_.machine(who).worker->totals();
      world_.crash(who);
      return;
    case Act::crash_all:
      --(left_.crash_all > 0 ? left_.crash_all : left_.crash);
      counts_are_exact_ = false;
      reach(Landmark::crash_in_hand);
      world_.crash_all();
      return;
    case Act::disconnect:
      --left_.disconnect;
      world_.disconnect(who);
      return;
    case Act::redeliver:
      --left_.redelivery;
      counts_are_exact_ = false;
      world_.broker().redeliver(static_cast<std::size_t>(option.what));
      return;
    case Act::revoke:
      --left_.revoke;
      counts_are_exact_ = false;
      if (world_.has_in_hand(who)) zombie_ = who;
      world_.broker().revoke();
      return;
    case Act::restore:
      --left_.restore;
      restore(static_cast<std::size_t>(option.what));
      return;
    case Act::promote:
      --left_.promote;
      restore(static_cast<std::size_t>(option.what));
      return;
    case Act::clock_jump:
      --left_.clock_jump;
      for (std::size_t i = 0; i < world_.size(); ++i) {
        world_.machine(i).clock.jump(std::chrono::hours{option.what});
      }
      return;
    default:
      act_on_waiting(option.act);
  }
}

/// What time and people do to events that wait.
void Engine::act_on_waiting(Act act) {
  if (act == Act::early) {
    --left_.early;
    world_.model().pass_time();
  } else if (act == Act::replay) {
    --left_.replay;
    reach(Landmark::replayed);
    world_.replay_dead();
  } else {
    --left_.discard;
    world_.discard_first();
  }
}

void Engine::step(std::size_t number) {
  Machine& machine = world_.machine(number);
  current_ = actor_ = number;
  const Step what = world_.next(number);
  Worker& worker = world_.worker(number);
  const Totals before = worker.totals();
  memory::Model& model = world_.model();
  model.mark_step(world_.port(number).session());
  trace_.add(static_cast<std::uint64_t>(what));
  if (timeline_ != nullptr) timeline_->note(number, to_string(what));
  try {
    const StepResult result = worker.step();
    machine.blocked_by = 0;
    trace_.add(static_cast<std::uint64_t>(result));
    if (result == StepResult::waiting) {
      machine.clock.end_pause();
      // Others go first while it pauses.
      current_ = (number + 1) % world_.size();
      if (zombie_ == number) reach(Landmark::zombie_refused);
      if (timeline_ != nullptr) timeline_->note(number, "failed, will try again");
    }
    if (worker.next() == Step::seal) reach(Landmark::rerun);
    if (machine.of_waiting) {
      const auto more = [&](Outcome outcome) { return worker.totals()[outcome] > before[outcome]; };
      if (more(Outcome::applied)) reach(Landmark::retried);
      if (more(Outcome::duplicate)) reach(Landmark::settled_by_another);
    }
  } catch (const memory::Blocked& blocked) {
    step_blocked(number, blocked.holder);
  } catch (const Error& error) {
    machine.stopped = true;
    reach(Landmark::stopped);
    if (!world_.spec().stops)
      defect_ = Defect{"P3", std::string{"a worker stopped: "} + error.what()};
  } catch (const std::exception& error) {
    defect_ = Defect{"invariant", std::string{"the runtime broke: "} + error.what()};
  }
  world_.touch(number);
}

void Engine::step_blocked(std::size_t number, int holder) {
  Machine& machine = world_.machine(number);
  const bool in_handler = world_.next(number) == Step::handle;
  world_.model().undo_step(world_.port(number).session(),
                           in_handler ? memory::Redo::rest : memory::Redo::all);
  machine.blocked_by = holder;
  machine.blocked_during = world_.model().transaction(holder);
  reach(Landmark::blocked);
  trace_.add("blocked");
  if (timeline_ == nullptr) return;
  for (std::size_t other = 0; other < world_.size(); ++other) {
    if (world_.port(other).session() == holder) {
      timeline_->note(number, "has to wait for worker " + std::to_string(other));
    }
  }
}

void Engine::remember() {
  history_.push_back(
      {world_.model().snapshot(), world_.broker().past(), world_.model().digest(false)});
}

void Engine::restore(std::size_t commits_back) {
  counts_are_exact_ = false;
  restored_ = true;
  restarted_ = false;
  const std::size_t place = history_.size() - 1 - commits_back;
  const Past past = history_[place];
  history_.resize(place + 1);
  world_.model().restore(past.database);
  if (!world_.broker().is_log()) world_.broker().restore(past.broker);
  for (std::size_t number = 0; number < world_.size(); ++number) {
    world_.port(number).note_broken();
    world_.touch(number);
  }
  versions_ = world_.model().insight().versions;
  if (timeline_ != nullptr) timeline_->note_database(world_);
}

/// A worker that has nothing to do does not look whether its database has gone back: the next event
/// or the next start does.
void Engine::restart() {
  restarted_ = true;
  world_.crash_all();
  if (timeline_ == nullptr) return;
  timeline_->begin(steps_);
  timeline_->note_all("is started anew");
}

memory::CommitFate Engine::commit_fate() {
  using memory::CommitFate;
  if (guide_ == nullptr || left_.in_doubt + left_.refused == 0) return CommitFate::worked;
  options_.assign(1, Option{Act::commit});
  if (left_.in_doubt > 0) {
    options_.push_back({Act::commit_in_doubt_worked});
    options_.push_back({Act::commit_in_doubt_rolled_back});
  }
  if (left_.refused > 0) options_.push_back({Act::commit_refused});
  const Act act = choose(*guide_).act;
  if (timeline_ != nullptr && act != Act::commit) timeline_->note(actor_, to_string(act));
  switch (act) {
    case Act::commit_in_doubt_worked:
      --left_.in_doubt;
      reach(Landmark::in_doubt_committed);
      world_.port(actor_).note_broken();
      return CommitFate::in_doubt_worked;
    case Act::commit_in_doubt_rolled_back:
      --left_.in_doubt;
      reach(Landmark::in_doubt_rolled_back);
      world_.port(actor_).note_broken();
      return CommitFate::in_doubt_rolled_back;
    case Act::commit_refused:
      --left_.refused;
      reach(Landmark::refused_commit);
      return CommitFate::refused;
    default:
      return CommitFate::worked;
  }
}

Act Engine::acknowledgement_fate() {
  const bool is_log = world_.broker().is_log();
  const bool can_be_lost = left_.lost_acknowledgement > 0 && !is_log;
  if (guide_ == nullptr || (!can_be_lost && left_.failed_acknowledgement == 0)) {
    return Act::acknowledge;
  }
  options_.assign(1, Option{Act::acknowledge});
  if (can_be_lost) options_.push_back({Act::acknowledgement_lost});
  if (left_.failed_acknowledgement > 0) {
    options_.push_back({Act::acknowledgement_refused});
    if (!is_log) options_.push_back({Act::acknowledged_with_error});
  }
  const Act act = choose(*guide_).act;
  if (act == Act::acknowledge) return act;
  counts_are_exact_ = false;
  if (act == Act::acknowledgement_lost) {
    --left_.lost_acknowledgement;
    lost_acknowledgement_ = true;
  } else {
    --left_.failed_acknowledgement;
  }
  if (timeline_ != nullptr) timeline_->note(actor_, to_string(act));
  return act;
}

}  // namespace onefold::lab
