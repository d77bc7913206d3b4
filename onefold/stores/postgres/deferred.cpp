#include "onefold/stores/postgres/deferred.h"

#include "onefold/formats/stored_lists.h"

namespace onefold::postgres {
namespace {

// One statement for each of the two unique indexes: PostgreSQL takes a single ON CONFLICT.
constexpr const char* conflict_sql =
    "INSERT INTO onefold.deferred AS d (scope, key, fingerprint, consumer, reason, handler, "
    "errors, attempts, source, incarnation, partition, at, next, event_id, event_source, "
    "event_type, event_subject, event_time, content_type, headers, raw, first_at, last_at, "
    "further_keys) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::numeric, $13::numeric, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $22, $23) "
    "ON CONFLICT (scope, key, fingerprint) WHERE reason = 'conflict' DO UPDATE SET "
    "count = d.count + 1, last_at = excluded.last_at";

constexpr const char* claim_sql =
    "INSERT INTO onefold.deferred AS d (scope, key, fingerprint, consumer, reason, handler, "
    "errors, attempts, source, incarnation, partition, at, next, event_id, event_source, "
    "event_type, event_subject, event_time, content_type, headers, raw, first_at, last_at, "
    "further_keys) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::numeric, $13::numeric, $14, $15, "
    "$16, $17, $18, $19, $20, $21, $22, $22, $23) "
    "ON CONFLICT (scope, key) WHERE reason <> 'conflict' DO UPDATE SET count = d.count + 1, "
    "errors = excluded.errors, attempts = excluded.attempts, last_at = excluded.last_at "
    "WHERE d.fingerprint = excluded.fingerprint";

constexpr const char* select_sql =
    "SELECT d.id, c.name, d.scope, d.key, d.fingerprint, d.reason, d.handler, d.errors, "
    "d.attempts, d.count, d.source, d.incarnation, d.partition, d.at::text, d.next::text, "
    "d.event_id, d.event_source, d.event_type, d.event_subject, d.event_time, d.content_type, "
    "d.headers, CASE WHEN $8 THEN d.raw END, d.first_at, d.last_at, d.further_keys "
    "FROM onefold.deferred d JOIN onefold.consumer c ON c.id = d.consumer "
    "WHERE d.id > $1 AND ($2::int8 IS NULL OR d.id = $2) AND ($3::int4 IS NULL OR "
    "(d.scope = $3 AND d.key = $4)) AND ($5::text IS NULL OR c.name = $5) "
    "AND ($6::text IS NULL OR d.reason = $6) AND ($9::timestamptz IS NULL OR d.last_at >= $9) "
    "AND ($10::text IS NULL OR d.event_id = $10) ORDER BY d.id LIMIT $7";

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
  return record;
}

}  // namespace

void queue_deferred(Connection& connection, const Deferral& deferral) {
  const Delivery& delivery = *deferral.delivery;
  const Event& event = delivery.event;
  Arguments row;
  row.integer32(deferral.key.scope).bytes(deferral.key.bytes).bytes(deferral.fingerprint);
  row.integer32(deferral.consumer).text(to_string(deferral.reason)).text(deferral.handler);
  row.text(json_of_errors(deferral.errors)).integer32(deferral.attempts).text(deferral.source);
  add_position(row, delivery.position);
  row.text(event.id).text(event.source).text(event.type).text(event.subject);
  event.time ? row.time(*event.time) : row.null(type::time);
  const auto* raw = reinterpret_cast<const std::uint8_t*>(delivery.raw.data());
  row.text(event.content_type).text(json_of_headers(event.headers));
  row.bytes({raw, delivery.raw.size()}).time(deferral.recorded_at);
  const std::vector<std::uint8_t> further_keys = bytes_of_keys(deferral.further_keys);
  further_keys.empty() ? row.null(type::bytes) : row.bytes(further_keys);
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
  arguments.integer64(filter.after);
  filter.id ? arguments.integer64(*filter.id) : arguments.null(type::integer64);
  filter.key ? arguments.integer32(filter.key->scope) : arguments.null(type::integer32);
  filter.key ? arguments.bytes(filter.key->bytes) : arguments.null(type::bytes);
  arguments.text_or_null(filter.consumer).text_or_null(filter.reason);
  arguments.integer64(static_cast<std::int64_t>(filter.limit)).boolean(filter.with_raw);
  filter.since ? arguments.time(*filter.since) : arguments.null(type::time);
  arguments.text_or_null(filter.event_id);
  const Result found = connection.run(select_sql, std::move(arguments), "reading deferred events");
  std::vector<DeferredRecord> records;
  for (int i = 0; i < rows_in(found); ++i) records.push_back(record_of({found.get(), i}));
  return records;
}

}  // namespace onefold::postgres
