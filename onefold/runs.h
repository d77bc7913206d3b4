#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/evidence.h"

/// Who reads a source right now, and who has died of it: what careful mode needs (semantics 7).
namespace onefold {

using RunId = std::int64_t;

/// A worker's subscription to a source, from its start to its end.
struct RunStart {
  ConsumerId consumer = 0;
  std::string source = {};
  std::string host = {};
  std::int64_t process = 0;          ///< Its number on that host.
  std::int64_t process_started = 0;  ///< So that a number that is used again is not taken for it.
  std::uint64_t positions = 0;       ///< A digest of the source's positions at the start.
};

struct RunRecord {
  RunId id = 0;
  RunStart start;
  std::int64_t seen_us_ago = 0;  ///< By the database's clock: `begin`, or the last `hold`.
  int size = 0;                  ///< Events in hand in careful mode; 0: none, or no careful mode.
  std::optional<Key> in_hand;    ///< The one event, if there is only one.
};

/// What is learnt from a run that has died.
struct Burial {
  int careful_size = 0;        ///< Events in a transaction from now on; 0: as before.
  std::optional<Key> suspect;  ///< Has killed the process once more.
  std::string how;             ///< "signal 11 in handler 'ship'", "killed".
};

/// An event that was in hand, alone, when the process died.
struct Suspect {
  Key key;
  int deaths = 0;
  std::string how;  ///< The last time.
};

/// What is known of a source before it is read.
struct Caution {
  int size = 0;                   ///< Events in a transaction; 0: no careful mode.
  std::vector<Suspect> suspects;  ///< Of the consumer, at most 1,000.
};

/// On a connection of its own, used by one thread; every call is one transaction. Throws `Error`.
class Runs {
 public:
  virtual ~Runs() = default;
  virtual RunId begin(const RunStart& start) = 0;
  /// All that have not ended, this one too, in the order of their ids.
  virtual std::vector<RunRecord> open(ConsumerId consumer, std::string_view source) = 0;
  /// Removes a run that has died, and keeps what it teaches. False: somebody else has done so, and
  /// nothing was changed.
  virtual bool bury(RunId id, const Burial& burial) = 0;
  virtual Caution caution(ConsumerId consumer, std::string_view source) = 0;
  /// The run lives, and has so many events in hand; before the transaction begins. 0: none.
  virtual void hold(RunId id, int size, const std::optional<Key>& in_hand) = 0;
  /// Careful mode ends, and these are suspects no longer.
  virtual void relax(ConsumerId consumer, std::string_view source,
                     std::span<const Key> settled) = 0;
  /// A run has ended as it should.
  virtual void end(RunId id) = 0;
};

}  // namespace onefold
