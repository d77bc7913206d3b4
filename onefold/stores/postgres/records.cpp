#include "onefold/stores/postgres/records.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "onefold/stores/postgres/deferred.h"

namespace onefold::postgres {
namespace {

/// How many rows of the inbox are asked for at a time.
constexpr std::int64_t piece_rows = 2'000;

/// The rows of one scope in the order of its keys, and of each whether it fits; of those that do
/// not, only the key comes.
constexpr const char* scan_sql =
    "SELECT f.fits, i.key, i.outcome, i.waiting, CASE WHEN f.fits THEN coalesce(i.event_source, "
    "$7) "
    "END, CASE WHEN f.fits THEN i.event_id END, CASE WHEN f.fits THEN i.event_type END, "
    "i.event_time, CASE WHEN f.fits THEN i.entity END, CASE WHEN f.fits THEN i.handled_by END, "
    "i.fingerprint, CASE WHEN f.fits THEN i.result END, i.recorded_at "
    "FROM (SELECT * FROM onefold.inbox WHERE scope = $1 AND key > $2 ORDER BY key LIMIT $3) i, "
    "LATERAL (SELECT coalesce(($4::int2 IS NULL OR i.outcome = $4) AND ($5::text IS NULL OR "
    "i.event_type = $5) AND ($6::text IS NULL OR coalesce(i.event_source, $7) = $6) AND "
    "($8::text IS NULL OR i.event_id = $8) AND ($9::timestamptz IS NULL OR i.recorded_at >= $9), "
    "false) AS fits) f ORDER BY i.key";

Outcome outcome_at(const Row& row, int column) {
  const std::int16_t stored = row.integer16(column);
  if (stored < 0 || stored >= static_cast<std::int16_t>(outcome_count)) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the inbox holds an outcome {} that this program does not know: use a "
                            "newer one",
                            stored)};
  }
  return static_cast<Outcome>(stored);
}

/// From the columns of `scan_sql`.
InboxRecord inbox_record(const Row& row, std::int32_t scope) {
  InboxRecord record;
  record.key.scope = scope;
  row.copy_bytes(1, record.key.bytes);
  record.outcome = outcome_at(row, 2);
  record.waiting = row.boolean(3);
  record.event_source = row.text(4);
  record.event_id = row.text(5);
  record.event_type = row.text(6);
  if (!row.is_null(7)) record.event_time = row.time(7);
  record.entity = row.text(8);
  record.handled_by = row.text(9);
  row.copy_bytes(10, record.fingerprint);
  record.result = row.text(11);
  record.recorded_at = row.time(12);
  return record;
}

class DatabaseRecords final : public Records {
 public:
  explicit DatabaseRecords(const Options& options) : connection_{options} {}

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
  Result piece(const InboxFilter& filter, const ScopeRecord& scope, const std::optional<Key>& after,
               std::int64_t limit);
  template <class Answer, class Take>
  void scan(const InboxFilter& filter, Answer& answer, Take take);

  Connection connection_;
};

std::vector<ConsumerRecord> DatabaseRecords::consumers() {
  std::vector<ConsumerRecord> all;
  const Result found = connection_.run(
      "SELECT name, rules, mode, id FROM onefold.consumer ORDER BY name", {}, "reading consumers");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    all.push_back({row.text(0), row.text(1), row.text(2), row.integer32(3)});
  }
  return all;
}

void DatabaseRecords::count_inbox(ConsumerId id, ConsumerStatus& status) {
  Arguments arguments;
  arguments.integer32(id);
  const Result found = connection_.run(
      "SELECT i.outcome, count(*), max(i.recorded_at) FROM onefold.inbox i "
      "WHERE i.scope IN (SELECT id FROM onefold.scope WHERE consumer = $1) "
      "GROUP BY i.outcome ORDER BY i.outcome",
      std::move(arguments), "counting the inbox");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    status.inbox.emplace_back(to_string(outcome_at(row, 0)), row.integer64(1));
    status.last_recorded_at = std::max(status.last_recorded_at.value_or(row.time(2)), row.time(2));
  }
}

void DatabaseRecords::count_deferred(ConsumerId id, ConsumerStatus& status) {
  Arguments arguments;
  arguments.integer32(id);
  const Result found = connection_.run(
      "SELECT reason, count(*) FROM onefold.deferred WHERE consumer = $1 "
      "GROUP BY reason ORDER BY reason",
      std::move(arguments), "counting deferred events");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    status.deferred.emplace_back(row.text(0), row.integer64(1));
  }
  Arguments consumer;
  consumer.integer32(id);
  const Result next = connection_.run(
      "SELECT due_at FROM onefold.deferred WHERE consumer = $1 AND due_at IS NOT NULL "
      "ORDER BY due_at LIMIT 1",
      std::move(consumer), "looking for what is due next");
  if (rows_in(next) != 0) status.next_due_at = Row{next.get(), 0}.time(0);
}

std::vector<ConsumerStatus> DatabaseRecords::status() {
  const OwnTransaction one_state{connection_, OwnTransaction::read};
  std::vector<ConsumerStatus> all;
  const Result found = connection_.run(
      "SELECT id, name, rules, mode FROM onefold.consumer ORDER BY name", {}, "reading consumers");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    ConsumerStatus& status = all.emplace_back();
    status.name = row.text(1);
    status.rules = row.text(2);
    status.mode = row.text(3);
    count_inbox(row.integer32(0), status);
    count_deferred(row.integer32(0), status);
    status.positions = select_positions(connection_, row.integer32(0), std::nullopt);
    std::erase_if(status.positions, is_of_replay);
  }
  return all;
}

std::vector<ScopeRecord> DatabaseRecords::scopes() {
  std::vector<ScopeRecord> all;
  const Result found = connection_.run(
      "SELECT s.id, c.name, s.handler, s.source_or_rule, s.key_form, s.event_source "
      "FROM onefold.scope s JOIN onefold.consumer c ON c.id = s.consumer ORDER BY s.id",
      {}, "reading scopes");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    all.push_back(
        {row.integer32(0), row.text(1), row.text(2), row.text(3), row.text(4), !row.boolean(5)});
  }
  return all;
}

Result DatabaseRecords::piece(const InboxFilter& filter, const ScopeRecord& scope,
                              const std::optional<Key>& after, std::int64_t limit) {
  Arguments arguments;
  arguments.integer32(scope.scope);
  after ? arguments.bytes(after->bytes) : arguments.bytes({});
  arguments.integer64(limit);
  filter.outcome ? arguments.integer16(static_cast<std::int16_t>(*filter.outcome))
                 : arguments.null(type::integer16);
  arguments.text_or_null(filter.event_type).text_or_null(filter.event_source);
  arguments.text(scope.source_or_rule).text_or_null(filter.event_id);
  filter.since ? arguments.time(*filter.since) : arguments.null(type::time);
  return connection_.run(scan_sql, std::move(arguments), "reading the inbox");
}

/// Reads on from `filter.after`, scope by scope, and hands the rows that fit to `take`, which says
/// whether it wants more.
template <class Answer, class Take>
void DatabaseRecords::scan(const InboxFilter& filter, Answer& answer, Take take) {
  const OwnTransaction one_state{connection_, OwnTransaction::read};
  for (const ScopeRecord& scope : scopes_for(filter, scopes())) {
    std::optional<Key> after;
    if (filter.after && filter.after->scope == scope.scope) after = filter.after;
    for (;;) {
      const std::int64_t limit = std::min(piece_rows, filter.rows_read_max - answer.rows_read);
      const Result found = piece(filter, scope, after, limit);
      for (int i = 0; i < rows_in(found); ++i) {
        const Row row{found.get(), i};
        ++answer.rows_read;
        after.emplace().scope = scope.scope;
        row.copy_bytes(1, after->bytes);
        const bool wants_more = !row.boolean(0) || take(row, scope);
        if (wants_more && answer.rows_read < filter.rows_read_max) continue;
        answer.next = after;
        return;
      }
      if (rows_in(found) < limit) break;
    }
  }
}

InboxPage DatabaseRecords::inbox(const InboxFilter& filter) {
  InboxPage page;
  scan(filter, page, [&](const Row& row, const ScopeRecord& scope) {
    page.records.push_back(inbox_record(row, scope.scope));
    return page.records.size() < filter.limit;
  });
  return page;
}

InboxCounts DatabaseRecords::count(const InboxFilter& filter) {
  InboxCounts answer;
  std::map<std::tuple<std::string, Outcome, bool, std::string>, std::int64_t> rows;
  scan(filter, answer, [&](const Row& row, const ScopeRecord& scope) {
    ++rows[{scope.consumer, outcome_at(row, 2), row.boolean(3), row.text(9)}];
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
  Arguments arguments;
  arguments.integer32(key.scope).bytes(key.bytes);
  const Result found = connection.run(
      "SELECT true, i.key, i.outcome, i.waiting, coalesce(i.event_source, s.source_or_rule, ''), "
      "i.event_id, i.event_type, i.event_time, i.entity, i.handled_by, i.fingerprint, i.result, "
      "i.recorded_at FROM onefold.inbox i LEFT JOIN onefold.scope s ON s.id = i.scope "
      "WHERE i.scope = $1 AND i.key = $2",
      std::move(arguments), "reading evidence");
  if (rows_in(found) == 0) return std::nullopt;
  return inbox_record({found.get(), 0}, key.scope);
}

std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source) {
  Arguments arguments;
  arguments.integer32(consumer);
  source ? arguments.text(*source) : arguments.null(type::text);
  const Result found = connection.run(
      "SELECT source, incarnation, partition, next::text, mark FROM onefold.position "
      "WHERE consumer = $1 AND ($2::text IS NULL OR source = $2) "
      "ORDER BY source, incarnation, partition",
      std::move(arguments), "reading positions");
  std::vector<Position> positions;
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    auto partition =
        std::make_shared<const Partition>(Partition{row.text(0), row.text(1), row.text(2)});
    const Offset next = offset_from(row.text(3));
    const auto mark = std::bit_cast<std::uint64_t>(row.integer64(4));
    positions.push_back({std::move(partition), next, next, mark});
  }
  return positions;
}

}  // namespace onefold::postgres
