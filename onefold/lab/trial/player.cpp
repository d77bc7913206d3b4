#include "onefold/lab/trial/player.h"

#include <algorithm>

namespace onefold::lab {

void Player::reset(Timestamp now, std::uint64_t seed) {
  stage_.reset(now, seed, left_out_);
  for (std::size_t i = 0; i < trial_fault_count; ++i) {
    left_.at(i) = budget_of(static_cast<TrialFaultKind>(i), spec());
  }
  current_ = 0;
  steps_ = 0;
  changed_ = false;
  history_.assign(1, 0);
  was_handed_.clear();
  for (const TrialSubscription& each : spec().subscriptions) {
    was_handed_.emplace_back(left_out_[each.source].size(), false);
  }
  worst_.reset();
  defect_.reset();
  trace_ = {};
}

Player::Result Player::play(Guide& guide) {
  reset(now(), 1);
  return play_on(guide);
}

Player::Told Player::tell(const Schedule& schedule) {
  reset(now(), 1);
  Timeline timeline{stage_.worker_names(), facts()};
  timeline_ = &timeline;
  Follower follower{schedule};
  const Result result = play_on(follower);
  timeline_ = nullptr;
  return {result, timeline.text(), timeline.cause()};
}

Player::Result Player::play_on(Guide& guide) {
  guide_ = &guide;
  while (!defect_) {
    options_.clear();
    list_steps();
    if (options_.empty()) options_.push_back({Act::rest});
    list_faults();
    const Option option = choose();
    if (option.act == Act::rest) {
      finish(true);
      break;
    }
    if (++steps_ > steps_max) {
      finish(false);
      break;
    }
    act(option);
    if (!defect_) judge();
  }
  guide_ = nullptr;
  return {defect_, trace_.value(), steps_, worst_};
}

/// A batch is finished before another worker's begins: they share one session.
bool Player::may_switch() const {
  return !stage_.is_in_hand(current_) || stage_.is_paused(current_);
}

void Player::list_steps() {
  const std::size_t workers = stage_.size();
  for (std::size_t i = 0; i < workers; ++i) {
    const std::size_t number = (current_ + i) % workers;
    if (!stage_.can_go_on(number) || (number != current_ && !may_switch())) continue;
    const bool interrupts = !options_.empty() && options_.front().who == static_cast<int>(current_);
    options_.push_back({Act::step, static_cast<int>(number), 0, interrupts});
  }
}

/// Between two steps of a batch only the process can end: other faults would come to the same
/// before it, or after it.
void Player::list_faults() {
  if (stage_.is_in_hand(current_) && left(TrialFaultKind::crash) > 0) {
    options_.push_back({Act::crash_all});
  }
  if (!may_switch()) return;
  if (left(TrialFaultKind::duplicate) > 0) {
    for (std::size_t i = 0; i < stage_.subscriptions(); ++i) {
      for (std::size_t event = 0; event < was_handed_[i].size(); ++event) {
        if (!stage_.broker(i).can_be_sent_again(event)) continue;
        options_.push_back({Act::redeliver, static_cast<int>(i), static_cast<int>(event)});
      }
    }
  }
  if (left(TrialFaultKind::restore) > 0) {
    for (std::size_t back = 1; back < std::min<std::size_t>(history_.size(), 4); ++back) {
      options_.push_back({Act::restore, -1, static_cast<int>(back)});
    }
  }
}

Option Player::choose() {
  const std::size_t place = options_.size() > 1 ? guide_->choose(options_) : 0;
  const Option option = options_[place];
  trace_.add(static_cast<std::uint64_t>(option.act));
  trace_.add(static_cast<std::uint64_t>(option.who));
  trace_.add(static_cast<std::uint64_t>(option.what));
  if (place == 0) return option;
  const TrialFaultKind kind = kind_of(option.act);
  --left(kind);
  worst_ = std::max(worst_.value_or(kind), kind);
  if (reference_) ++counts_.faults.at(static_cast<std::size_t>(kind));
  if (timeline_ != nullptr) describe(option);
  return option;
}

}  // namespace onefold::lab
