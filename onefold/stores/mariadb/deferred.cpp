#include "onefold/stores/mariadb/deferred.h"

#include <mysqld_error.h>

#include "onefold/formats/stored_lists.h"

namespace onefold::mariadb {
namespace {

constexpr const char* insert_sql =
    "INSERT INTO onefold_deferred (scope, event_key, fingerprint, consumer, reason, handler, "
    "errors, attempts, count, source, incarnation, partition_name, at_high, at_low, next_high, "
    "next_low, event_id, event_source, event_type, event_subject, event_time, content_type, "
    "headers, raw, first_at, last_at, further_keys, failure, entity, due_at, decoded, data) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) + ?, ?, ?)";
constexpr std::size_t insert_columns = 31;

constexpr const char* again_sql =
    "UPDATE onefold_deferred SET replay = IF(? = 1, replay, NULL), reason = ?, failure = ?, "
    "handler = ?, errors = ?, attempts = ?, entity = ?, "
    "due_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) + ?, last_at = ? WHERE id = ?";

constexpr const char* repeat_conflict_sql =
    "UPDATE onefold_deferred SET count = count + 1, last_at = ? "
    "WHERE scope = ? AND event_key = ? AND conflict = ?";

constexpr const char* repeat_claim_sql =
    "UPDATE onefold_deferred SET count = count + 1, last_at = ?, errors = ?, attempts = ? "
    "WHERE scope = ? AND event_key = ? AND conflict = '' AND fingerprint = ?";

constexpr const char* select_sql =
    "SELECT d.id, c.name, d.scope, d.event_key, d.fingerprint, d.reason, d.handler, d.errors, "
    "d.attempts, d.count, d.source, d.incarnation, d.partition_name, d.at_high, d.at_low, "
    "d.next_high, d.next_low, d.event_id, d.event_source, d.event_type, d.event_subject, "
    "d.event_time, d.content_type, d.headers, IF(?, d.raw, NULL), d.first_at, d.last_at, "
    "d.further_keys, d.failure, d.entity, d.turn, d.due_at, d.replay, d.decoded, "
    "IF(?, d.data, NULL) FROM onefold_deferred d JOIN onefold_consumer c ON c.id = d.consumer "
    "WHERE d.id > ? AND (? = 0 OR d.id = ?) AND (? = 0 OR (d.scope = ? AND d.event_key = ?)) "
    "AND (? = 0 OR c.name = ?) AND (? = 0 OR d.reason = ?) AND (? = 0 OR d.last_at >= ?) "
    "AND (? = 0 OR d.event_id = ?) AND (? = 0 OR d.handler = ?) AND (? = 0 OR d.failure = ?) "
    "AND (? = 0 OR d.event_type = ?) AND (? = 0 OR d.source = ?) AND (? = 0 OR d.id <= ?) "
    "ORDER BY d.id LIMIT ?";

std::string_view failure_of(const Deferral& deferral) {
  const bool failed =
      deferral.reason == DeferralReason::dead || deferral.reason == DeferralReason::retry;
  return failed ? to_string(deferral.failure) : "";
}

/// From now on, in microseconds.
void bind_wait(ParameterRows& row, const Deferral& deferral) {
  if (deferral.reason == DeferralReason::retry) {
    row.integer(std::chrono::microseconds{deferral.due_in}.count());
  } else {
    row.null();
  }
}

std::int64_t microseconds(Timestamp time) noexcept {
  return time.time_since_epoch().count();
}

void bind_position(ParameterRows& row, const std::optional<Position>& position) {
  if (!position) {
    for (int column = 0; column < 6; ++column) row.null();
    return;
  }
  row.text(position->partition->incarnation).text(position->partition->name);
  row.unsigned_integer(position->at.high).unsigned_integer(position->at.low);
  row.unsigned_integer(position->next.high).unsigned_integer(position->next.low);
}

Timestamp time_at(const Statement& row, std::size_t column) {
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
    record.position = Position{std::move(partition),
                               {row.unsigned_at(13), row.unsigned_at(14)},
                               {row.unsigned_at(15), row.unsigned_at(16)}};
  }
  record.event.id = row.text_at(17);
  record.event.source = row.text_at(18);
  record.event.type = row.text_at(19);
  record.event.subject = row.text_at(20);
  if (!row.is_null(21)) record.event.time = time_at(row, 21);
  record.event.content_type = row.text_at(22);
  record.event.headers = headers_from(row.text_at(23));
  record.raw = row.text_at(24);
  record.first_at = time_at(row, 25);
  record.last_at = time_at(row, 26);
  record.further_keys = keys_from(row.blob_at(27));
  record.failure = row.text_at(28);
  record.entity = row.text_at(29);
  record.turn = row.integer_at(30);
  if (!row.is_null(31)) record.due_at = time_at(row, 31);
  record.replay = row.text_at(32);
  record.decoded = row.integer_at(33) != 0;
  if (!row.is_null(34)) record.event.data = row.text_at(34);
  return record;
}

/// What was taken out of the waiting room goes back, and keeps what it came with.
void defer_again(Connection& connection, const Deferral& deferral) {
  const std::string errors = json_of_errors(deferral.errors);
  const bool goes_on =
      deferral.reason == DeferralReason::retry || deferral.reason == DeferralReason::behind;
  ParameterRows row{10};
  row.integer(goes_on ? 1 : 0).text(to_string(deferral.reason)).text(failure_of(deferral));
  row.text(deferral.handler).text(errors).integer(deferral.attempts);
  row.text_or_null(deferral.entity);
  bind_wait(row, deferral);
  row.integer(microseconds(deferral.recorded_at)).integer(deferral.waiting->id);
  connection.require_room(row);
  if (connection.own(again_sql).run(row) == 1) return;
  throw Error{ErrorKind::contention, "MariaDB: an event that was taken does not wait any more"};
}

/// Whether there is such a row, which then has been counted.
bool count_repetition(Connection& connection, const Deferral& deferral, const std::string& errors) {
  const std::int64_t last_at = microseconds(deferral.recorded_at);
  if (deferral.reason == DeferralReason::conflict) {
    ParameterRows row{4};
    row.integer(last_at).integer(deferral.key.scope).blob(deferral.key.bytes);
    row.blob(deferral.fingerprint);
    return connection.own(repeat_conflict_sql).run(row) == 1;
  }
  ParameterRows row{6};
  row.integer(last_at).text(errors).integer(deferral.attempts).integer(deferral.key.scope);
  row.blob(deferral.key.bytes).blob(deferral.fingerprint);
  return connection.own(repeat_claim_sql).run(row) == 1;
}

/// Two values: whether it is to be regarded, and what it is.
void bind_choice(ParameterRows& row, const std::string& text) {
  row.integer(text.empty() ? 0 : 1).text(text);
}

}  // namespace

void insert_deferred(Connection& connection, const Deferral& deferral) {
  if (deferral.waiting != nullptr) return defer_again(connection, deferral);
  const Delivery& delivery = *deferral.delivery;
  const Event& event = delivery.event;
  const std::string errors = json_of_errors(deferral.errors);
  const std::string headers = json_of_headers(event.headers);
  const std::vector<std::uint8_t> further_keys = bytes_of_keys(deferral.further_keys);
  // First, although it is seldom there: a failed INSERT would keep a lock that two sessions can
  // hold, and both would then wait for the other to let them change the row.
  if (count_repetition(connection, deferral, errors)) return;

  ParameterRows row{insert_columns};
  row.integer(deferral.key.scope).blob(deferral.key.bytes).blob(deferral.fingerprint);
  row.integer(deferral.consumer).text(to_string(deferral.reason)).text(deferral.handler);
  row.text(errors).integer(deferral.attempts).text(deferral.source);
  bind_position(row, delivery.position);
  row.text(event.id).text(event.source).text(event.type).text(event.subject);
  if (event.time) {
    row.integer(microseconds(*event.time));
  } else {
    row.null();
  }
  row.text(event.content_type).text(headers).text(delivery.raw);
  row.integer(microseconds(deferral.recorded_at)).integer(microseconds(deferral.recorded_at));
  further_keys.empty() ? row.null() : row.blob(further_keys);
  row.text(failure_of(deferral)).text_or_null(deferral.entity);
  bind_wait(row, deferral);
  row.integer(delivery.defect.empty() ? 1 : 0);
  event.data ? row.text(*event.data) : row.null();
  connection.require_room(row);
  if (connection.own(insert_sql).run_tolerating(row, ER_DUP_ENTRY) == 0) return;
  // A rival has committed it while we waited, or there is one of other data.
  if (count_repetition(connection, deferral, errors)) return;
  throw Error{ErrorKind::contention,
              "MariaDB: an event with this key and other data has been set aside already"};
}

std::vector<DeferredRecord> select_deferred(Connection& connection, const DeferredFilter& filter) {
  Statement& select = connection.own(select_sql);
  ParameterRows row{27};
  const Key key = filter.key.value_or(Key{});
  const Timestamp since = filter.since.value_or(Timestamp{});
  row.integer(filter.with_raw ? 1 : 0).integer(filter.with_raw ? 1 : 0).integer(filter.after);
  row.integer(filter.id ? 1 : 0).integer(filter.id.value_or(0));
  row.integer(filter.key ? 1 : 0).integer(key.scope).blob(key.bytes);
  bind_choice(row, filter.consumer);
  bind_choice(row, filter.reason);
  row.integer(filter.since ? 1 : 0).integer(microseconds(since));
  bind_choice(row, filter.event_id);
  bind_choice(row, filter.handler);
  bind_choice(row, filter.failure);
  bind_choice(row, filter.event_type);
  bind_choice(row, filter.source);
  row.integer(filter.up_to ? 1 : 0).integer(filter.up_to.value_or(0));
  row.integer(static_cast<std::int64_t>(filter.limit));
  select.run(row);
  std::vector<DeferredRecord> records;
  while (select.step()) records.push_back(record_of(select));
  return records;
}

}  // namespace onefold::mariadb
