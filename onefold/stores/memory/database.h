#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/memory/memory.h"

/// The state behind the model: rows as they were committed, and one private write set per open
/// transaction. Private to this folder.
namespace onefold::memory {

/// The statements that the model knows.
inline constexpr std::string_view insert_cell =
    "INSERT INTO cell (name, amount) VALUES (:name, :amount)";
inline constexpr std::string_view update_cell =
    "UPDATE cell SET amount = amount + :amount WHERE name = :name";
inline constexpr std::string_view select_cell = "SELECT amount FROM cell WHERE name = :name";

struct PositionId {
  ConsumerId consumer = 0;
  Partition partition;
  auto operator<=>(const PositionId&) const = default;
};

struct PositionRow {
  Offset next;
  std::uint64_t mark = 0;
};

/// What makes a deferred row unique: a conflict has its fingerprint too, all others only their key.
struct DeferredId {
  Key key;
  std::optional<Fingerprint> conflicting;
  auto operator<=>(const DeferredId&) const = default;
};

struct ScopeId {
  ConsumerId consumer = 0;
  std::string handler;
  std::string source_or_rule;
  std::string key_form;
  auto operator<=>(const ScopeId&) const = default;
};

struct ScopeRow {
  std::int32_t number = 0;
  bool counts = false;  ///< Towards the consumer's limit of event sources.
};

/// The rows that transactions write. In a write set each row stands as it will be committed:
/// whoever wrote a row holds it, so nobody else can change it meanwhile.
struct Tables {
  std::map<Key, InboxRecord> inbox;
  std::map<DeferredId, DeferredRecord> deferred;
  std::map<PositionId, PositionRow> positions;
  std::map<ConsumerId, std::int64_t> touches;  ///< Of the consumer rows: how often.
  Cells cells;
};

struct Committed {
  Tables tables;
  std::map<ConsumerId, ConsumerRules> consumers;
  std::map<ScopeId, ScopeRow> scopes;
  std::vector<AuditRecord> audit;
  std::int64_t last_deferred_id = 0;
  bool migrated = false;
};

/// All that an open transaction can undo.
struct Work {
  Tables writes;
  std::optional<Tables> savepoint;
  std::optional<Error> poison;  ///< The first failure: thrown again by every later call.
};

struct OpenTransaction {
  Work work;
  std::optional<Work> mark;  ///< As it was when the scheduler began the step.
  int waits_for = 0;         ///< The session it was blocked by, until it runs again.
};

/// Shared by the model and its sessions. Open transactions by the number of their session.
struct Database {
  Options options;
  Committed committed;
  std::map<int, std::shared_ptr<OpenTransaction>> open;
  int last_session = 0;
  int epoch = 0;  ///< Raised by a restore: sessions of an earlier epoch are broken.

  /// Another session whose write set has the row; 0 if there is none.
  template <class Table, class Id>
  int holder_of(Table Tables::* table, const Id& id, int besides) const {
    for (const auto& [session, transaction] : open) {
      if (session != besides && (transaction->work.writes.*table).contains(id)) return session;
    }
    return 0;
  }
  /// Ends the call of `session` because `holder` has what it wants: throws `Blocked`, or the
  /// `contention` of a deadlock if the holder waits for this session already.
  [[noreturn]] void wait_for(int holder, int session);
  void commit(int session);
  /// The model has no clock: audit rows have no time.
  void add_audit(const std::string& who, const char* action, const std::string& detail) {
    const auto id = static_cast<std::int64_t>(committed.audit.size()) + 1;
    committed.audit.push_back({id, Timestamp{}, who, action, detail});
  }
  void roll_back(int session);
};

std::unique_ptr<Transaction> begin(std::shared_ptr<Database> database, int session);
std::unique_ptr<Housekeeping> keep_house(std::shared_ptr<Database> database);
std::unique_ptr<Records> read_records(std::shared_ptr<Database> database);
std::unique_ptr<Decisions> take_decisions(std::shared_ptr<Database> database);

}  // namespace onefold::memory
