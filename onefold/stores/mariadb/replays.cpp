#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "onefold/formats/fingerprint.h"
#include "onefold/formats/replay_text.h"
#include "onefold/replay_rows.h"
#include "onefold/stores/mariadb/connection.h"
#include "onefold/stores/mariadb/decisions.h"
#include "onefold/stores/mariadb/records.h"
#include "onefold/stores/mariadb/runs.h"

namespace onefold::mariadb {
namespace {

/// What a replay may take; each part of the filter is two parameters, see `bind_filter`.
constexpr const char* replayable =
    "FROM onefold_deferred d JOIN onefold_consumer c ON c.id = d.consumer "
    "WHERE d.reason IN ('dead', 'quarantine') AND d.due_at IS NULL AND (? = 0 OR c.name = ?) "
    "AND (? = 0 OR d.reason = ?) AND (? = 0 OR d.event_id = ?) AND (? = 0 OR d.handler = ?) "
    "AND (? = 0 OR d.failure = ?) AND (? = 0 OR d.event_type = ?) AND (? = 0 OR d.source = ?) "
    "AND (? = 0 OR d.last_at >= ?) AND (? = 0 OR d.id = ?) ";
constexpr std::size_t filter_parameters = 18;

const char* preview_sql() {
  static const std::string sql =
      std::string{"SELECT COUNT(*), COALESCE(MAX(d.id), 0) "} + replayable;
  return sql.c_str();
}

const char* next_sql() {
  static const std::string sql =
      std::string{"SELECT d.id "} + replayable + "AND d.id > ? AND d.id <= ? ORDER BY d.id LIMIT ?";
  return sql.c_str();
}

/// Again under its lock: it may have been settled since it was found. Rows that somebody has in
/// hand are left out: whoever has a row may wait for the replay's.
constexpr const char* lock_sql =
    "SELECT 1 FROM onefold_deferred WHERE id = ? AND reason IN ('dead', 'quarantine') "
    "AND due_at IS NULL FOR UPDATE SKIP LOCKED";

constexpr const char* make_due_sql =
    "UPDATE onefold_deferred SET due_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), "
    "attempts = 0, replay = ? WHERE id = ?";

constexpr const char* list_sql =
    "SELECT r.id, c.name, r.filter, r.up_to, r.passed, r.rate, r.ramp, r.who, r.reason, r.state, "
    "r.note, r.started_at, r.ended_at, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) - r.made_due_at, r.selected, r.due, "
    "r.applied, r.failed, r.gone, r.source_range, r.duplicate, r.stale, r.deferred, r.conflict, "
    "r.ignored FROM onefold_replay r "
    "JOIN onefold_consumer c ON c.id = r.consumer WHERE (? = 0 OR r.id = ?) "
    "AND (? = 0 OR c.name = ?) AND (? = 0 OR r.consumer = ?) "
    "AND (? = 0 OR r.state IN ('running', 'paused')) "
    "ORDER BY r.started_at DESC, r.id DESC LIMIT 1000";

constexpr const char* insert_sql =
    "INSERT INTO onefold_replay (id, consumer, filter, up_to, passed, rate, ramp, who, reason, "
    "state, note, started_at, made_due_at, selected, due, applied, failed, gone, "
    "source_range, duplicate, stale, deferred, conflict, ignored) "
    "SELECT ?, c.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) - ?, ?, ?, ?, ?, ?, "
    "?, 0, 0, 0, 0, 0 "
    "FROM onefold_consumer c WHERE c.name = ?";

constexpr const char* update_sql =
    "UPDATE onefold_replay SET passed = ?, state = ?, note = ?, "
    "made_due_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) - ?, due = ?, gone = ?, "
    "failed = ?, ended_at = IF(? = 1, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), NULL) "
    "WHERE id = ?";

/// Two values: whether it is to be regarded, and what it is.
void bind_choice(ParameterRows& row, std::string_view text) {
  row.integer(text.empty() ? 0 : 1).text(text);
}

void bind_filter(ParameterRows& row, const DeferredFilter& filter) {
  for (const std::string* text :
       {&filter.consumer, &filter.reason, &filter.event_id, &filter.handler, &filter.failure,
        &filter.event_type, &filter.source}) {
    bind_choice(row, *text);
  }
  const Timestamp since = filter.since.value_or(Timestamp{});
  row.integer(filter.since ? 1 : 0).integer(since.time_since_epoch().count());
  row.integer(filter.id ? 1 : 0).integer(filter.id.value_or(0));
}

StoredReplay stored_of(const Statement& row) {
  StoredReplay stored;
  ReplayRecord& replay = stored.replay;
  replay.id = row.text_at(0);
  replay.consumer = row.text_at(1);
  replay.filter = filter_from(row.text_at(2));
  replay.up_to = row.integer_at(3);
  stored.passed = row.integer_at(4);
  replay.rate = row.integer_at(5);
  replay.ramp = ramp_from(row.text_at(6));
  replay.who = row.text_at(7);
  replay.reason = row.text_at(8);
  replay.state = replay_state_from(row.text_at(9)).value_or(ReplayState::done);
  replay.note = row.text_at(10);
  replay.started_at = Timestamp{std::chrono::microseconds{row.integer_at(11)}};
  if (!row.is_null(12)) {
    replay.ended_at = Timestamp{std::chrono::microseconds{row.integer_at(12)}};
  }
  stored.elapsed = std::chrono::microseconds{row.integer_at(13)};
  replay.selected = row.integer_at(14);
  replay.due = row.integer_at(15);
  replay.applied = row.integer_at(16);
  replay.failed = row.integer_at(17);
  replay.gone = row.integer_at(18);
  replay.range = range_from(row.text_at(19));
  replay.duplicate = row.integer_at(20);
  replay.stale = row.integer_at(21);
  replay.deferred = row.integer_at(22);
  replay.conflict = row.integer_at(23);
  replay.ignored = row.integer_at(24);
  if (replay.is_of_range()) replay.accepted = stored.passed;
  return stored;
}

class DatabaseReplayRows final : public ReplayRows {
 public:
  explicit DatabaseReplayRows(const Options& options) : connection_{options, Purpose::look} {}

  void transact(std::string_view consumer, const std::function<void()>& work) override;
  ReplayPreview preview(const DeferredFilter& filter) override;
  std::vector<StoredReplay> list(const ReplayQuery& query) override;
  void put(const StoredReplay& stored, bool is_new) override;
  std::int64_t make_due(StoredReplay& stored, std::int64_t limit) override;
  std::int64_t take_back(std::string_view id) override;
  std::vector<Position> positions(std::string_view consumer, std::string_view source) override;
  void forget_positions(const ReplayRecord& replay) override;
  void audit(const std::string& who, const char* action, const std::string& detail) override {
    insert_audit(connection_, who, action, detail);
  }

 private:
  void lock(const StoredReplay& stored);
  ConsumerId id_of(std::string_view consumer);

  Connection connection_;
};

void DatabaseReplayRows::transact(std::string_view consumer, const std::function<void()>& work) {
  OwnTransaction transaction{connection_};
  if (!consumer.empty()) {
    Statement& locked = connection_.own("SELECT 1 FROM onefold_consumer WHERE name = ? FOR UPDATE");
    locked.run(ParameterRows{1}.text(consumer));
    if (!locked.step()) {
      throw Error{ErrorKind::bad_configuration,
                  fmt::format("the database knows no consumer \"{}\"", consumer)};
    }
    locked.finish();
  }
  work();
  transaction.commit();
}

ReplayPreview DatabaseReplayRows::preview(const DeferredFilter& filter) {
  ParameterRows row{filter_parameters};
  bind_filter(row, filter);
  Statement& select = connection_.own(preview_sql());
  select.run(row);
  select.step();
  const ReplayPreview preview{.selected = select.integer_at(0), .up_to = select.integer_at(1)};
  select.finish();
  return preview;
}

std::vector<StoredReplay> DatabaseReplayRows::list(const ReplayQuery& query) {
  const auto read = [&] {
    ParameterRows row{7};
    bind_choice(row, query.id);
    bind_choice(row, query.consumer);
    row.integer(query.consumer_id).integer(query.consumer_id).integer(query.open ? 1 : 0);
    Statement& select = connection_.own(list_sql);
    select.run(row);
    std::vector<StoredReplay> found;
    while (select.step()) found.push_back(stored_of(select));
    return found;
  };
  std::vector<StoredReplay> found = read();
  if (!query.locked) return found;
  // One by one through the primary key, so that no other row is locked.
  for (const StoredReplay& stored : found) lock(stored);
  return read();
}

void DatabaseReplayRows::lock(const StoredReplay& stored) {
  Statement& locked = connection_.own("SELECT 1 FROM onefold_replay WHERE id = ? FOR UPDATE");
  locked.run(ParameterRows{1}.text(stored.replay.id));
  locked.finish();
}

void DatabaseReplayRows::put(const StoredReplay& stored, bool is_new) {
  const ReplayRecord& replay = stored.replay;
  const std::string state = to_string(replay.state);
  if (is_new) {
    const std::string filter = text_of_filter(replay.filter);
    const std::string ramp = text_of_ramp(replay.ramp);
    const std::string range = text_of_range(replay.range);
    ParameterRows row{18};
    row.text(replay.id).text(filter).integer(replay.up_to).integer(stored.passed);
    row.integer(replay.rate).text(ramp).text(replay.who).text(replay.reason).text(state);
    row.text(replay.note).integer(stored.elapsed.count()).integer(replay.selected);
    row.integer(replay.due).integer(replay.applied).integer(replay.failed).integer(replay.gone);
    connection_.own(insert_sql).run(row.text(range).text(replay.consumer));
    return;
  }
  const bool ended = replay.state == ReplayState::done || replay.state == ReplayState::cancelled;
  ParameterRows row{9};
  row.integer(stored.passed).text(state).text(replay.note).integer(stored.elapsed.count());
  row.integer(replay.due)
      .integer(replay.gone)
      .integer(replay.failed)
      .integer(ended ? 1 : 0)
      .text(replay.id);
  connection_.own(update_sql).run(row);
}

std::int64_t DatabaseReplayRows::make_due(StoredReplay& stored, std::int64_t limit) {
  ParameterRows row{filter_parameters + 3};
  bind_filter(row, stored.replay.filter);
  row.integer(stored.passed).integer(stored.replay.up_to).integer(limit);
  Statement& select = connection_.own(next_sql());
  select.run(row);
  std::vector<std::int64_t> ids;
  while (select.step()) ids.push_back(select.integer_at(0));
  std::int64_t made_due = 0;
  for (const std::int64_t id : ids) {
    stored.passed = id;
    Statement& locked = connection_.own(lock_sql);
    locked.run(ParameterRows{1}.integer(id));
    const bool ours = locked.step();
    locked.finish();
    if (!ours) continue;
    connection_.own(make_due_sql).run(ParameterRows{2}.text(stored.replay.id).integer(id));
    ++made_due;
  }
  return made_due;
}

std::int64_t DatabaseReplayRows::take_back(std::string_view id) {
  return connection_
      .own(
          "UPDATE onefold_deferred SET due_at = NULL, replay = NULL WHERE replay = ? "
          "AND due_at IS NOT NULL AND reason IN ('dead', 'quarantine')")
      .run(ParameterRows{1}.text(id));
}

std::vector<Position> DatabaseReplayRows::positions(std::string_view consumer,
                                                    std::string_view source) {
  const ConsumerId id = id_of(consumer);
  return id == 0 ? std::vector<Position>{} : select_positions(connection_, id, source);
}

ConsumerId DatabaseReplayRows::id_of(std::string_view consumer) {
  Statement& select = connection_.own("SELECT id FROM onefold_consumer WHERE name = ?");
  select.run(ParameterRows{1}.text(consumer));
  const auto id = select.step() ? static_cast<ConsumerId>(select.integer_at(0)) : ConsumerId{0};
  select.finish();
  return id;
}

/// By their keys: a search that locks what it passes would wait for those that read other sources.
void DatabaseReplayRows::forget_positions(const ReplayRecord& replay) {
  const ConsumerId consumer = id_of(replay.consumer);
  const std::string source = replay_position_source(replay.id);
  std::vector<std::string> places;
  Statement& select =
      connection_.own("SELECT HEX(place) FROM onefold_position WHERE consumer = ? AND source = ?");
  select.run(ParameterRows{2}.integer(consumer).text(source));
  while (select.step()) places.push_back(select.text_at(0));
  for (const std::string& place : places) {
    connection_.own("DELETE FROM onefold_position WHERE consumer = ? AND place = UNHEX(?)")
        .run(ParameterRows{2}.integer(consumer).text(place));
  }
  std::vector<std::int64_t> runs;
  Statement& known = connection_.own("SELECT id FROM onefold_run WHERE source = ?");
  known.run(ParameterRows{1}.text(source));
  while (known.step()) runs.push_back(known.integer_at(0));
  for (const std::int64_t run : runs) {
    connection_.own("DELETE FROM onefold_run WHERE id = ?").run(ParameterRows{1}.integer(run));
  }
  const auto place = sha256_128(source);
  connection_.own("DELETE FROM onefold_careful WHERE consumer = ? AND place = ?")
      .run(ParameterRows{2}.integer(consumer).blob(place));
}

}  // namespace

std::unique_ptr<Replays> open_replays(const Options& options) {
  return replays_over(std::make_unique<DatabaseReplayRows>(options));
}

}  // namespace onefold::mariadb
