#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/store.h"

/// The cold paths of a database: schema, registration, and what people look at.
namespace onefold {

/// A consumer as it must be the next time too.
struct ConsumerRules {
  std::string name;
  std::string
      rules;  ///< Key, scope, identity, order and fingerprint rules, one "name = value" a line.
  ClaimMode mode = ClaimMode::claim_first;
};

/// Rules are lines "name = value". A name that is new joins the stored ones (a consumer may get
/// another source), one that has gone stays (it may come back): only another value under a known
/// name is a change.
struct MergedRules {
  std::string rules;    ///< What to store, lines sorted.
  std::string changes;  ///< "name: old → new" a line; empty if nothing changed.
};
MergedRules merge_rules(std::string_view stored, std::string_view wanted);

/// A person's decision to change the rules of a consumer that has evidence already.
struct RuleChange {
  std::string who;
  std::string reason;
};

struct Migration {
  int version = 0;
  std::string name;
  bool applied_now = false;
};

struct ScopeRecord {
  std::int32_t scope = 0;
  std::string consumer;
  std::string handler;
  std::string source_or_rule;
  std::string key_form;
};

/// An inbox row, with its words.
struct InboxRecord {
  Key key;
  Outcome outcome = Outcome::applied;
  bool waiting = false;
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

/// A deferred row.
struct DeferredRecord {
  std::int64_t id = 0;
  std::string consumer;
  Key key;
  Fingerprint fingerprint{};
  std::string reason;
  std::string handler;
  std::vector<std::string> errors;
  int attempts = 0;
  std::int64_t count = 1;  ///< How often the same thing was set aside.
  std::string source;
  std::optional<Position> position;
  Event event;  ///< Without data: `raw` has the bytes.
  std::string raw;
  Timestamp first_at;
  Timestamp last_at;
};

struct DeferredFilter {
  std::optional<std::int64_t> id;
  std::optional<Key> key;
  std::string consumer;    ///< Empty: all.
  std::string reason;      ///< Empty: all.
  std::int64_t after = 0;  ///< Rows with a larger id only.
  std::size_t limit = 100;
  bool with_raw = true;  ///< False: `raw` stays empty, and is not read.
};

struct ConsumerStatus {
  std::string name;
  std::string rules;
  std::string mode;
  std::vector<std::pair<std::string, std::int64_t>> inbox;     ///< Outcome → rows.
  std::vector<std::pair<std::string, std::int64_t>> deferred;  ///< Reason → rows.
  std::vector<Position> positions;
  std::optional<Timestamp> last_recorded_at;
};

/// Used by one thread. Throws `Error`; `bad_configuration` where a person has to act.
class Housekeeping {
 public:
  virtual ~Housekeeping() = default;
  /// Brings the schema up to date under a lock; refuses a schema whose checksums differ or that is
  /// newer than this program. Returns all migrations in order. Running it again changes nothing.
  virtual std::vector<Migration> migrate() = 0;
  /// Throws unless the schema is exactly the one of this program.
  virtual void check_schema() = 0;
  /// Registers a consumer on first sight; later refuses changed rules (`merge_rules`), unless
  /// `change` is given: then they are stored with an audit row (semantics 1.5).
  virtual ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) = 0;
  virtual std::vector<ConsumerStatus> status() = 0;
  virtual std::vector<ScopeRecord> scopes() = 0;
  virtual std::optional<InboxRecord> evidence(const Key& key) = 0;
  /// In the order of their ids.
  virtual std::vector<DeferredRecord> deferred(const DeferredFilter& filter) = 0;
};

}  // namespace onefold
