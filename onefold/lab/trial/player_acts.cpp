#include <algorithm>

#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/lab/trial/player.h"

// What was chosen happens.

namespace onefold::lab {

std::string Player::in_words(const Option& option) {
  const std::string who = "worker " + std::to_string(option.who + 1);
  switch (option.act) {
    case Act::step:
      return who + " goes first";
    case Act::crash_all:
      return "the process crashes";
    case Act::redeliver:
      return stage_.broker(static_cast<std::size_t>(option.who))
                 .event_name(static_cast<std::size_t>(option.what)) +
             " is sent once more";
    case Act::restore:
      return "the process stops; the database is restored to " + std::to_string(option.what) +
             (option.what == 1 ? " commit ago" : " commits ago");
    case Act::hand_out_one:
      return stage_.broker(stage_.machine(current_).subscription)
                 .name_of(static_cast<std::size_t>(option.what)) +
             " arrives alone";
    default:
      return to_string(option.act);
  }
}

void Player::describe(const Option& option) {
  const bool within = option.act > Act::clock_jump;
  const std::string text = in_words(option);
  timeline_->note_cause(
      (within ? "in step " + std::to_string(steps_) : "before step " + std::to_string(steps_ + 1)) +
      ": " + text);
  if (within && option.act != Act::hand_out_one) timeline_->note(current_, text);
}

void Player::act(const Option& option) {
  if (timeline_ != nullptr) timeline_->begin(steps_);
  switch (option.act) {
    case Act::crash_all:
      if (timeline_ != nullptr) timeline_->note_all("crash");
      stage_.end_process();
      current_ = 0;
      return;
    case Act::redeliver:
      if (timeline_ != nullptr) timeline_->note_broker(in_words(option));
      stage_.broker(static_cast<std::size_t>(option.who))
          .send_again(static_cast<std::size_t>(option.what));
      return;
    case Act::restore:
      restore(static_cast<std::size_t>(option.what));
      return;
    default:
      step(static_cast<std::size_t>(option.who));
  }
}

void Player::step(std::size_t number) {
  current_ = number;
  Worker& worker = stage_.worker(number);
  const Step what = worker.next();
  trace_.add(static_cast<std::uint64_t>(what));
  if (timeline_ != nullptr) timeline_->note(number, to_string(what));
  try {
    const StepResult result = worker.step();
    trace_.add(static_cast<std::uint64_t>(result));
    stage_.machine(number).paused = result == StepResult::waiting;
    if (result != StepResult::waiting) return;
    stage_.clock().end_pause();
    current_ = (number + 1) % stage_.size();  // Others go first while it pauses.
    if (timeline_ != nullptr) timeline_->note(number, "failed, will try again");
  } catch (const Error& error) {
    defect_ = TrialDefect{"stopped", error.what()};
  }
}

void Player::restore(std::size_t commits_back) {
  stage_.end_process();
  history_.resize(history_.size() - commits_back);
  stage_.cut_log(history_.back());
  current_ = 0;
  if (timeline_ == nullptr) return;
  timeline_->note_all("stopped");
  timeline_->note_facts(facts());
}

Act Player::commit_fate() {
  if (!reference_) return Act::commit;
  options_.assign(1, Option{Act::commit});
  if (left(TrialFaultKind::commit_in_doubt) > 0) {
    options_.push_back({Act::commit_in_doubt_worked});
    options_.push_back({Act::commit_in_doubt_rolled_back});
  }
  if (left(TrialFaultKind::commit_refused) > 0) options_.push_back({Act::commit_refused});
  return choose().act;
}

/// A log hears nothing; only its connection can fail.
Act Player::acknowledgement_fate(bool is_log) {
  if (!reference_) return Act::acknowledge;
  options_.assign(1, Option{Act::acknowledge});
  if (left(TrialFaultKind::acknowledgement_lost) > 0 && !is_log) {
    options_.push_back({Act::acknowledgement_lost});
  }
  if (left(TrialFaultKind::acknowledgement_failed) > 0) {
    options_.push_back({Act::acknowledgement_refused});
    if (!is_log) options_.push_back({Act::acknowledged_with_error});
  }
  return choose().act;
}

std::optional<std::size_t> Player::arrival(std::span<const std::size_t> entries, bool ordered) {
  if (left(TrialFaultKind::arrival) <= 0) return {};
  options_.assign(1, Option{Act::rest});
  const std::size_t count = ordered ? 1 : entries.size();
  for (const std::size_t entry : entries.first(count)) {
    options_.push_back({Act::hand_out_one, -1, static_cast<int>(entry)});
  }
  const Option option = choose();
  if (option.act == Act::rest) return {};
  return static_cast<std::size_t>(option.what);
}

void Player::note_handed(std::size_t subscription, std::size_t entry) {
  ScriptBroker& broker = stage_.broker(subscription);
  const std::size_t event = broker.entries()[entry].event;
  if (timeline_ != nullptr) {
    timeline_->note_broker(broker.name_of(entry) + " → worker " + std::to_string(current_ + 1));
  }
  std::vector<bool>& was_handed = was_handed_[subscription];
  if (was_handed[event] && reference_) {
    ++(setting_.is_decided(stage_.reader(), subscription, event) ? counts_.duplicates_after
                                                                 : counts_.duplicates_before);
  }
  was_handed[event] = true;
}

}  // namespace onefold::lab
