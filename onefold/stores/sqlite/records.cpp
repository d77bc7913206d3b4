#include "onefold/stores/sqlite/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "onefold/stores/sqlite/deferred.h"

namespace onefold::sqlite {
namespace {

Timestamp time_at(const Statement& row, int column) {
  return Timestamp{std::chrono::microseconds{row.integer_at(column)}};
}

Outcome outcome_at(const Statement& row, int column) {
  const std::int64_t stored = row.integer_at(column);
  if (stored < 0 || stored >= static_cast<std::int64_t>(outcome_count)) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the inbox holds an outcome {} that this program does not know: use a "
                            "newer one",
                            stored)};
  }
  return static_cast<Outcome>(stored);
}

/// From the columns of `inbox_scan_sql`.
InboxRecord inbox_record(const Statement& row, std::int32_t scope) {
  InboxRecord record;
  record.key.scope = scope;
  row.copy_blob(1, record.key.bytes);
  record.outcome = outcome_at(row, 2);
  record.waiting = row.integer_at(3) != 0;
  record.event_source = row.text_at(4);
  record.event_id = row.text_at(5);
  record.event_type = row.text_at(6);
  if (!row.is_null(7)) record.event_time = time_at(row, 7);
  record.entity = row.text_at(8);
  record.handled_by = row.text_at(9);
  row.copy_blob(10, record.fingerprint);
  record.result = row.text_at(11);
  record.recorded_at = time_at(row, 12);
  return record;
}

class DatabaseRecords final : public Records {
 public:
  explicit DatabaseRecords(const Options& options) : connection_{options, nullptr} {}

  std::vector<ConsumerRecord> consumers() override;
  std::vector<ConsumerStatus> status() override;
  std::vector<ScopeRecord> scopes() override;
  std::optional<InboxRecord> evidence(const Key& key) override {
    return select_evidence(connection_, key);
  }
  InboxPage inbox(const InboxFilter& filter) override;
  InboxCounts count(const InboxFilter& filter) override;
  std::vector<DeferredRecord> deferred(const DeferredFilter& filter) override {
    const Connection::Inside inside{connection_};
    return select_deferred(connection_, filter);
  }

 private:
  void count_inbox(ConsumerId id, ConsumerStatus& status);
  void count_deferred(ConsumerId id, ConsumerStatus& status);
  template <class Answer, class Take>
  void scan(const InboxFilter& filter, Answer& answer, Take take);

  Connection connection_;
};

std::vector<ConsumerRecord> DatabaseRecords::consumers() {
  const Connection::Inside inside{connection_};
  std::vector<ConsumerRecord> all;
  Statement& select =
      connection_.own("SELECT name, rules, mode, id FROM main.onefold_consumer ORDER BY name");
  const ResetAtEnd reset{select};
  while (select.step()) {
    all.push_back({select.text_at(0), select.text_at(1), select.text_at(2),
                   static_cast<ConsumerId>(select.integer_at(3))});
  }
  return all;
}

void DatabaseRecords::count_inbox(ConsumerId id, ConsumerStatus& status) {
  Statement& count = connection_.own(inbox_counts_sql);
  const ResetAtEnd reset{count};
  if (!count.integer(1, id).step() || count.is_null(0)) return;
  status.last_recorded_at = time_at(count, 0);
  // Throw if there is one that is not counted.
  outcome_at(count, 1);
  outcome_at(count, 2);
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const std::int64_t rows = count.integer_at(static_cast<int>(i) + 3);
    if (rows > 0) status.inbox.emplace_back(to_string(static_cast<Outcome>(i)), rows);
  }
}

void DatabaseRecords::count_deferred(ConsumerId id, ConsumerStatus& status) {
  {
    Statement& count = connection_.own(deferred_counts_sql);
    const ResetAtEnd reset{count};
    count.integer(1, id).step();
    int column = 0;
    for (const DeferralReason reason :
         {DeferralReason::behind, DeferralReason::conflict, DeferralReason::dead,
          DeferralReason::quarantine, DeferralReason::retry}) {
      const std::int64_t rows = count.integer_at(column++);
      if (rows > 0) status.deferred.emplace_back(to_string(reason), rows);
    }
  }
  Statement& next = connection_.own(
      "SELECT min(due_at) FROM main.onefold_deferred WHERE consumer = ? AND due_at IS NOT NULL");
  const ResetAtEnd reset{next};
  if (next.integer(1, id).step() && !next.is_null(0)) status.next_due_at = time_at(next, 0);
}

std::vector<ConsumerStatus> DatabaseRecords::status() {
  const Connection::Inside inside{connection_};
  std::vector<ConsumerStatus> all;
  Statement& select =
      connection_.own("SELECT id, name, rules, mode FROM main.onefold_consumer ORDER BY name");
  // Open until the end: everything is read from the snapshot of this first row.
  const ResetAtEnd reset{select};
  while (select.step()) {
    ConsumerStatus& status = all.emplace_back();
    const auto id = static_cast<ConsumerId>(select.integer_at(0));
    status.name = select.text_at(1);
    status.rules = select.text_at(2);
    status.mode = select.text_at(3);
    count_inbox(id, status);
    count_deferred(id, status);
    status.positions = select_positions(connection_, id, std::nullopt);
    std::erase_if(status.positions, is_of_replay);
  }
  return all;
}

std::vector<ScopeRecord> DatabaseRecords::scopes() {
  const Connection::Inside inside{connection_};
  std::vector<ScopeRecord> all;
  Statement& select = connection_.own(
      "SELECT s.id, c.name, s.handler, s.source_or_rule, s.key_form, s.event_source "
      "FROM main.onefold_scope s JOIN main.onefold_consumer c ON c.id = s.consumer ORDER BY s.id");
  const ResetAtEnd reset{select};
  while (select.step()) {
    all.push_back({static_cast<std::int32_t>(select.integer_at(0)), select.text_at(1),
                   select.text_at(2), select.text_at(3), select.text_at(4),
                   select.integer_at(5) == 0});
  }
  return all;
}

/// Reads on from `filter.after`, scope by scope, and hands the rows that fit to `take`, which says
/// whether it wants more.
template <class Answer, class Take>
void DatabaseRecords::scan(const InboxFilter& filter, Answer& answer, Take take) {
  static constexpr std::array<std::uint8_t, 0> before_all{};
  const auto all = scopes_for(filter, scopes());
  const Connection::Inside inside{connection_};
  Statement& select = connection_.own(inbox_scan_sql);
  for (const ScopeRecord& scope : all) {
    const ResetAtEnd reset{select};
    const bool resumed = filter.after && filter.after->scope == scope.scope;
    select.integer(1, scope.scope);
    resumed ? select.blob(2, filter.after->bytes) : select.blob(2, before_all);
    select.integer(3, filter.rows_read_max - answer.rows_read);
    filter.outcome ? select.integer(4, static_cast<std::int64_t>(*filter.outcome)) : select.null(4);
    select.text_or_null(5, filter.event_type).text_or_null(6, filter.event_source);
    select.text(7, scope.source_or_rule).text_or_null(8, filter.event_id);
    filter.since ? select.integer(9, filter.since->time_since_epoch().count()) : select.null(9);
    while (select.step()) {
      ++answer.rows_read;
      const bool fits = select.integer_at(0) != 0;
      const bool wants_more = !fits || take(select, scope);
      if (wants_more && answer.rows_read < filter.rows_read_max) continue;
      answer.next.emplace().scope = scope.scope;
      select.copy_blob(1, answer.next->bytes);
      return;
    }
  }
}

InboxPage DatabaseRecords::inbox(const InboxFilter& filter) {
  InboxPage page;
  scan(filter, page, [&](const Statement& row, const ScopeRecord& scope) {
    page.records.push_back(inbox_record(row, scope.scope));
    return page.records.size() < filter.limit;
  });
  return page;
}

InboxCounts DatabaseRecords::count(const InboxFilter& filter) {
  InboxCounts answer;
  std::map<std::tuple<std::string, Outcome, bool, std::string>, std::int64_t> rows;
  scan(filter, answer, [&](const Statement& row, const ScopeRecord& scope) {
    ++rows[{scope.consumer, outcome_at(row, 2), row.integer_at(3) != 0, row.text_at(9)}];
    return true;
  });
  for (const auto& [kind, count] : rows) {
    const auto& [consumer, outcome, waiting, handled_by] = kind;
    answer.counts.push_back({consumer, outcome, waiting, handled_by, count});
  }
  return answer;
}

}  // namespace

std::unique_ptr<Records> open_records(const Options& options) {
  return std::make_unique<DatabaseRecords>(options);
}

std::optional<InboxRecord> select_evidence(Connection& connection, const Key& key) {
  const Connection::Inside inside{connection};
  Statement& select = connection.own(
      "SELECT 1, i.key, i.outcome, i.waiting, coalesce(i.event_source, s.source_or_rule, ''), "
      "i.event_id, i.event_type, i.event_time, i.entity, i.handled_by, i.fingerprint, i.result, "
      "i.recorded_at FROM main.onefold_inbox i LEFT JOIN main.onefold_scope s ON s.id = i.scope "
      "WHERE i.scope = ? AND i.key = ?");
  const ResetAtEnd reset{select};
  if (!select.integer(1, key.scope).blob(2, key.bytes).step()) return std::nullopt;
  return inbox_record(select, key.scope);
}

std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source) {
  Statement& select = connection.own(
      "SELECT source, incarnation, partition, next_high, next_low, mark "
      "FROM main.onefold_position WHERE consumer = ?1 AND (?2 IS NULL OR source = ?2) "
      "ORDER BY source, incarnation, partition");
  const ResetAtEnd reset{select};
  select.integer(1, consumer);
  source ? select.text(2, *source) : select.null(2);
  std::vector<Position> positions;
  while (select.step()) {
    auto partition = std::make_shared<const Partition>(
        Partition{select.text_at(0), select.text_at(1), select.text_at(2)});
    const Offset next = offset_of(select, 3);
    const auto mark = static_cast<std::uint64_t>(select.integer_at(5));
    positions.push_back({std::move(partition), next, next, mark});
  }
  return positions;
}

}  // namespace onefold::sqlite
