#pragma once

#include "onefold/stores/mariadb/connection.h"
#include "onefold/stores/mariadb/health.h"
#include "onefold/waiting.h"

namespace onefold::mariadb {

class DatabaseWaitingRoom final : public WaitingRoom {
 public:
  DatabaseWaitingRoom(Connection& connection, Health& health) noexcept
      : connection_{connection}, health_{health} {}

  std::vector<Claim> take(std::span<const Waiting* const> events) override;
  void leave(std::span<const std::int64_t> ids) override;
  std::vector<bool> blocked(ConsumerId consumer, std::span<const Front> fronts) override;
  void pause(const Pause& pause) override;
  void probed(ConsumerId consumer, bool worked, std::chrono::milliseconds next_in) override;
  void tally(std::span<const ReplayTally> tallies) override;

 private:
  std::vector<bool> raise_turns(std::span<const Waiting* const> events);
  void hold(std::vector<Key> keys);
  std::vector<Claim> settled(const std::vector<Key>& keys);
  void revive(const Pause& pause);

  Connection& connection_;
  Health& health_;
};

/// See `Session::due` and `Session::pause`.
Due select_due(Connection& connection, const DueQuery& query);
std::optional<PauseRecord> select_pause(Connection& connection, ConsumerId consumer);

/// Ends the wait of a claim, with its row in `deferred`; a result that is not empty replaces the
/// one that is there. For decisions.
void finish_claim(Connection& connection, const Key& key, std::int64_t id, std::string_view result);

}  // namespace onefold::mariadb
