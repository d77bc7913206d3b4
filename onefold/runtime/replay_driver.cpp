#include "onefold/runtime/replay_driver.h"

#include <algorithm>

#include "onefold/error.h"

namespace onefold {
namespace {
using std::chrono::milliseconds;
/// Whether there is a replay at all; and how evenly one with a rate goes.
constexpr milliseconds interval_without{500};
constexpr milliseconds interval_with{50};
}  // namespace

Replays& ReplayDriver::replays() {
  if (!replays_) {
    if (store_.traits().one_connection) connection_.drop();
    replays_ = store_.replays();
  }
  return *replays_;
}

/// The workers go on with the connection that was lent.
void ReplayDriver::give_back() {
  if (store_.traits().one_connection) replays_.reset();
}

bool ReplayDriver::advance() {
  if (clock_.ticks() < look_at_) return false;
  std::int64_t made_due = 0;
  try {
    for (const auto& [name, id] : consumers_) made_due += replays().advance(id);
    if (with_ranges_) look_for_ranges();
    give_back();
  } catch (const Error& error) {
    if (!error.retryable()) throw;
    replays_.reset();
  }
  look_at_ = clock_.ticks() + (made_due > 0 ? interval_with : interval_without);
  return made_due > 0;
}

void ReplayDriver::look_for_ranges() {
  ranges_ = replays().list({});
  std::erase_if(ranges_, [this](const ReplayRecord& replay) {
    const bool open = replay.state == ReplayState::running || replay.state == ReplayState::paused;
    return !open || !replay.is_of_range() || !consumers_.contains(replay.consumer);
  });
}

std::optional<ReplayRecord> ReplayDriver::look(const std::string& id) {
  try {
    std::vector<ReplayRecord> found = replays().list(id);
    give_back();
    return found.empty() ? std::nullopt : std::optional{std::move(found.front())};
  } catch (const Error&) {
    replays_.reset();
    throw;
  }
}

bool ReplayDriver::finish(const std::string& id, const std::string& note) {
  try {
    replays().finish_range(id, note);
    give_back();
    look_at_ = {};
    return true;
  } catch (const Error& error) {
    if (!error.retryable()) throw;
    replays_.reset();
    return false;
  }
}

bool ReplayDriver::is_running() {
  try {
    const std::vector<ReplayRecord> known = replays().list({});
    give_back();
    return std::ranges::any_of(known, [this](const ReplayRecord& replay) {
      return replay.state == ReplayState::running && (with_ranges_ || !replay.is_of_range()) &&
             consumers_.contains(replay.consumer);
    });
  } catch (const Error& error) {
    if (!error.retryable()) throw;
    replays_.reset();
    return true;  // Nobody knows: ask again.
  }
}

}  // namespace onefold
