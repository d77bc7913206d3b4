#include "onefold/stores/mariadb/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "onefold/stores/mariadb/deferred.h"

namespace onefold::mariadb {
namespace {

/// Rows that are fetched at once: whoever has enough has not paid for many more.
constexpr std::int64_t rows_at_once = 1000;

/// The rows of one scope behind a key, and of each whether it fits: rows that do not are counted by
/// the caller, who wants to stop after so many.
constexpr const char* inbox_scan_sql =
    "SELECT (? = 0 OR outcome = ?) AND (? = 0 OR event_type = ?) AND "
    "(? = 0 OR COALESCE(event_source, ?) = ?) AND (? = 0 OR event_id = ?) AND "
    "(? = 0 OR recorded_at >= ?), event_key, outcome, waiting, COALESCE(event_source, ?), "
    "event_id, event_type, event_time, entity, handled_by, fingerprint, result, recorded_at "
    "FROM onefold_inbox WHERE scope = ? AND event_key > ? ORDER BY event_key LIMIT ?";
constexpr std::size_t scan_parameters = 15;

Timestamp time_at(const Statement& row, std::size_t column) {
  return Timestamp{std::chrono::microseconds{row.integer_at(column)}};
}

Outcome outcome_at(const Statement& row, std::size_t column) {
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

/// Everything that is read while it lives is of one moment.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_{connection} {
    connection_.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "beginning to read");
    connection_.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
                        "beginning to read");
  }
  ~Snapshot() { connection_.rollback(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

class DatabaseRecords final : public Records {
 public:
  explicit DatabaseRecords(const Options& options) : connection_{options, Purpose::look} {}

  std::vector<ConsumerRecord> consumers() override;
  std::vector<ConsumerStatus> status() override;
  std::vector<ScopeRecord> scopes() override;
  std::optional<InboxRecord> evidence(const Key& key) override {
    return select_evidence(connection_, key);
  }
  InboxPage inbox(const InboxFilter& filter) override;
  InboxCounts count(const InboxFilter& filter) override;
  std::vector<DeferredRecord> deferred(const DeferredFilter& filter) override {
    return select_deferred(connection_, filter);
  }

 private:
  void count_inbox(ConsumerId id, ConsumerStatus& status);
  void count_deferred(ConsumerId id, ConsumerStatus& status);
  template <class Answer, class Take>
  bool scan_scope(const ScopeRecord& scope, const InboxFilter& filter, Answer& answer, Take take);
  template <class Answer, class Take>
  void scan(const InboxFilter& filter, Answer& answer, Take take);

  Connection connection_;
};

std::vector<ConsumerRecord> DatabaseRecords::consumers() {
  std::vector<ConsumerRecord> all;
  Statement& select =
      connection_.own("SELECT name, rules, mode, id FROM onefold_consumer ORDER BY name");
  select.run();
  while (select.step()) {
    all.push_back({select.text_at(0), select.text_at(1), select.text_at(2),
                   static_cast<ConsumerId>(select.integer_at(3))});
  }
  return all;
}

void DatabaseRecords::count_inbox(ConsumerId id, ConsumerStatus& status) {
  Statement& count = connection_.own(
      "SELECT i.outcome, COUNT(*), MAX(i.recorded_at) FROM onefold_scope s "
      "JOIN onefold_inbox i ON i.scope = s.id WHERE s.consumer = ? "
      "GROUP BY i.outcome ORDER BY i.outcome");
  count.run(ParameterRows{1}.integer(id));
  while (count.step()) {
    status.inbox.emplace_back(to_string(outcome_at(count, 0)), count.integer_at(1));
    status.last_recorded_at =
        std::max(status.last_recorded_at.value_or(Timestamp::min()), time_at(count, 2));
  }
}

void DatabaseRecords::count_deferred(ConsumerId id, ConsumerStatus& status) {
  Statement& count = connection_.own(
      "SELECT reason, COUNT(*) FROM onefold_deferred WHERE consumer = ? "
      "GROUP BY reason ORDER BY reason");
  count.run(ParameterRows{1}.integer(id));
  while (count.step()) status.deferred.emplace_back(count.text_at(0), count.integer_at(1));
  Statement& next = connection_.own(
      "SELECT MIN(due_at) FROM onefold_deferred WHERE consumer = ? AND due_at IS NOT NULL");
  next.run(ParameterRows{1}.integer(id));
  if (next.step() && !next.is_null(0)) status.next_due_at = time_at(next, 0);
  next.finish();
}

std::vector<ConsumerStatus> DatabaseRecords::status() {
  const Snapshot snapshot{connection_};
  std::vector<ConsumerStatus> all;
  Statement& select =
      connection_.own("SELECT id, name, rules, mode FROM onefold_consumer ORDER BY name");
  select.run();
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
  std::vector<ScopeRecord> all;
  Statement& select = connection_.own(
      "SELECT s.id, c.name, s.handler, s.source_or_rule, s.key_form, s.event_source "
      "FROM onefold_scope s JOIN onefold_consumer c ON c.id = s.consumer ORDER BY s.id");
  select.run();
  while (select.step()) {
    all.push_back({static_cast<std::int32_t>(select.integer_at(0)), select.text_at(1),
                   select.text_at(2), select.text_at(3), select.text_at(4),
                   select.integer_at(5) == 0});
  }
  return all;
}

/// Reads one scope; true if the answer is complete, with where to go on.
template <class Answer, class Take>
bool DatabaseRecords::scan_scope(const ScopeRecord& scope, const InboxFilter& filter,
                                 Answer& answer, Take take) {
  std::vector<std::uint8_t> after;
  if (filter.after && filter.after->scope == scope.scope) {
    after.assign(filter.after->bytes.begin(), filter.after->bytes.end());
  }
  Statement& select = connection_.own(inbox_scan_sql);
  for (;;) {
    const std::int64_t piece = std::min(rows_at_once, filter.rows_read_max - answer.rows_read);
    const auto choice = [](const std::string& text) { return text.empty() ? 0 : 1; };
    ParameterRows row{scan_parameters};
    row.integer(filter.outcome ? 1 : 0);
    row.integer(static_cast<std::int64_t>(filter.outcome.value_or(Outcome::applied)));
    row.integer(choice(filter.event_type)).text(filter.event_type);
    row.integer(choice(filter.event_source)).text(scope.source_or_rule).text(filter.event_source);
    row.integer(choice(filter.event_id)).text(filter.event_id);
    row.integer(filter.since ? 1 : 0);
    row.integer(filter.since.value_or(Timestamp{}).time_since_epoch().count());
    row.text(scope.source_or_rule).integer(scope.scope).blob(after).integer(piece);
    select.run(row);
    std::int64_t read = 0;
    while (select.step()) {
      ++read;
      ++answer.rows_read;
      const auto key = select.blob_at(1);
      const bool fits = select.integer_at(0) != 0;
      const bool wants_more = !fits || take(select, scope);
      if (!wants_more || answer.rows_read >= filter.rows_read_max) {
        answer.next.emplace().scope = scope.scope;
        select.copy_blob(1, answer.next->bytes);
        select.finish();
        return true;
      }
      after.assign(key.begin(), key.end());
    }
    if (read < piece) return false;
  }
}

/// Reads on from `filter.after`, scope by scope, and hands the rows that fit to `take`, which says
/// whether it wants more.
template <class Answer, class Take>
void DatabaseRecords::scan(const InboxFilter& filter, Answer& answer, Take take) {
  const auto all = scopes_for(filter, scopes());
  const Snapshot snapshot{connection_};
  for (const ScopeRecord& scope : all) {
    if (scan_scope(scope, filter, answer, take)) return;
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
  Statement& select = connection.own(
      "SELECT 1, i.event_key, i.outcome, i.waiting, "
      "COALESCE(i.event_source, s.source_or_rule, ''), i.event_id, i.event_type, i.event_time, "
      "i.entity, i.handled_by, i.fingerprint, i.result, i.recorded_at FROM onefold_inbox i "
      "LEFT JOIN onefold_scope s ON s.id = i.scope WHERE i.scope = ? AND i.event_key = ?");
  select.run(ParameterRows{2}.integer(key.scope).blob(key.bytes));
  if (!select.step()) return std::nullopt;
  InboxRecord record = inbox_record(select, key.scope);
  select.finish();
  return record;
}

std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source) {
  Statement& select = connection.own(
      "SELECT source, incarnation, partition_name, next_high, next_low, mark FROM onefold_position "
      "WHERE consumer = ? AND (? = 0 OR source = ?) ORDER BY source, incarnation, partition_name");
  ParameterRows row{3};
  row.integer(consumer).integer(source ? 1 : 0).text(source.value_or(std::string_view{}));
  select.run(row);
  std::vector<Position> positions;
  while (select.step()) {
    auto partition = std::make_shared<const Partition>(
        Partition{select.text_at(0), select.text_at(1), select.text_at(2)});
    const Offset next{select.unsigned_at(3), select.unsigned_at(4)};
    positions.push_back({std::move(partition), next, next, select.unsigned_at(5)});
  }
  return positions;
}

}  // namespace onefold::mariadb
