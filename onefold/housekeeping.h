#pragma once

#include <optional>
#include <span>
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
/// name is a change. But a "handler ..." that has gone while another is new was renamed, most
/// likely.
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
  std::string sql = {};  ///< The whole of it; run by hand, it does what `migrate` does.
};

/// Something that `examine` has found out, good or bad.
struct Finding {
  enum class Severity {
    fine,
    notice,   ///< Works; a person may want to know.
    warning,  ///< Works until something goes wrong, as a power cut does.
    failure,  ///< Does not work, or events could be lost or applied twice.
  };
  Severity severity = Severity::fine;
  std::string topic;  ///< "version", "durability", "privileges", "clock", "schema", "tables", ...
  std::string text;
  std::string hint = {};  ///< What to do about it; may be empty.
};

/// Used by one thread. Throws `Error`; `bad_configuration` where a person has to act.
class Housekeeping {
 public:
  virtual ~Housekeeping() = default;
  /// Brings the schema up to date under a lock; refuses a schema whose checksums differ or that is
  /// newer than this program. Returns all migrations in order. Running it again changes nothing.
  virtual std::vector<Migration> migrate() = 0;
  /// What `migrate` would apply, in order, with its SQL. Changes nothing.
  virtual std::vector<Migration> pending() = 0;
  /// Throws unless the schema is exactly the one of this program.
  virtual void check_schema() = 0;
  /// Registers a consumer on first sight; later refuses changed rules (`merge_rules`), unless
  /// `change` is given: then they are stored with an audit row (semantics 1.5).
  virtual ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) = 0;
  /// What the promises stand on: versions, durability, privileges, clocks, and the tables that the
  /// handlers' `statements` name. Changes nothing; throws only if the database cannot be asked.
  virtual std::vector<Finding> examine(std::span<const std::string> statements) = 0;
  /// Why a handler's statement cannot be prepared, in the database's words; empty if it can.
  virtual std::string statement_defect(std::string_view sql) = 0;
};

}  // namespace onefold
