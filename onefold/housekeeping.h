#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/decisions.h"
#include "onefold/records.h"
#include "onefold/store.h"

/// The cold paths of a database: its schema, and the registration of consumers. What people look at
/// is in records.h, what they decide in decisions.h.
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
using RuleChange = Decision;

struct Migration {
  int version = 0;
  std::string name;
  bool applied_now = false;
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
};

}  // namespace onefold
