#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/lab/trial/fallible_store.h"
#include "onefold/lab/trial/reader.h"
#include "onefold/lab/trial/script_broker.h"
#include "onefold/lab/trial/setting.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/worker.h"

namespace onefold::lab {

/// Wall time goes on by a millisecond with each look; pauses are over as soon as they have begun.
class TrialClock final : public Clock {
 public:
  Timestamp now() override { return now_ += std::chrono::milliseconds{1}; }
  std::chrono::steady_clock::time_point ticks() override { return ticks_; }
  void end_pause() { ticks_ += std::chrono::seconds{10}; }
  void set(Timestamp now) { now_ = now; }

 private:
  Timestamp now_{};
  std::chrono::steady_clock::time_point ticks_{std::chrono::hours{1}};
};

/// The process of a trial, with its brokers and its database: the runtime's own workers, which
/// share one session, as the runner has them on SQLite.
class Stage {
 public:
  explicit Stage(Setting& setting);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  struct Machine {
    std::size_t subscription = 0;
    int number = 0;  ///< Among the workers of its subscription.
    std::unique_ptr<Subscription> subscribed;
    std::optional<Worker> worker;
    bool paused = false;  ///< After a failure.
  };

  /// Everything as at the start.
  void reset(Timestamp now, std::uint64_t seed, const std::vector<std::vector<bool>>& left_out);
  /// Nothing of the process is left but what is committed.
  void end_process();
  /// The database as its log was then. The process must have ended.
  void cut_log(std::uint64_t bytes);

  std::size_t size() const noexcept { return machines_.size(); }
  Machine& machine(std::size_t number) { return machines_[number]; }
  Worker& worker(std::size_t number);
  bool is_in_hand(std::size_t number) const;
  bool is_paused(std::size_t number) const { return machines_[number].paused; }
  /// It could do a step that is more than to wait.
  bool can_go_on(std::size_t number) const;
  std::vector<std::string> worker_names() const;

  std::size_t subscriptions() const noexcept { return brokers_.size(); }
  ScriptBroker& broker(std::size_t subscription) { return brokers_[subscription]; }
  CommitScript& commits() noexcept { return commits_; }
  TrialClock& clock() noexcept { return clock_; }
  /// To look at what is committed.
  Reader& reader();

 private:
  void add_machines(std::size_t subscription);

  Setting& setting_;
  std::deque<ScriptBroker> brokers_;  ///< One a subscription.
  CommitScript commits_;
  FallibleStore store_;
  TrialClock clock_;
  std::optional<Connection> connection_;
  std::deque<Machine> machines_;
  std::optional<Reader> reader_;
};

}  // namespace onefold::lab
