#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/replays.h"
#include "onefold/runs.h"
#include "onefold/stores/memory/memory.h"

/// The state behind the model: rows as they were committed, and one private write set per open
/// transaction. Private to this folder.
namespace onefold::memory {

/// The statements that the model knows.
inline constexpr std::string_view insert_cell =
    "INSERT INTO cell (name, amount) VALUES (:name, :amount)";
inline constexpr std::string_view update_cell =
    "UPDATE cell SET amount = amount + :amount WHERE name = :name";
inline constexpr std::string_view set_cell = "UPDATE cell SET amount = :amount WHERE name = :name";
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

/// Rows are never changed, only replaced: copies of tables share them. In a write set, null is a
/// row that the transaction has removed.
using InboxRow = std::shared_ptr<const InboxRecord>;
using DeferredRow = std::shared_ptr<const DeferredRecord>;
using PauseRow = std::shared_ptr<const PauseRecord>;
using ReplayRow = std::shared_ptr<const ReplayRecord>;

/// The rows that transactions write. In a write set each row stands as it will be committed:
/// whoever wrote a row holds it, so nobody else can change it meanwhile.
struct Tables {
  std::map<Key, InboxRow> inbox;
  std::map<DeferredId, DeferredRow> deferred;
  std::map<PositionId, PositionRow> positions;
  std::map<ConsumerId, std::int64_t> touches;  ///< Of the consumer rows: how often.
  std::map<ConsumerId, PauseRow> pauses;
  std::map<std::string, ReplayRow> replays;
  Cells cells;
};

struct Committed {
  Tables tables;
  std::map<ConsumerId, ConsumerRules> consumers;
  std::map<ScopeId, ScopeRow> scopes;
  std::vector<AuditRecord> audit;
  std::map<RunId, RunRecord> runs;
  std::map<std::pair<ConsumerId, std::string>, int> careful;  ///< By consumer and source.
  std::map<Key, std::pair<ConsumerId, Suspect>> suspects;
  RunId last_run = 0;
  std::map<std::string, std::int64_t> replays_passed;  ///< Their last row that had its turn.
  std::int64_t last_deferred_id = 0;
  bool migrated = false;
};

/// The row of a write set as it was before a change; absent if it was not there.
template <class Table>
struct Before {
  Table Tables::* table;
  typename Table::key_type id;
  std::optional<typename Table::mapped_type> row;
};
using Change = std::variant<Before<decltype(Tables::inbox)>, Before<decltype(Tables::deferred)>,
                            Before<decltype(Tables::positions)>, Before<decltype(Tables::touches)>,
                            Before<decltype(Tables::pauses)>, Before<decltype(Tables::replays)>,
                            Before<decltype(Tables::cells)>>;

/// What an open transaction has written, and how to undo it: statements, steps and savepoints are
/// places in the list of changes.
class WriteSet {
 public:
  const Tables& rows() const noexcept { return rows_; }
  std::size_t size() const noexcept { return changes_.size(); }

  template <class Table>
  void put(Table Tables::* table, const typename Table::key_type& id,
           typename Table::mapped_type row) {
    const auto [place, is_new] = (rows_.*table).try_emplace(id, row);
    if (is_new) {
      changes_.emplace_back(Before<Table>{table, id, {}});
    } else {
      changes_.emplace_back(Before<Table>{table, id, std::exchange(place->second, std::move(row))});
    }
  }
  template <class Table>
  void erase(Table Tables::* table, const typename Table::key_type& id) {
    const auto found = (rows_.*table).find(id);
    if (found == (rows_.*table).end()) return;
    changes_.emplace_back(Before<Table>{table, id, std::move(found->second)});
    (rows_.*table).erase(found);
  }
  /// Forgets the changes since there were `size`.
  void undo_to(std::size_t size);
  /// The same, as changes that can be undone themselves.
  void reverse_to(std::size_t size);
  /// For the commit: empties the rows.
  Tables release() noexcept { return std::exchange(rows_, {}); }

 private:
  Tables rows_;
  std::vector<Change> changes_;
};

/// A moment of an open transaction.
struct Mark {
  std::size_t writes = 0;
  std::optional<std::size_t> savepoint;
  std::optional<Error> poison;
};

/// What the statements of a step have answered: a handler that reads, waits for a rival and then
/// writes must not read again.
struct Answers {
  std::vector<std::variant<std::int64_t, Rows, Error>> given;
  std::size_t next = 0;
  bool again = false;  ///< The step is about to run again, from its start.
};

struct OpenTransaction {
  std::uint64_t number = 0;  ///< Among all transactions there ever were.
  WriteSet writes;
  std::optional<std::size_t> savepoint;  ///< A size of the write set.
  std::optional<Error> poison;           ///< The first failure: thrown again by every later call.
  std::optional<Mark> mark;              ///< As it was when the scheduler began the step.
  int waits_for = 0;                     ///< The session it was blocked by, until it runs again.
  Answers answers;

  /// Rolled back by the database, and its owner does not know yet.
  void abort(Error why);
};

/// Shared by the model and its sessions. Open transactions by the number of their session.
struct Database {
  Options options;
  Committed committed;
  std::map<int, std::shared_ptr<OpenTransaction>> open;
  int last_session = 0;
  int epoch = 0;         ///< Raised by a restore: sessions of an earlier epoch are broken.
  std::set<int> broken;  ///< Single sessions that are.
  std::uint64_t transactions = 0;
  std::uint64_t versions = 0;  ///< How often what is committed has changed.
  std::uint64_t deadlocks = 0;
  std::optional<std::int64_t> time;  ///< How often it has passed; absent: nobody counts.
  std::function<CommitFate(int)> commit_fate;

  /// When something is due that is set aside for a while now.
  Timestamp later() const { return Timestamp{std::chrono::microseconds{time ? *time + 1 : 0}}; }
  bool has_come(Timestamp due) const { return !time || due.time_since_epoch().count() <= *time; }

  /// Another session whose write set has the row; 0 if there is none.
  template <class Table, class Id>
  int holder_of(Table Tables::* table, const Id& id, int besides) const {
    for (const auto& [session, transaction] : open) {
      if (session != besides && (transaction->writes.rows().*table).contains(id)) return session;
    }
    return 0;
  }
  /// Ends the call of `session` because `holder` has what it wants: throws `Blocked`, or the
  /// `contention` of a deadlock if they wait for each other. Returns if `holder` had to give up.
  void wait_for(int holder, int session);
  void commit(int session);
  /// The session is gone, and its open transaction with it.
  void break_session(int session);
  /// The model has no clock: audit rows have no time.
  void add_audit(const std::string& who, const char* action, const std::string& detail) {
    const auto id = static_cast<std::int64_t>(committed.audit.size()) + 1;
    committed.audit.push_back({id, Timestamp{}, who, action, detail});
  }
  void roll_back(int session);

 private:
  /// Who of a circle of waiters has to give up; 0 if there is none.
  int victim(int holder, int session) const;
  void stop_waiting_for(int session);
};

/// The rows that an open transaction sees and writes.
class Access {
 public:
  Access(std::shared_ptr<Database> database, int session, std::shared_ptr<OpenTransaction> open)
      : database_{std::move(database)}, session_{session}, open_{std::move(open)} {}

  WriteSet& writes() const { return open_->writes; }
  Committed& committed() const { return database_->committed; }
  const Database& database() const { return *database_; }

  template <class Table>
  static const typename Table::mapped_type* find(const Table& table,
                                                 const typename Table::key_type& id) {
    const auto found = table.find(id);
    return found == table.end() ? nullptr : &found->second;
  }
  /// Its own row.
  template <class Table>
  const typename Table::mapped_type* written(Table Tables::* table,
                                             const typename Table::key_type& id) const {
    return find(open_->writes.rows().*table, id);
  }
  /// What this transaction sees: its own row, else the committed one.
  template <class Table>
  const typename Table::mapped_type* visible(Table Tables::* table,
                                             const typename Table::key_type& id) const {
    const auto* row = written(table, id);
    if (row == nullptr) row = find(database_->committed.tables.*table, id);
    if constexpr (std::is_constructible_v<bool, typename Table::mapped_type> &&
                  !std::is_arithmetic_v<typename Table::mapped_type>) {
      if (row != nullptr && !*row) return nullptr;
    }
    return row;
  }
  /// Takes the right to write a row, or waits for whoever has it.
  template <class Table>
  void take(Table Tables::* table, const typename Table::key_type& id) const {
    while (const int holder = database_->holder_of(table, id, session_)) {
      database_->wait_for(holder, session_);
    }
  }
  /// One statement: a failure or a wait leaves nothing of it, and a failure poisons what follows.
  template <class Statement>
  auto atomically(Statement statement) const -> decltype(statement()) {
    check();
    const std::size_t before = writes().size();
    try {
      return statement();
    } catch (const Error& error) {
      // A deadlock may have undone the whole transaction.
      if (writes().size() > before) writes().undo_to(before);
      open_->poison = error;
      throw;
    } catch (...) {
      writes().undo_to(before);
      throw;
    }
  }
  bool is_open() const;
  void check_open() const;
  void check() const;

 private:
  std::shared_ptr<Database> database_;
  int session_;
  std::shared_ptr<OpenTransaction> open_;
};

/// Whether a row is one of those that a filter asks for; its page is not regarded.
bool fits(const DeferredFilter& filter, const DeferredRecord& row);
DeferredId id_of(const DeferredRecord& row);
bool waits_for_a_person(const DeferredRecord& row);

/// As `Model::digest`.
std::uint64_t digest_of(const Tables& tables, const std::map<ScopeId, ScopeRow>& scopes);
std::uint64_t digest_of_times(const Tables& tables);
std::uint64_t digest_of(const Answers& answers);

std::unique_ptr<Transaction> begin(std::shared_ptr<Database> database, int session);
std::unique_ptr<Housekeeping> keep_house(std::shared_ptr<Database> database);
std::unique_ptr<Records> read_records(std::shared_ptr<Database> database);
std::unique_ptr<Decisions> take_decisions(std::shared_ptr<Database> database);
std::unique_ptr<Replays> keep_replays(std::shared_ptr<Database> database);
std::unique_ptr<Runs> keep_runs(std::shared_ptr<Database> database);
std::unique_ptr<WaitingRoom> open_waiting_room(Access access);
Due due_in(const Database& database, const DueQuery& query);

}  // namespace onefold::memory
