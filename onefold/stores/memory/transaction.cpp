#include <algorithm>
#include <limits>
#include <stdexcept>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

[[noreturn]] void refuse(const std::string& why, FailureClass what = FailureClass::statement) {
  throw Error{ErrorKind::permanent, why, what};
}

template <class Type>
const Type& parameter(Parameters parameters, std::string_view name) {
  for (const Parameter& candidate : parameters.view()) {
    if (candidate.name != name) continue;
    if (const Type* value = std::get_if<Type>(&candidate.value)) return *value;
    refuse("The parameter :" + std::string{name} + " does not have the type of its column.",
           FailureClass::data);
  }
  refuse("The parameter :" + std::string{name} + " is missing.");
}

InboxRecord to_record(const Evidence& evidence) {
  return {.key = evidence.key,
          .outcome = evidence.outcome,
          .waiting = evidence.waiting,
          .event_source = std::string{evidence.event_source},
          .event_id = std::string{evidence.event_id},
          .event_type = std::string{evidence.event_type},
          .event_time = evidence.event_time,
          .entity = std::string{evidence.entity},
          .handled_by = std::string{evidence.handled_by},
          .fingerprint = evidence.fingerprint,
          .result = std::string{evidence.result},
          .recorded_at = evidence.recorded_at};
}

DeferredRecord to_record(const Deferral& deferral, const std::string& consumer) {
  const bool failed =
      deferral.reason == DeferralReason::dead || deferral.reason == DeferralReason::retry;
  DeferredRecord record{.id = 0,
                        .consumer = consumer,
                        .key = deferral.key,
                        .further_keys = deferral.further_keys,
                        .fingerprint = deferral.fingerprint,
                        .reason = to_string(deferral.reason),
                        .failure = failed ? to_string(deferral.failure) : "",
                        .entity = std::string{deferral.entity},
                        .handler = std::string{deferral.handler},
                        .errors = {deferral.errors.begin(), deferral.errors.end()},
                        .attempts = deferral.attempts,
                        .decoded = deferral.delivery->defect.empty(),
                        .count = 1,
                        .source = std::string{deferral.source},
                        .position = deferral.delivery->position,
                        .event = deferral.delivery->event,
                        .raw = deferral.delivery->raw,
                        .first_at = deferral.recorded_at,
                        .last_at = deferral.recorded_at};
  if (deferral.reason == DeferralReason::retry) record.due_at = Timestamp{};
  return record;
}

class MemoryTransaction final : public Transaction, public Ledger, public Statements {
 public:
  MemoryTransaction(std::shared_ptr<Database> database, int session)
      : database_{std::move(database)},
        session_{session},
        open_{std::make_shared<OpenTransaction>()},
        rows_{database_, session_, open_},
        waiting_room_{open_waiting_room(rows_)} {
    open_->number = ++database_->transactions;
    database_->open.emplace(session_, open_);
  }
  ~MemoryTransaction() override {
    if (rows_.is_open()) database_->roll_back(session_);
  }
  MemoryTransaction(const MemoryTransaction&) = delete;
  MemoryTransaction& operator=(const MemoryTransaction&) = delete;

  Ledger& ledger() override { return *this; }
  WaitingRoom& waiting_room() override { return *waiting_room_; }
  Statements& statements() override { return *this; }

  void verify() override {
    // On a pipelined connection a failure is known only at the next call that waits.
    if (!database_->options.late_errors) check();
  }
  void savepoint() override {
    check();
    open_->savepoint = open_->writes.size();
  }
  void rollback_to_savepoint() override {
    rows_.check_open();
    if (open_->poison && open_->poison->kind() != ErrorKind::permanent) check();
    if (!open_->savepoint) throw std::logic_error{"there is no savepoint to roll back to"};
    open_->writes.reverse_to(*open_->savepoint);
    open_->poison.reset();
  }
  CommitAnswer commit() override {
    check();
    const CommitFate fate =
        database_->commit_fate ? database_->commit_fate(session_) : CommitFate::worked;
    const bool worked = fate == CommitFate::worked || fate == CommitFate::in_doubt_worked;
    worked ? database_->commit(session_) : database_->roll_back(session_);
    if (fate == CommitFate::worked) return CommitResult::committed;
    if (fate == CommitFate::refused) return CommitResult::refused;
    database_->break_session(session_);
    return CommitResult::in_doubt;
  }

  std::vector<Claim> claim(std::span<const Evidence> wanted, ClaimMode mode) override {
    return atomically([&] {
      std::vector<Claim> claims;
      for (const Evidence& evidence : wanted) claims.push_back(claim_one(evidence, mode));
      return claims;
    });
  }
  void withdraw(std::span<const Key> keys) override {
    atomically([&] {
      for (const Key& key : keys) {
        // What was there before this transaction is removed; what was claimed in it never was.
        const bool earlier = database_->committed.tables.inbox.contains(key);
        earlier ? writes().put(&Tables::inbox, key, InboxRow{})
                : writes().erase(&Tables::inbox, key);
      }
    });
  }
  void record(std::span<const Evidence> evidence, ClaimMode mode) override {
    atomically([&] {
      for (const Evidence& one : evidence) {
        mode == ClaimMode::optimistic ? insert_evidence(one) : update_evidence(one);
      }
    });
  }
  void defer(std::span<const Deferral> deferrals) override {
    atomically([&] {
      for (const Deferral& deferral : deferrals) defer_one(deferral);
    });
  }
  void advance(ConsumerId consumer, std::span<const Position> positions) override {
    atomically([&] {
      if (positions.empty()) {
        take(&Tables::touches, consumer);
        const std::int64_t* own = written(&Tables::touches, consumer);
        writes().put(&Tables::touches, consumer, own == nullptr ? 1 : *own + 1);
      }
      for (const Position& position : positions) advance_one(consumer, position);
    });
  }

  void execute(std::string_view sql, Parameters parameters,
               std::optional<std::int64_t> expected_rows) override {
    answered([&] {
      check();
      try {
        return atomically([&] {
          const std::int64_t rows = write_cell(sql, parameters);
          if (expected_rows && rows != *expected_rows) {
            refuse("A statement changed " + std::to_string(rows) + " rows instead of " +
                       std::to_string(*expected_rows) + ".",
                   FailureClass::rows);
          }
          return rows;
        });
      } catch (const Error&) {
        // On a pipelined connection the failure is not known yet; it stands as the poison.
        if (!database_->options.late_errors) throw;
        return std::int64_t{0};
      }
    });
  }
  std::int64_t change(std::string_view sql, Parameters parameters) override {
    return answered([&] { return atomically([&] { return write_cell(sql, parameters); }); });
  }
  Rows query(std::string_view sql, Parameters parameters) override {
    return answered([&] {
      return atomically([&]() -> Rows {
        if (sql != select_cell) refuse("The model knows no such query.");
        const auto* amount = visible(&Tables::cells, parameter<std::string>(parameters, "name"));
        if (amount == nullptr) return {};
        return {{Value{*amount}}};
      });
    });
  }

 private:
  void check() { rows_.check(); }
  template <class Statement>
  auto atomically(Statement statement) -> decltype(statement()) {
    return rows_.atomically(std::move(statement));
  }
  template <class Table>
  const typename Table::mapped_type* written(Table Tables::* table,
                                             const typename Table::key_type& id) const {
    return rows_.written(table, id);
  }
  template <class Table>
  const typename Table::mapped_type* visible(Table Tables::* table,
                                             const typename Table::key_type& id) const {
    return rows_.visible(table, id);
  }
  template <class Table>
  void take(Table Tables::* table, const typename Table::key_type& id) {
    rows_.take(table, id);
  }

  /// A handler's statement. In a step that goes on after it had to wait, those that have finished
  /// answer as they did then.
  template <class Statement>
  auto answered(Statement statement) -> decltype(statement()) {
    Answers& answers = open_->answers;
    if (answers.next < answers.given.size()) {
      const auto& given = answers.given[answers.next++];
      if (const auto* error = std::get_if<Error>(&given)) throw Error{*error};
      return std::get<decltype(statement())>(given);
    }
    try {
      auto answer = statement();
      answers.given.emplace_back(answer);
      ++answers.next;
      return answer;
    } catch (const Error& error) {
      answers.given.emplace_back(error);
      ++answers.next;
      throw;
    }
  }

  Claim claim_one(const Evidence& wanted, ClaimMode mode) {
    if (mode == ClaimMode::claim_first) take(&Tables::inbox, wanted.key);
    if (const InboxRow* row = visible(&Tables::inbox, wanted.key)) {
      const InboxRecord* first = row->get();
      return {first->waiting ? ClaimState::waiting : ClaimState::known, first->fingerprint,
              first->recorded_at};
    }
    if (mode == ClaimMode::claim_first) write_evidence(wanted);
    return {};
  }

  void insert_evidence(const Evidence& evidence) {
    take(&Tables::inbox, evidence.key);
    if (visible(&Tables::inbox, evidence.key) != nullptr) {
      throw Error{ErrorKind::contention,
                  "A rival has recorded one of the keys meanwhile. Run the batch again."};
    }
    write_evidence(evidence);
  }
  void update_evidence(const Evidence& evidence) {
    if (written(&Tables::inbox, evidence.key) == nullptr) {
      throw std::logic_error{"evidence of a key that this transaction has not claimed"};
    }
    write_evidence(evidence);
  }
  void write_evidence(const Evidence& evidence) {
    writes().put(&Tables::inbox, evidence.key,
                 std::make_shared<const InboxRecord>(to_record(evidence)));
  }

  /// What was taken out of the waiting room goes back, and keeps what it came with.
  void defer_again(const Deferral& deferral) {
    const DeferredId id{deferral.waiting->key, {}};
    const DeferredRow* row = written(&Tables::deferred, id);
    if (row == nullptr || !*row || (*row)->id != deferral.waiting->id) {
      throw Error{ErrorKind::contention, "An event that was taken does not wait any more."};
    }
    DeferredRecord again = **row;
    const DeferredRecord now = to_record(deferral, again.consumer);
    again.reason = now.reason;
    again.failure = now.failure;
    again.handler = now.handler;
    again.errors = now.errors;
    again.attempts = now.attempts;
    again.entity = now.entity;
    again.due_at.reset();
    if (now.due_at) again.due_at = database_->later();
    again.last_at = now.last_at;
    const bool goes_on =
        deferral.reason == DeferralReason::retry || deferral.reason == DeferralReason::behind;
    if (!goes_on) again.replay.clear();
    writes().put(&Tables::deferred, id, std::make_shared<const DeferredRecord>(std::move(again)));
  }

  void defer_one(const Deferral& deferral) {
    if (deferral.waiting != nullptr) return defer_again(deferral);
    const bool conflict = deferral.reason == DeferralReason::conflict;
    DeferredId id{deferral.key, {}};
    if (conflict) id.conflicting = deferral.fingerprint;
    take(&Tables::deferred, id);
    if (const DeferredRow* first = visible(&Tables::deferred, id)) {
      DeferredRecord repeated = **first;
      ++repeated.count;
      repeated.last_at = deferral.recorded_at;
      writes().put(&Tables::deferred, id,
                   std::make_shared<const DeferredRecord>(std::move(repeated)));
      return;
    }
    const InboxRow* claim = written(&Tables::inbox, deferral.key);
    if (!conflict && (claim == nullptr || !*claim)) {
      throw std::logic_error{"an event is set aside whose key this transaction does not hold"};
    }
    const auto& consumers = database_->committed.consumers;
    const auto consumer = consumers.find(deferral.consumer);
    DeferredRecord row =
        to_record(deferral, consumer == consumers.end() ? "" : consumer->second.name);
    if (row.due_at) row.due_at = database_->later();
    // Its place among the new rows; rows are never removed within a transaction but by an undo.
    row.id = -static_cast<std::int64_t>(writes().rows().deferred.size()) - 1;
    writes().put(&Tables::deferred, id, std::make_shared<const DeferredRecord>(std::move(row)));
  }

  void advance_one(ConsumerId consumer, const Position& position) {
    const PositionId id{consumer, *position.partition};
    take(&Tables::positions, id);
    const PositionRow* reached = visible(&Tables::positions, id);
    const bool forward = reached == nullptr || position.next > reached->next;
    const PositionRow row = forward ? PositionRow{position.next, position.mark} : *reached;
    writes().put(&Tables::positions, id, row);
  }

  std::int64_t write_cell(std::string_view sql, Parameters parameters) {
    if (sql != insert_cell && sql != update_cell && sql != set_cell)
      refuse("The model knows no such statement.");
    const auto& name = parameter<std::string>(parameters, "name");
    const auto amount = parameter<std::int64_t>(parameters, "amount");
    take(&Tables::cells, name);
    const std::int64_t* present = visible(&Tables::cells, name);
    if (sql == insert_cell) {
      if (present != nullptr)
        refuse("The table cell has a row of this name already.", FailureClass::constraint);
      writes().put(&Tables::cells, name, amount);
      return 1;
    }
    if (present == nullptr) return 0;
    std::int64_t sum = amount;
    if (sql == update_cell && __builtin_add_overflow(*present, amount, &sum))
      refuse("The sum does not fit 64 bits.", FailureClass::data);
    writes().put(&Tables::cells, name, sum);
    return 1;
  }

  WriteSet& writes() { return open_->writes; }

  std::shared_ptr<Database> database_;
  int session_;
  std::shared_ptr<OpenTransaction> open_;
  Access rows_;
  std::unique_ptr<WaitingRoom> waiting_room_;
};

}  // namespace

std::unique_ptr<Transaction> begin(std::shared_ptr<Database> database, int session) {
  return std::make_unique<MemoryTransaction>(std::move(database), session);
}

}  // namespace onefold::memory
