#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/clock.h"
#include "onefold/replays.h"
#include "onefold/runtime/connection.h"
#include "onefold/store.h"

namespace onefold {

/// Keeps the replays of some consumers going: makes their events due, at their rate. Used by one
/// thread; several processes may drive the same replays.
class ReplayDriver {
 public:
  ReplayDriver(Store& store, Connection& connection, Clock& clock)
      : store_{store}, connection_{connection}, clock_{clock} {}

  void add(const std::string& consumer, ConsumerId id) { consumers_.emplace(consumer, id); }
  /// Does what is to be done now. Returns whether events were made due. What fails because the
  /// database is away is done later.
  bool advance();
  /// Whether a replay of these consumers still has events to make due, or to wait for.
  bool is_running();
  /// The open replays of ranges of these consumers, as they stood at the last look.
  const std::vector<ReplayRecord>& ranges() const noexcept { return ranges_; }
  /// Ranges are somebody else's: nobody here waits for them.
  void leave_ranges() noexcept { with_ranges_ = false; }
  /// How a replay stands now. Throws `Error`.
  std::optional<ReplayRecord> look(const std::string& id);
  /// See `Replays::finish_range`. What fails because the database is away is done later: false.
  bool finish(const std::string& id, const std::string& note);

 private:
  Replays& replays();
  void give_back();
  void look_for_ranges();

  Store& store_;
  Connection& connection_;  ///< Of the workers of the same thread.
  Clock& clock_;
  std::map<std::string, ConsumerId> consumers_;
  std::unique_ptr<Replays> replays_;
  std::vector<ReplayRecord> ranges_;
  bool with_ranges_ = true;
  std::chrono::steady_clock::time_point look_at_{};
};

}  // namespace onefold
