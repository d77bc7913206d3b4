#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/consumer.h"
#include "onefold/error.h"
#include "onefold/notice.h"
#include "onefold/runner.h"
#include "onefold/runtime/backoff.h"
#include "onefold/runtime/batch.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/handler_call.h"
#include "onefold/runtime/identifier.h"
#include "onefold/runtime/step.h"
#include "onefold/source.h"

namespace onefold {

/// A consumer's subscription to a source, as the worker needs it. Must outlive the worker.
struct Subscription {
  const Consumer& consumer;
  ConsumerId id = 0;
  SourceFactory source;
  ClaimMode mode = ClaimMode::claim_first;
  std::vector<std::string> id_prefixes;  ///< Of all sources of the consumer.
};

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
    std::uint32_t number = 0;  ///< Among all workers, so that their pauses differ.
  };

  Worker(const Subscription& subscription, Connection& connection, Clock& clock, Options options);
  ~Worker();

  /// Does the next step. It may be called again after it threw (`memory::Blocked`).
  StepResult step();
  Step next() const noexcept { return step_; }
  /// Nothing is in hand.
  bool at_rest() const noexcept { return step_ == Step::receive || step_ == Step::stopped; }
  /// Nothing is in hand, and the source has handed out all there is.
  bool at_end() const { return at_rest() && source_ && source_->at_end(); }
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
  ClaimMode claim_mode() const noexcept;
  Plan base_plan() const noexcept;

  // Constant after construction.
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
  std::size_t unit_first_ = 0;
  std::size_t unit_max_;
  Unit unit_;
  Timestamp recorded_at_;
  std::unique_ptr<Transaction> transaction_;
  Plan plan_;
  std::size_t item_ = 0, handler_ = 0;  ///< Whose handlers run in the unit, and which of them.
  bool touched_ = false;                ///< That item's handlers have used the database.

  // Recovery.
  Backoff backoff_;
  std::chrono::steady_clock::time_point ready_at_{};
  std::uint64_t generation_ = 0;  ///< Of the session that scopes and positions were learnt from.
  PartitionOffsets in_doubt_;     ///< Where a commit in doubt would have brought them.
  PartitionOffsets expected_;     ///< What this worker knows to be committed.
};

}  // namespace onefold
