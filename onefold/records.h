#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onefold/deferred.h"
#include "onefold/evidence.h"

/// What a database knows, for people: the cold, reading side.
namespace onefold {

struct ConsumerRecord {
  std::string name;
  std::string rules;  ///< See `ConsumerRules`.
  std::string mode;   ///< "claim-first" or "optimistic".
  ConsumerId id = 0;  ///< The number that this database has given it.
};

struct ScopeRecord {
  std::int32_t scope = 0;
  std::string consumer;
  std::string handler;         ///< Empty unless the scope is a single handler.
  std::string source_or_rule;  ///< The event source, or the business key rule.
  std::string key_form;
  bool always = false;  ///< As in `ScopeName`: no event source, so that no limit counts it.
};

/// An inbox row, with its words.
struct InboxRecord {
  Key key;
  Outcome outcome = Outcome::applied;
  bool waiting = false;  ///< A deferred row holds the event; false is final.
  std::string event_source;
  std::string event_id;
  std::string event_type;
  std::optional<Timestamp> event_time;
  std::string entity;
  std::string handled_by;
  Fingerprint fingerprint{};
  std::string result;
  Timestamp recorded_at;
};

/// Which inbox rows, and how many of them at a time. Empty and absent members do not restrict.
struct InboxFilter {
  std::string consumer = {};
  std::optional<std::int32_t> scope = {};
  std::optional<Outcome> outcome = {};
  std::string event_source = {};
  std::string event_type = {};
  std::string event_id = {};
  std::optional<Timestamp> since = {};  ///< Recorded then or later.
  std::optional<Key> after = {};        ///< Rows behind this one only, in the order of the keys.
  std::size_t limit = 100;
  /// How many rows are read at most, whether they fit or not. There is no index but that of the
  /// keys: what is rare is searched for in pieces, so that no read stays open for long.
  std::int64_t rows_read_max = 100'000;
};

struct InboxPage {
  std::vector<InboxRecord> records;
  std::optional<Key> next;     ///< Go on with `after` = this; absent: that was all.
  std::int64_t rows_read = 0;  ///< Whether they fitted or not.
};

/// Rows of one kind. `handled_by` as in `InboxRecord`.
struct InboxCount {
  std::string consumer;
  Outcome outcome = Outcome::applied;
  bool waiting = false;
  std::string handled_by;
  std::int64_t rows = 0;
};

struct InboxCounts {
  std::vector<InboxCount> counts;  ///< Each kind once, in no order.
  std::optional<Key> next;
  std::int64_t rows_read = 0;
};

struct ConsumerStatus {
  std::string name;
  std::string rules;
  std::string mode;
  std::vector<std::pair<std::string, std::int64_t>> inbox;     ///< Outcome → rows.
  std::vector<std::pair<std::string, std::int64_t>> deferred;  ///< Reason → rows.
  std::vector<Position> positions;
  std::optional<Timestamp> last_recorded_at;
  /// When the first event that waits for its time is due; absent: none does.
  std::optional<Timestamp> next_due_at = {};
};

/// Reads on a connection of its own, used by one thread; each call sees one committed state of the
/// database. Throws `Error`.
class Records {
 public:
  virtual ~Records() = default;
  /// In the order of their names.
  virtual std::vector<ConsumerRecord> consumers() = 0;
  /// In the order of their names. Counts every row of the inbox.
  virtual std::vector<ConsumerStatus> status() = 0;
  /// In the order of their numbers.
  virtual std::vector<ScopeRecord> scopes() = 0;
  virtual std::optional<InboxRecord> evidence(const Key& key) = 0;
  /// In the order of the keys, which needs no sorting. A row that is inserted meanwhile is found if
  /// its key lies ahead.
  virtual InboxPage inbox(const InboxFilter& filter) = 0;
  /// Counts the next `rows_read_max` rows; `limit` is not regarded.
  virtual InboxCounts count(const InboxFilter& filter) = 0;
  /// In the order of their ids.
  virtual std::vector<DeferredRecord> deferred(const DeferredFilter& filter) = 0;
};

/// Positions of replays are no subscriptions: status does not show them. For stores.
bool is_of_replay(const Position& position) noexcept;

/// The scopes that a filter leaves over, in the order of their numbers. For stores.
std::vector<ScopeRecord> scopes_for(const InboxFilter& filter, std::vector<ScopeRecord> all);

}  // namespace onefold
