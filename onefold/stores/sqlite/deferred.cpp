#include "onefold/stores/sqlite/deferred.h"

#include <bit>
#include <chrono>
#include <span>

#include "onefold/formats/stored_lists.h"

namespace onefold::sqlite {
namespace {

constexpr const char* insert_sql =
    "INSERT INTO main.onefold_deferred (scope, key, fingerprint, consumer, reason, handler, "
    "errors, attempts, source, incarnation, partition, at_high, at_low, next_high, next_low, "
    "event_id, event_source, event_type, event_subject, event_time, content_type, headers, raw, "
    "first_at, last_at, further_keys, failure, entity, turn, due_at, decoded, data) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
    "?19, ?20, ?21, ?22, ?23, ?24, ?24, ?25, ?26, ?27, 0, ?28, ?29, ?30) "
    "ON CONFLICT (scope, key) WHERE reason <> 'conflict' DO UPDATE SET count = count + 1, "
    "errors = excluded.errors, attempts = excluded.attempts, last_at = excluded.last_at "
    "WHERE fingerprint = excluded.fingerprint "
    "ON CONFLICT (scope, key, fingerprint) WHERE reason = 'conflict' DO UPDATE SET "
    "count = count + 1, last_at = excluded.last_at";

constexpr const char* again_sql =
    "UPDATE main.onefold_deferred SET reason = ?2, failure = ?3, handler = ?4, errors = ?5, "
    "attempts = ?6, entity = ?7, due_at = ?8, last_at = ?9, "
    "replay = iif(?2 IN ('retry', 'behind'), replay, NULL) WHERE id = ?1";

constexpr const char* select_sql =
    "SELECT d.id, c.name, d.scope, d.key, d.fingerprint, d.reason, d.handler, d.errors, "
    "d.attempts, d.count, d.source, d.incarnation, d.partition, d.at_high, d.at_low, d.next_high, "
    "d.next_low, d.event_id, d.event_source, d.event_type, d.event_subject, d.event_time, "
    "d.content_type, d.headers, iif(?8, d.raw, NULL), d.first_at, d.last_at, d.further_keys, "
    "d.failure, d.entity, d.turn, d.due_at, d.replay, d.decoded, iif(?8, d.data, NULL) "
    "FROM main.onefold_deferred d JOIN main.onefold_consumer c ON c.id = d.consumer "
    "WHERE d.id > ?1 AND (?2 IS NULL OR d.id = ?2) AND (?3 IS NULL OR (d.scope = ?3 AND "
    "d.key = ?4)) AND (?5 IS NULL OR c.name = ?5) AND (?6 IS NULL OR d.reason = ?6) "
    "AND (?9 IS NULL OR d.last_at >= ?9) AND (?10 IS NULL OR d.event_id = ?10) "
    "AND (?11 IS NULL OR d.handler = ?11) AND (?12 IS NULL OR d.failure = ?12) "
    "AND (?13 IS NULL OR d.event_type = ?13) AND (?14 IS NULL OR d.source = ?14) "
    "AND (?15 IS NULL OR d.id <= ?15) ORDER BY d.id LIMIT ?7";

std::string_view failure_of(const Deferral& deferral) {
  const bool failed =
      deferral.reason == DeferralReason::dead || deferral.reason == DeferralReason::retry;
  return failed ? to_string(deferral.failure) : "";
}

void bind_due(Statement& statement, int index, const Deferral& deferral) {
  if (deferral.reason == DeferralReason::retry) {
    const auto wait = std::chrono::microseconds{deferral.due_in};
    statement.integer(index, now_microseconds() + wait.count());
  } else {
    statement.null(index);
  }
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void bind_position(Statement& insert, const std::optional<Position>& position) {
  if (!position) {
    for (int index = 10; index <= 15; ++index) insert.null(index);
    return;
  }
  insert.text(10, position->partition->incarnation).text(11, position->partition->name);
  bind_offset(insert, 12, position->at);
  bind_offset(insert, 14, position->next);
}

Timestamp time_at(const Statement& row, int column) {
  return Timestamp{std::chrono::microseconds{row.integer_at(column)}};
}

DeferredRecord record_of(const Statement& row) {
  DeferredRecord record;
  record.id = row.integer_at(0);
  record.consumer = row.text_at(1);
  record.key.scope = static_cast<std::int32_t>(row.integer_at(2));
  row.copy_blob(3, record.key.bytes);
  row.copy_blob(4, record.fingerprint);
  record.reason = row.text_at(5);
  record.handler = row.text_at(6);
  record.errors = errors_from(row.text_at(7));
  record.attempts = static_cast<int>(row.integer_at(8));
  record.count = row.integer_at(9);
  record.source = row.text_at(10);
  if (!row.is_null(11)) {
    auto partition = std::make_shared<const Partition>(
        Partition{record.source, row.text_at(11), row.text_at(12)});
    record.position = Position{std::move(partition), offset_of(row, 13), offset_of(row, 15)};
  }
  record.event.id = row.text_at(17);
  record.event.source = row.text_at(18);
  record.event.type = row.text_at(19);
  record.event.subject = row.text_at(20);
  if (!row.is_null(21)) record.event.time = time_at(row, 21);
  record.event.content_type = row.text_at(22);
  record.event.headers = headers_from(row.text_at(23));
  const auto raw = row.blob_at(24);
  record.raw.assign(raw.begin(), raw.end());
  record.first_at = time_at(row, 25);
  record.last_at = time_at(row, 26);
  record.further_keys = keys_from(row.blob_at(27));
  record.failure = row.text_at(28);
  record.entity = row.text_at(29);
  record.turn = row.integer_at(30);
  if (!row.is_null(31)) record.due_at = time_at(row, 31);
  record.replay = row.text_at(32);
  record.decoded = row.integer_at(33) != 0;
  if (!row.is_null(34)) {
    const auto data = row.blob_at(34);
    record.event.data.emplace(data.begin(), data.end());
  }
  return record;
}

/// What was taken out of the waiting room goes back, and keeps what it came with.
void defer_again(Connection& connection, const Deferral& deferral) {
  const std::string errors = json_of_errors(deferral.errors);
  Statement& update = connection.own(again_sql);
  update.integer(1, deferral.waiting->id).text(2, to_string(deferral.reason));
  update.text(3, failure_of(deferral)).text(4, deferral.handler).text(5, errors);
  update.integer(6, deferral.attempts).text_or_null(7, deferral.entity);
  bind_due(update, 8, deferral);
  update.integer(9, deferral.recorded_at.time_since_epoch().count()).run();
  if (sqlite3_changes(connection.handle()) != 1) {
    throw Error{ErrorKind::contention, "SQLite: an event that was taken does not wait any more"};
  }
}

}  // namespace

std::int64_t now_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void bind_offset(Statement& statement, int index, const Offset& offset) {
  statement.integer(index, std::bit_cast<std::int64_t>(offset.high));
  statement.integer(index + 1, std::bit_cast<std::int64_t>(offset.low));
}

Offset offset_of(const Statement& statement, int column) {
  return {std::bit_cast<std::uint64_t>(statement.integer_at(column)),
          std::bit_cast<std::uint64_t>(statement.integer_at(column + 1))};
}

void insert_deferred(Connection& connection, const Deferral& deferral) {
  if (deferral.waiting != nullptr) return defer_again(connection, deferral);
  const Delivery& delivery = *deferral.delivery;
  const Event& event = delivery.event;
  const std::string errors = json_of_errors(deferral.errors);
  const std::string headers = json_of_headers(event.headers);
  Statement& insert = connection.own(insert_sql);
  insert.integer(1, deferral.key.scope).blob(2, deferral.key.bytes);
  insert.blob(3, deferral.fingerprint).integer(4, deferral.consumer);
  insert.text(5, to_string(deferral.reason)).text(6, deferral.handler).text(7, errors);
  insert.integer(8, deferral.attempts).text(9, deferral.source);
  bind_position(insert, delivery.position);
  insert.text(16, event.id).text(17, event.source).text(18, event.type).text(19, event.subject);
  if (event.time) {
    insert.integer(20, event.time->time_since_epoch().count());
  } else {
    insert.null(20);
  }
  insert.text(21, event.content_type).text(22, headers).blob(23, bytes_of(delivery.raw));
  insert.integer(24, deferral.recorded_at.time_since_epoch().count());
  const std::vector<std::uint8_t> further_keys = bytes_of_keys(deferral.further_keys);
  further_keys.empty() ? insert.null(25) : insert.blob(25, further_keys);
  insert.text(26, failure_of(deferral)).text_or_null(27, deferral.entity);
  bind_due(insert, 28, deferral);
  insert.integer(29, delivery.defect.empty() ? 1 : 0);
  event.data ? insert.blob(30, bytes_of(*event.data)) : insert.null(30);
  insert.run();
  if (sqlite3_changes(connection.handle()) != 1) {
    throw Error{ErrorKind::contention,
                "SQLite: an event with this key and other data has been set aside already"};
  }
}

std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter) {
  Statement& select = connection.own(select_sql);
  const ResetAtEnd reset{select};
  select.integer(1, filter.after);
  filter.id ? select.integer(2, *filter.id) : select.null(2);
  filter.key ? select.integer(3, filter.key->scope) : select.null(3);
  filter.key ? select.blob(4, filter.key->bytes) : select.null(4);
  select.text_or_null(5, filter.consumer).text_or_null(6, filter.reason);
  select.integer(7, static_cast<std::int64_t>(filter.limit)).integer(8, filter.with_raw);
  filter.since ? select.integer(9, filter.since->time_since_epoch().count()) : select.null(9);
  select.text_or_null(10, filter.event_id).text_or_null(11, filter.handler);
  select.text_or_null(12, filter.failure).text_or_null(13, filter.event_type);
  select.text_or_null(14, filter.source);
  filter.up_to ? select.integer(15, *filter.up_to) : select.null(15);
  std::vector<DeferredRecord> records;
  while (select.step()) records.push_back(record_of(select));
  return records;
}

}  // namespace onefold::sqlite
