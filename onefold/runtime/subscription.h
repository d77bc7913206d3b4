#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/replays.h"
#include "onefold/source.h"
#include "onefold/store.h"

namespace onefold {

/// A consumer's subscription to a source, as the worker needs it. Must outlive the worker.
struct Subscription {
  const Consumer& consumer;
  ConsumerId id = 0;
  SourceFactory source;
  ClaimMode mode = ClaimMode::claim_first;
  std::vector<std::string> id_prefixes;  ///< Of all sources of the consumer.
  /// The source is the waiting room: its events are taken, and not claimed.
  bool of_waiting = false;
  /// The source is the temporary one of a replay of a range; null: it is not. Keys and dead letters
  /// are those of the source itself, but positions and runs are the replay's own.
  std::shared_ptr<const ReplayRecord> replay = {};

  /// The name under which positions and runs are kept.
  std::string log_name() const { return replay ? replay_position_source(replay->id) : source.name; }
};

/// Where the database says that it stands, in the source's own words. Throws `Error`.
std::vector<Position> committed_positions(Session& session, const Subscription& subscription);
/// The reverse: what is to be stored.
std::vector<Position> positions_to_store(std::vector<Position> reached,
                                         const Subscription& subscription);

}  // namespace onefold
