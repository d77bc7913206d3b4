#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/notice.h"
#include "onefold/runs.h"
#include "onefold/runtime/batch.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/process.h"
#include "onefold/runtime/subscription.h"
#include "onefold/store.h"

namespace onefold {

/// Finds events that kill the process (semantics 7): tells the database who reads a source, learns
/// from those that have died of it, and lets the worker take fewer events at a time until the one
/// that kills stands alone. One for each worker, and used by its thread. Throws `Error`.
class Careful {
 public:
  struct Surroundings {
    Store& store;
    Connection& connection;  ///< Of the worker.
    Clock& clock;
    const CrashReports& reports;
    Notify notify = {};
    Process process = this_process();
    /// Whether a process of this host, by its number and start, is still there.
    std::function<bool(std::int64_t, std::int64_t)> lives = onefold::lives;
  };

  /// The subscription, and all that surrounds, must outlive it.
  Careful(const Subscription& subscription, Surroundings surroundings);
  ~Careful();

  /// Before anything is received. At first: buries runs that have died, and begins one. Later:
  /// keeps the database informed, about every 10 s and after what was settled. What throws is
  /// repeated by the next call.
  void before_receive() {
    if (run_ == 0 || unsaid_ || around_.clock.ticks() >= beat_at_) be_known();
  }
  /// No careful mode and no suspects: nothing has to be asked for an event.
  bool is_calm() const noexcept { return size_ == 0 && suspects_.empty(); }
  /// How many events may be in one transaction, if there could be `most`.
  std::size_t at_most(std::size_t most) const noexcept {
    return size_ == 0 ? most : std::min(most, static_cast<std::size_t>(size_));
  }
  /// Events that have killed the process too often are dead. While no transaction is open.
  void condemn(std::span<Item> items);
  /// These will be in the next transaction. Before it begins.
  void hold(std::span<const Item> items);
  /// They are committed.
  void note_settled(std::span<const Item> items);
  /// The source has nothing now; `at_end`: all there is has been handed out.
  void rest(bool at_end);
  /// The run ends as it should. What the database refuses now is left to those that come later.
  void end() noexcept;
  RunId run() const noexcept { return run_; }
  const Process& process() const noexcept { return around_.process; }

 private:
  class Loan;
  void be_known();
  void begin();
  void tell_settled();
  void beat();
  std::uint64_t positions() const;
  void bury_the_dead(Runs& runs, std::uint64_t positions);
  bool is_dead(const RunRecord& run) const;
  Burial judge(const RunRecord& run, int size_in_force, std::uint64_t positions) const;
  bool is_of(const RunRecord& run, const CrashReport& report) const;
  void learn(const std::vector<Suspect>& suspects);
  void clear_settled();
  void relax(Runs& runs);
  std::size_t usual_size() const noexcept;
  void say(Severity severity, const std::string& text) const;

  const Subscription& subscription_;
  Surroundings around_;
  std::unique_ptr<Runs> runs_;  ///< Kept open only where it is needed for each transaction.
  RunId run_ = 0;               ///< 0: it has not begun.
  RunStart start_;
  std::chrono::steady_clock::time_point beat_at_{};

  int size_ = 0;                     ///< In careful mode; 0: there is none.
  std::size_t to_settle_ = 0;        ///< Deliveries until it ends.
  std::map<Key, Suspect> suspects_;  ///< As they were known at the beginning, or later.

  // What the database has to be told.
  bool unsaid_ = false;       ///< Something was settled.
  std::vector<Key> cleared_;  ///< Suspects no longer.
  int held_size_ = 0;         ///< What it was told last.
  std::optional<Key> held_;
};

}  // namespace onefold
