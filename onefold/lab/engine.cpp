#include "onefold/lab/engine.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace onefold::lab {
namespace {

constexpr int steps_max = 5000;
constexpr std::size_t permuted_max = 5;

}  // namespace

Engine::Engine(const WorldSpec& spec) : world_{spec}, oracle_{world_} {
  world_.model().decide_commits([this](int) { return commit_fate(); });
  world_.broker().decide_acknowledgements([this] { return acknowledgement_fate(); });
  learn_references();
}

Engine::~Engine() = default;

/// One worker, nothing fails. Where a broker gives no order, every order is right.
void Engine::learn_references() {
  WorldSpec quiet = world_.spec();
  quiet.workers = 1;
  quiet.faults = {};
  std::vector<std::size_t> order(quiet.deliveries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool permuted =
      quiet.source != SourceClass::owned_log && order.size() <= permuted_max && !quiet.stops;
  do {
    WorldSpec ordered = quiet;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ordered.deliveries[i] = quiet.deliveries[order[i]];
    }
    World reference{ordered};
    reference.reset();
    for (int steps = 0; reference.can_go_on(0) && steps < steps_max; ++steps) {
      try {
        reference.worker(0).step();
      } catch (const Error&) {
        break;
      }
      reference.machine(0).clock.end_pause();
    }
    oracle_.add_reference(reference);
  } while (permuted && std::ranges::next_permutation(order).found);
}

void Engine::reset() {
  world_.reset();
  left_ = world_.spec().faults;
  current_ = actor_ = 0;
  steps_ = 0;
  counts_are_exact_ = true;
  restored_ = false;
  lost_acknowledgement_ = false;
  zombie_.reset();
  totals_ = {};
  defect_.reset();
  trace_ = {};
  const memory::Insight insight = world_.model().insight();
  versions_ = insight.versions;
  deadlocks_ = insight.deadlocks;
  history_.clear();
  if (left_.restore + left_.promote > 0) {
    remember();
  }
}

Engine::Result Engine::run(Guide& guide, Timeline* timeline) {
  reset();
  guide_ = &guide;
  timeline_ = timeline;
  Result result;
  while (true) {
    if (guide.wants_states() && !guide.enter(state(), current_)) {
      result.end = End::cut;
      break;
    }
    options_.clear();
    list_steps();
    const bool quiet = is_quiet();
    if (quiet) options_.insert(options_.begin(), Option{Act::rest});
    if (options_.empty()) {
      finish(false);
      break;
    }
    list_faults();
    const Option option = choose(guide);
    if (option.act == Act::rest) {
      finish(true);
      break;
    }
    if (++steps_ > steps_max) {
      finish(false);
      break;
    }
    act(option);
    judge();
    if (defect_) break;
  }
  if (defect_) result.end = End::violated;
  result.defect = defect_;
  result.trace_hash = trace_.value();
  result.steps = steps_;
  guide_ = nullptr;
  timeline_ = nullptr;
  return result;
}

/// On SQLite the workers of a process take turns, a whole batch each.
bool Engine::may_go_on(std::size_t number) const {
  if (!world_.can_go_on(number)) return false;
  if (!world_.shares_a_session() || number == current_) return true;
  return !world_.has_in_hand(current_) || !world_.has_transaction(current_);
}

void Engine::list_steps() {
  const std::size_t workers = world_.size();
  for (std::size_t i = 0; i < workers; ++i) {
    const std::size_t number = (current_ + i) % workers;
    if (!may_go_on(number)) continue;
    const bool interrupts = !options_.empty() && options_.front().who == static_cast<int>(current_);
    options_.push_back({Act::step, static_cast<int>(number), 0, interrupts});
  }
}

bool Engine::is_quiet() {
  if (!options_.empty()) return false;
  for (std::size_t number = 0; number < world_.size(); ++number) {
    if (!world_.machine(number).stopped && world_.has_in_hand(number)) return false;
  }
  return true;
}

void Engine::list_faults() {
  const Broker& broker = world_.broker();
  bool any_in_hand = false;
  for (std::size_t number = 0; number < world_.size(); ++number) {
    const bool in_hand = world_.has_in_hand(number) && !world_.machine(number).stopped;
    any_in_hand = any_in_hand || in_hand;
    if (!in_hand) continue;
    const int who = static_cast<int>(number);
    if (left_.crash > 0 && !world_.shares_a_session()) options_.push_back({Act::crash, who});
    if (left_.disconnect > 0 && !world_.port(number).is_broken()) {
      options_.push_back({Act::disconnect, who});
    }
  }
  const bool process_dies = left_.crash_all > 0 || (left_.crash > 0 && world_.shares_a_session());
  if (any_in_hand && process_dies) options_.push_back({Act::crash_all});
  if (left_.redelivery > 0 && !broker.is_log()) {
    for (std::size_t i = 0; i < broker.deliveries().size(); ++i) {
      if (broker.place(i) != Broker::Place::in_hand) continue;
      options_.push_back({Act::redeliver, broker.holder(i), static_cast<int>(i)});
    }
  }
  if (left_.revoke > 0 && broker.is_log() && world_.size() > 1) {
    options_.push_back({Act::revoke, broker.owner()});
  }
  const int commits = static_cast<int>(history_.size()) - 1;
  if (left_.restore > 0) {
    for (int back = 1; back <= std::min(commits, 3); ++back) {
      options_.push_back({Act::restore, -1, back});
    }
  }
  if (left_.promote > 0 && broker.is_log() && commits > 0) {
    options_.push_back({Act::promote, -1, 1});
  }
  if (left_.clock_jump > 0 && any_in_hand) {
    options_.push_back({Act::clock_jump, -1, 1});
    options_.push_back({Act::clock_jump, -1, -24 * 3650});
  }
}

Option Engine::choose(Guide& guide) {
  const std::size_t place = options_.size() > 1 ? guide.choose(options_) : 0;
  const Option option = options_[place];
  trace_.add(static_cast<std::uint64_t>(option.act));
  trace_.add(static_cast<std::uint64_t>(option.who * 1000 + option.what));
  if (timeline_ != nullptr && place > 0) describe(option);
  return option;
}

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
    default:
      --left_.clock_jump;
      for (std::size_t i = 0; i < world_.size(); ++i) {
        world_.machine(i).clock.jump(std::chrono::hours{option.what});
      }
      return;
  }
}

void Engine::step(std::size_t number) {
  Machine& machine = world_.machine(number);
  current_ = actor_ = number;
  const Step what = world_.next(number);
  Worker& worker = world_.worker(number);
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
  world_.model().undo_step(world_.port(number).session());
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
  if (!defect_ && !world_.spec().stops) defect_ = oracle_.check_settled(world_, settled);
}

void Engine::notice_change() {
  if (timeline_ != nullptr) timeline_->note_database(world_);
  if (world_.spec().faults.restore + world_.spec().faults.promote > 0) {
    remember();
  }
  defect_ = oracle_.check_committed(world_);
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
  const auto received = static_cast<std::size_t>(totals.received());
  const std::size_t deliveries = world_.broker().deliveries().size();
  if (counts_are_exact_ && received != deliveries) {
    defect_ = Defect{"P2", std::to_string(deliveries) + " deliveries were handed out, and " +
                               std::to_string(received) + " were counted"};
  }
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
    text += ";";
  }
  return text;
}

std::uint64_t Engine::state() {
  StateDigest digest;
  world_.add_to(digest);
  const Faults& left = left_;
  std::uint64_t packed = 0;
  for (const int one :
       {left.crash, left.crash_all, left.in_doubt, left.refused, left.lost_acknowledgement,
        left.failed_acknowledgement, left.redelivery, left.disconnect, left.revoke, left.restore,
        left.promote, left.clock_jump}) {
    packed = packed * 16 + static_cast<std::uint64_t>(one);
  }
  digest.add(packed);
  // Which worker goes on by default counts only where the others have to wait for it.
  if (world_.shares_a_session()) digest.add(current_);
  if (left.restore + left.promote > 0) {
    for (const Past& past : history_) digest.add(past.digest);
  }
  return digest.value();
}

}  // namespace onefold::lab
