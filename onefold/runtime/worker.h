#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/consumer.h"
#include "onefold/error.h"
#include "onefold/notice.h"
#include "onefold/runner.h"
#include "onefold/runtime/backoff.h"
#include "onefold/runtime/batch.h"
#include "onefold/runtime/breaker.h"
#include "onefold/runtime/careful.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/identifier.h"
#include "onefold/runtime/step.h"
#include "onefold/runtime/subscription.h"
#include "onefold/source.h"

namespace onefold {

/// Takes deliveries of one subscription through the loop: a small object without a thread: whoever
/// owns it calls `step`. A crash is the same as throwing it away (semantics 9). Throws `Error` only
/// when the consumer has to stop: `contract_violation`, `bad_configuration`, or a `permanent`
/// failure of our own statements. Everything else is repeated for as long as it takes.
class Worker {
 public:
  struct Options {
    std::chrono::milliseconds patience{0};  ///< How long `receive` may wait.
    std::size_t rerun_max = 64;  ///< Events in one transaction of a rerun (semantics 3.3).
    Notify notify = {};
    std::uint32_t number = 0;    ///< Among all workers, so that their pauses differ.
    Careful* careful = nullptr;  ///< Looks for events that kill the process; null: nobody does.
  };

  Worker(const Subscription& subscription, Connection& connection, Clock& clock, Options options);
  ~Worker();

  /// Does the next step. It may be called again after it threw (`memory::Blocked`).
  StepResult step();
  Step next() const noexcept { return step_; }
  /// Nothing is in hand.
  bool at_rest() const noexcept { return step_ == Step::receive || step_ == Step::stopped; }
  /// Nothing is in hand, and the source has handed out all there is, or must not be asked.
  bool at_end() const { return at_rest() && (paused_ || (source_ && source_->at_end())); }
  /// Why its consumer takes no events; absent: it does.
  const std::optional<PauseRecord>& paused() const noexcept { return paused_; }
  const Totals& totals() const noexcept { return totals_; }
  /// What the rest of a run depends on, see worker_state.cpp.
  struct State {
    std::uint64_t digest = 0;
    bool in_doubt = false;  ///< Times of commits in doubt are a part of it.
  };
  State state() const;
  /// The next step neither sees nor changes anything outside of this worker.
  bool is_alone() const;

 private:
  enum class Plan { optimistic, claim_first, rerun };
  using PartitionOffsets = std::map<Partition, Offset>;
  // The loop, in worker.cpp.
  StepResult receive();
  void identify();
  void begin();
  void claim();
  void handle();
  void seal();
  void record();
  void advance();
  void commit();
  void acknowledge();
  Answer run(const HandlerSpec& handler, Item& item);
  std::vector<Item*> those_together_with(Item& first) const;
  void handle_together(const HandlerSpec& handler, const std::vector<Item*>& items);
  void refuse(Item& item, const HandlerSpec& handler, const Answer& answer);
  void settle(Item& item, Outcome outcome);
  void start_unit(std::size_t first);

  // What waits, in setting_aside.cpp.
  Outcome judge(Item& item, const HandlerSpec& handler, const Answer& answer);
  std::chrono::milliseconds retry_pause(const RetryPolicy& policy, int attempts);
  void hold_back();
  bool overtakes(const Item& item) const;
  void put_behind(Item& item);
  void settle_waiting();
  void pause_if_many_fail();
  bool is_paused();
  // Failures, in failure.cpp.
  StepResult fail(const Error& error);
  void rerun();
  void repeat(const Error& error, bool was_open);
  bool blame(const Error& error);
  [[noreturn]] void stop(const Error& error);
  void lose_source(const Error& error);
  void forget_batch();
  void open_source();
  bool reconnected();
  bool database_went_back();
  bool position_moved();
  std::string who_broke_it() const;
  void say(Severity severity, const std::string& text) const;
  Careful* watchful() const noexcept;
  ClaimMode claim_mode() const noexcept;
  Plan base_plan() const noexcept;

  const Subscription& subscription_;
  Connection& connection_;
  Clock& clock_;
  Options options_;
  Identifier identifier_;
  std::unique_ptr<Source> source_;
  Totals totals_;
  Step step_ = Step::receive;

  // The batch in hand.
  std::vector<Delivery> deliveries_;
  std::vector<Item> items_;  ///< Of all deliveries, in their order.
  std::size_t unit_first_ = 0, unit_max_;
  Unit unit_;
  Timestamp recorded_at_;
  std::unique_ptr<Transaction> transaction_;
  Plan plan_;
  std::size_t item_ = 0, handler_ = 0;  ///< Whose handlers run in the unit, and which of them.
  bool touched_ = false;                ///< That item's handlers have used the database.
  std::set<std::string, std::less<>> fronts_;  ///< Entities of which something waits in the unit.
  std::optional<Breaker::Trip> trip_;          ///< If the unit commits, the consumer is paused.

  // What the last events say about the next ones.
  Breaker breaker_;
  std::optional<PauseRecord> paused_;
  std::chrono::steady_clock::time_point pause_looked_at_{};
  std::minstd_rand random_;  ///< For the jitter of retries.

  // Recovery.
  Backoff backoff_;
  std::chrono::steady_clock::time_point ready_at_{};
  std::uint64_t generation_ = 0;  ///< Of the session that scopes and positions were learnt from.
  PartitionOffsets in_doubt_;     ///< Where a commit in doubt would have brought them.
  PartitionOffsets expected_;     ///< What this worker knows to be committed.
};

}  // namespace onefold
