#include "onefold/stores/postgres/deferred.h"

#include <chrono>
#include <string>

#include "onefold/formats/stored_lists.h"

namespace onefold::postgres {
namespace {

// One statement for each of the two unique indexes: PostgreSQL takes a single ON CONFLICT.
constexpr const char* conflict_sql =
    "INSERT INTO onefold.deferred AS d (scope, key, fingerprint, consumer, reason, handler, "
    "errors, attempts, source, incarnation, partition, at, next, event_id, event_source, "
    "event_type, event_subject, event_time, content_type, headers, raw, first_at, last_at, "
    "further_keys, failure, entity, due_at, decoded, data) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::numeric, $13::numeric, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $22, $23, $24, $25, "
    "clock_timestamp() + $26::int8 * interval '1 microsecond', $27, $28) "
    "ON CONFLICT (scope, key, fingerprint) WHERE reason = 'conflict' DO UPDATE SET "
    "count = d.count + 1, last_at = excluded.last_at";

constexpr const char* claim_sql =
    "INSERT INTO onefold.deferred AS d (scope, key, fingerprint, consumer, reason, handler, "
    "errors, attempts, source, incarnation, partition, at, next, event_id, event_source, "
    "event_type, event_subject, event_time, content_type, headers, raw, first_at, last_at, "
    "further_keys, failure, entity, due_at, decoded, data) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::numeric, $13::numeric, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $22, $23, $24, $25, "
    "clock_timestamp() + $26::int8 * interval '1 microsecond', $27, $28) "
    "ON CONFLICT (scope, key) WHERE reason <> 'conflict' DO UPDATE SET count = d.count + 1, "
    "errors = excluded.errors, attempts = excluded.attempts, last_at = excluded.last_at "
    "WHERE d.fingerprint = excluded.fingerprint";

constexpr const char* again_sql =
    "UPDATE onefold.deferred SET reason = $2, failure = $3, handler = $4, errors = $5, "
    "attempts = $6, entity = $7, due_at = clock_timestamp() + $8::int8 * interval '1 microsecond', "
    "last_at = $9, replay = CASE WHEN $2 IN ('retry', 'behind') THEN replay END WHERE id = $1";

/// The columns of a record. `$1` says whether those that may be large are wanted.
constexpr const char* columns =
    "SELECT d.id, c.name, d.scope, d.key, d.fingerprint, d.reason, d.handler, d.errors, "
    "d.attempts, d.count, d.source, d.incarnation, d.partition, d.at::text, d.next::text, "
    "d.event_id, d.event_source, d.event_type, d.event_subject, d.event_time, d.content_type, "
    "d.headers, CASE WHEN $1 THEN d.raw END, d.first_at, d.last_at, d.further_keys, d.failure, "
    "d.entity, d.turn, d.due_at, d.replay, d.decoded, CASE WHEN $1 THEN d.data END "
    "FROM onefold.deferred d JOIN onefold.consumer c ON c.id = d.consumer ";

const char* filter_sql() {
  static const std::string sql =
      std::string{columns} +
      "WHERE d.id > $2 AND ($3::int8 IS NULL OR d.id = $3) AND ($4::int4 IS NULL OR "
      "(d.scope = $4 AND d.key = $5)) AND ($6::text IS NULL OR c.name = $6) "
      "AND ($7::text IS NULL OR d.reason = $7) AND ($8::timestamptz IS NULL OR d.last_at >= $8) "
      "AND ($9::text IS NULL OR d.event_id = $9) AND ($10::text IS NULL OR d.handler = $10) "
      "AND ($11::text IS NULL OR d.failure = $11) AND ($12::text IS NULL OR d.event_type = $12) "
      "AND ($13::text IS NULL OR d.source = $13) AND ($14::int8 IS NULL OR d.id <= $14) "
      "ORDER BY d.id LIMIT $15";
  return sql.c_str();
}

const char* ids_sql() {
  static const std::string sql =
      std::string{columns} + "WHERE d.id = ANY($2::int8[]) ORDER BY d.id";
  return sql.c_str();
}

std::string_view failure_of(const Deferral& deferral) {
  const bool failed =
      deferral.reason == DeferralReason::dead || deferral.reason == DeferralReason::retry;
  return failed ? to_string(deferral.failure) : "";
}

/// From now on, in microseconds.
void add_wait(Arguments& row, const Deferral& deferral) {
  if (deferral.reason == DeferralReason::retry) {
    row.integer64(std::chrono::microseconds{deferral.due_in}.count());
  } else {
    row.null(type::integer64);
  }
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void add_position(Arguments& row, const std::optional<Position>& position) {
  if (!position) {
    row.null(type::text).null(type::text).null(type::unknown).null(type::unknown);
    return;
  }
  row.text(position->partition->incarnation).text(position->partition->name);
  row.literal(decimal_of(position->at)).literal(decimal_of(position->next));
}

DeferredRecord record_of(const Row& row) {
  DeferredRecord record;
  record.id = row.integer64(0);
  record.consumer = row.text(1);
  record.key.scope = row.integer32(2);
  row.copy_bytes(3, record.key.bytes);
  row.copy_bytes(4, record.fingerprint);
  record.reason = row.text(5);
  record.handler = row.text(6);
  record.errors = errors_from(row.text(7));
  record.attempts = row.integer32(8);
  record.count = row.integer64(9);
  record.source = row.text(10);
  if (!row.is_null(11)) {
    auto partition =
        std::make_shared<const Partition>(Partition{record.source, row.text(11), row.text(12)});
    record.position =
        Position{std::move(partition), offset_from(row.text(13)), offset_from(row.text(14))};
  }
  record.event.id = row.text(15);
  record.event.source = row.text(16);
  record.event.type = row.text(17);
  record.event.subject = row.text(18);
  if (!row.is_null(19)) record.event.time = row.time(19);
  record.event.content_type = row.text(20);
  record.event.headers = headers_from(row.text(21));
  const auto raw = row.bytes(22);
  record.raw.assign(raw.begin(), raw.end());
  record.first_at = row.time(23);
  record.last_at = row.time(24);
  record.further_keys = keys_from(row.bytes(25));
  record.failure = row.text(26);
  record.entity = row.text(27);
  record.turn = row.integer64(28);
  if (!row.is_null(29)) record.due_at = row.time(29);
  record.replay = row.text(30);
  record.decoded = row.boolean(31);
  if (!row.is_null(32)) {
    const auto data = row.bytes(32);
    record.event.data.emplace(data.begin(), data.end());
  }
  return record;
}

/// What was taken out of the waiting room goes back, and keeps what it came with.
void queue_again(Connection& connection, const Deferral& deferral) {
  Arguments row;
  row.integer64(deferral.waiting->id).text(to_string(deferral.reason)).text(failure_of(deferral));
  row.text(deferral.handler).text(json_of_errors(deferral.errors)).integer32(deferral.attempts);
  row.text_or_null(deferral.entity);
  add_wait(row, deferral);
  row.time(deferral.recorded_at);
  connection.queue({.statement = &connection.planned_anew(again_sql),
                    .arguments = std::move(row),
                    .doing = "setting an event aside again: it does not wait any more",
                    .expected_rows = 1,
                    .otherwise = ErrorKind::contention});
}

std::vector<DeferredRecord> records_of(const Result& found) {
  std::vector<DeferredRecord> records;
  for (int i = 0; i < rows_in(found); ++i) records.push_back(record_of({found.get(), i}));
  return records;
}

}  // namespace

void queue_deferred(Connection& connection, const Deferral& deferral) {
  if (deferral.waiting != nullptr) return queue_again(connection, deferral);
  const Delivery& delivery = *deferral.delivery;
  const Event& event = delivery.event;
  Arguments row;
  row.integer32(deferral.key.scope).bytes(deferral.key.bytes).bytes(deferral.fingerprint);
  row.integer32(deferral.consumer).text(to_string(deferral.reason)).text(deferral.handler);
  row.text(json_of_errors(deferral.errors)).integer32(deferral.attempts).text(deferral.source);
  add_position(row, delivery.position);
  row.text(event.id).text(event.source).text(event.type).text(event.subject);
  event.time ? row.time(*event.time) : row.null(type::time);
  row.text(event.content_type).text(json_of_headers(event.headers));
  row.bytes(bytes_of(delivery.raw)).time(deferral.recorded_at);
  const std::vector<std::uint8_t> further_keys = bytes_of_keys(deferral.further_keys);
  further_keys.empty() ? row.null(type::bytes) : row.bytes(further_keys);
  row.text(failure_of(deferral)).text_or_null(deferral.entity);
  add_wait(row, deferral);
  row.boolean(delivery.defect.empty());
  event.data ? row.bytes(bytes_of(*event.data)) : row.null(type::bytes);
  const bool conflict = deferral.reason == DeferralReason::conflict;
  connection.queue(
      {.statement = &connection.own(conflict ? conflict_sql : claim_sql),
       .arguments = std::move(row),
       .doing = "setting an event aside: one with this key and other data was set aside already",
       .expected_rows = 1,
       .otherwise = ErrorKind::contention});
}

std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter) {
  Arguments arguments;
  arguments.boolean(filter.with_raw).integer64(filter.after);
  filter.id ? arguments.integer64(*filter.id) : arguments.null(type::integer64);
  filter.key ? arguments.integer32(filter.key->scope) : arguments.null(type::integer32);
  filter.key ? arguments.bytes(filter.key->bytes) : arguments.null(type::bytes);
  arguments.text_or_null(filter.consumer).text_or_null(filter.reason);
  filter.since ? arguments.time(*filter.since) : arguments.null(type::time);
  arguments.text_or_null(filter.event_id).text_or_null(filter.handler);
  arguments.text_or_null(filter.failure).text_or_null(filter.event_type);
  arguments.text_or_null(filter.source);
  filter.up_to ? arguments.integer64(*filter.up_to) : arguments.null(type::integer64);
  arguments.integer64(static_cast<std::int64_t>(filter.limit));
  return records_of(connection.run(filter_sql(), std::move(arguments), "reading deferred events"));
}

std::vector<DeferredRecord> select_deferred(Connection& connection,
                                            std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  Array wanted{type::integer64};
  for (const std::int64_t id : ids) wanted.integer64(id);
  Arguments arguments;
  arguments.boolean(true);
  wanted.into(arguments);
  return records_of(connection.run(Command{.statement = &connection.planned_anew(ids_sql()),
                                           .arguments = std::move(arguments),
                                           .doing = "reading what waits"}));
}

}  // namespace onefold::postgres
