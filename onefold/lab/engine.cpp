#include "onefold/lab/engine.h"

#include <algorithm>
#include <numeric>

namespace onefold::lab {
namespace {

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
  quiet.waiters = std::min(quiet.waiters, 1);
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
    run_quietly(reference);
    oracle_.add_reference(reference);
  } while (permuted && std::ranges::next_permutation(order).found);
}

void Engine::reset() {
  world_.reset();
  left_ = world_.spec().faults;
  current_ = actor_ = 0;
  steps_ = 0;
  counts_are_exact_ = true;
  restored_ = restarted_ = replayed_at_end_ = false;
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
    if (goes_on_alone()) {
      ++steps_;
      act(Option{Act::step, static_cast<int>(actor_)});
      judge();
      if (defect_) break;
      continue;
    }
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
    if (option.act == Act::rest && restored_ && !restarted_) {
      restart();
      continue;
    }
    if (option.act == Act::rest && goes_on_later()) continue;
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

/// Whether others go first makes no difference to such a step, nor does a crash before it, which
/// might as well come after it. A lost session does: it is noticed elsewhere.
bool Engine::goes_on_alone() {
  return left_.disconnect + left_.restore + left_.promote == 0 &&
         (!world_.shares_a_session() || actor_ == current_) && steps_ < steps_max &&
         world_.has_in_hand(actor_) && !world_.port(actor_).is_broken() && world_.is_alone(actor_);
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

/// What waits for its time, or for a person at the end, is a way to go on when all else is done.
bool Engine::goes_on_later() {
  if (++steps_ > steps_max) return false;
  if (world_.spec().waiters == 0) return false;
  if (world_.model().has_later()) {
    world_.model().pass_time();
    return true;
  }
  if (!world_.spec().replays_at_end || replayed_at_end_ || !world_.has_dead()) return false;
  replayed_at_end_ = true;
  reach(Landmark::replayed);
  world_.replay_dead();
  if (timeline_ != nullptr) {
    timeline_->begin(steps_);
    timeline_->note_all("dead letters are tried again");
  }
  judge();
  return !defect_;
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
  if (left_.revoke > 0 && broker.is_log() && world_.readers() > 1) {
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
  list_persons(any_in_hand);
  if (left_.clock_jump > 0 && any_in_hand) {
    options_.push_back({Act::clock_jump, -1, 1});
    options_.push_back({Act::clock_jump, -1, -24 * 3650});
  }
}

/// What people do, and time, while events wait.
void Engine::list_persons(bool any_in_hand) {
  if (left_.early > 0 && any_in_hand && world_.model().has_later()) {
    options_.push_back({Act::early});
  }
  if (left_.replay > 0 && world_.has_dead()) options_.push_back({Act::replay});
  if (left_.discard > 0 && world_.has_set_aside()) options_.push_back({Act::discard});
}

Option Engine::choose(Guide& guide) {
  const std::size_t place = options_.size() > 1 ? guide.choose(options_) : 0;
  const Option option = options_[place];
  trace_.add(static_cast<std::uint64_t>(option.act));
  trace_.add(static_cast<std::uint64_t>(option.who));
  trace_.add(static_cast<std::uint64_t>(option.what));
  if (timeline_ != nullptr && place > 0) describe(option);
  return option;
}

std::uint64_t Engine::state() {
  StateDigest digest;
  world_.add_to(digest);
  const Faults& left = left_;
  std::uint64_t packed = replayed_at_end_ ? 1 : 0;
  for (const int one :
       {left.crash, left.crash_all, left.in_doubt, left.refused, left.lost_acknowledgement,
        left.failed_acknowledgement, left.redelivery, left.disconnect, left.revoke, left.restore,
        left.promote, left.clock_jump, left.early, left.replay, left.discard}) {
    packed = packed * 16 + static_cast<std::uint64_t>(one);
  }
  digest.add(packed);
  // Which worker goes on by default counts only where the others have to wait for it.
  if (world_.shares_a_session()) digest.add(current_);
  digest.add((restored_ ? 1U : 0U) + (restarted_ ? 2U : 0U));
  if (left.restore + left.promote > 0) {
    for (const Past& past : history_) digest.add(past.digest);
  }
  return digest.value();
}

}  // namespace onefold::lab
