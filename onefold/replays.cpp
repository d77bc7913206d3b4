#include "onefold/replays.h"

#include <algorithm>
#include <array>

namespace onefold {
namespace {
constexpr std::array<const char*, 4> names{"running", "paused", "cancelled", "done"};
constexpr std::string_view position_prefix = "replay:";
}  // namespace

const char* to_string(ReplayState state) noexcept {
  return names.at(static_cast<std::size_t>(state));
}

std::optional<ReplayState> replay_state_from(std::string_view name) noexcept {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<ReplayState>(found - names.begin());
}

const char* audit_action(ReplayState wanted) noexcept {
  constexpr std::array actions{"replay resume", "replay pause", "replay cancel", "replay done"};
  return actions.at(static_cast<std::size_t>(wanted));
}

std::string replay_position_source(std::string_view id) {
  return std::string{position_prefix} + std::string{id};
}

bool is_replay_position_source(std::string_view source) noexcept {
  return source.starts_with(position_prefix);
}

std::int64_t ReplayRecord::skipped() const noexcept {
  if (is_of_range()) return 0;
  return state == ReplayState::done || state == ReplayState::cancelled ? selected - due : 0;
}

std::int64_t replay_allowance(const ReplayRecord& replay, std::chrono::microseconds elapsed) {
  std::int64_t allowed = std::max<std::int64_t>(0, replay_open_max - replay.open());
  std::int64_t stage_end = 0;
  for (const std::int64_t stage : replay.ramp) {
    stage_end += stage;
    if (replay.due > stage_end || (replay.due == stage_end && replay.open() == 0)) continue;
    allowed = std::min(allowed, stage_end - replay.due);
    break;
  }
  if (replay.rate <= 0) return allowed;
  // A pause does not save up: never more than a second's worth at once.
  const auto within = std::clamp(elapsed, std::chrono::microseconds{0},
                                 std::chrono::microseconds{std::chrono::seconds{1}});
  return std::min(allowed, replay.rate * within.count() / 1'000'000);
}

std::string replay_objection(const ReplayRecord& replay) {
  std::int64_t ramp = 0;
  for (const std::int64_t stage : replay.ramp) ramp += stage;
  const std::int64_t failed = replay.failed - replay.accepted;
  if (failed <= 0 || replay.due > ramp || replay.ramp.empty()) return {};
  return std::to_string(failed) + " of the first " + std::to_string(replay.due) +
         " events failed again; look at why before it goes on";
}

}  // namespace onefold
