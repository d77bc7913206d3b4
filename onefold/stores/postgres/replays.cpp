#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "onefold/formats/replay_text.h"
#include "onefold/replay_rows.h"
#include "onefold/stores/postgres/decisions.h"
#include "onefold/stores/postgres/records.h"
#include "onefold/stores/postgres/runs.h"

namespace onefold::postgres {
namespace {

/// What a replay may take, where `$1` to `$9` are the filter.
constexpr const char* replayable =
    "FROM onefold.deferred d JOIN onefold.consumer c ON c.id = d.consumer "
    "WHERE d.reason IN ('dead', 'quarantine') AND d.due_at IS NULL "
    "AND ($1::text IS NULL OR c.name = $1) AND ($2::text IS NULL OR d.reason = $2) "
    "AND ($3::text IS NULL OR d.event_id = $3) AND ($4::text IS NULL OR d.handler = $4) "
    "AND ($5::text IS NULL OR d.failure = $5) AND ($6::text IS NULL OR d.event_type = $6) "
    "AND ($7::text IS NULL OR d.source = $7) AND ($8::timestamptz IS NULL OR d.last_at >= $8) "
    "AND ($9::int8 IS NULL OR d.id = $9) ";

const char* preview_sql() {
  static const std::string sql =
      std::string{"SELECT count(*), coalesce(max(d.id), 0) "} + replayable;
  return sql.c_str();
}

/// Rows that somebody has in hand are left out: whoever has a row may wait for the replay's.
const char* make_due_sql() {
  static const std::string sql =
      std::string{"WITH next AS (SELECT d.id "} + replayable +
      "AND d.id > $10 AND d.id <= $11 ORDER BY d.id LIMIT $12 FOR UPDATE OF d SKIP LOCKED) "
      "UPDATE onefold.deferred d SET due_at = clock_timestamp(), attempts = 0, replay = $13 "
      "FROM next WHERE d.id = next.id RETURNING d.id";
  return sql.c_str();
}

constexpr const char* columns =
    "SELECT r.id, c.name, r.filter, r.up_to, r.passed, r.rate, r.ramp, r.who, r.reason, r.state, "
    "r.note, r.started_at, r.ended_at, "
    "(extract(epoch FROM clock_timestamp() - r.made_due_at) * 1000000)::int8, r.selected, r.due, "
    "r.applied, r.failed, r.gone, r.source_range, r.duplicate, r.stale, r.deferred, r.conflict, "
    "r.ignored FROM onefold.replay r "
    "JOIN onefold.consumer c ON c.id = r.consumer "
    "WHERE ($1::text IS NULL OR r.id = $1) AND ($2::text IS NULL OR c.name = $2) "
    "AND ($3 = 0 OR r.consumer = $3) AND (NOT $4 OR r.state IN ('running', 'paused')) "
    "ORDER BY r.started_at DESC, r.id DESC LIMIT 1000";

const char* locked_sql() {
  static const std::string sql = std::string{columns} + " FOR UPDATE OF r";
  return sql.c_str();
}

constexpr const char* insert_sql =
    "INSERT INTO onefold.replay (id, consumer, filter, up_to, passed, rate, ramp, who, reason, "
    "state, note, started_at, made_due_at, selected, due, applied, failed, gone, "
    "source_range, duplicate, stale, deferred, conflict, ignored) "
    "SELECT $1, c.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp(), "
    "clock_timestamp() - $12::int8 * interval '1 microsecond', $13, $14, $15, $16, $17, "
    "$18, 0, 0, 0, 0, 0 "
    "FROM onefold.consumer c WHERE c.name = $2";

constexpr const char* update_sql =
    "UPDATE onefold.replay SET passed = $2, state = $3, note = $4, "
    "made_due_at = clock_timestamp() - $5::int8 * interval '1 microsecond', due = $6, gone = $7, "
    "failed = $8, ended_at = CASE WHEN $3 IN ('done', 'cancelled') THEN clock_timestamp() END "
    "WHERE id = $1";

constexpr const char* take_back_sql =
    "WITH due AS (SELECT d.id FROM onefold.deferred d WHERE d.replay = $1 "
    "AND d.due_at IS NOT NULL AND d.reason IN ('dead', 'quarantine') ORDER BY d.id FOR UPDATE) "
    "UPDATE onefold.deferred d SET due_at = NULL, replay = NULL FROM due WHERE d.id = due.id";

Arguments arguments_of(const DeferredFilter& filter) {
  Arguments arguments;
  arguments.text_or_null(filter.consumer).text_or_null(filter.reason);
  arguments.text_or_null(filter.event_id).text_or_null(filter.handler);
  arguments.text_or_null(filter.failure).text_or_null(filter.event_type);
  arguments.text_or_null(filter.source);
  filter.since ? arguments.time(*filter.since) : arguments.null(type::time);
  filter.id ? arguments.integer64(*filter.id) : arguments.null(type::integer64);
  return arguments;
}

StoredReplay stored_of(const Row& row) {
  StoredReplay stored;
  ReplayRecord& replay = stored.replay;
  replay.id = row.text(0);
  replay.consumer = row.text(1);
  replay.filter = filter_from(row.text(2));
  replay.up_to = row.integer64(3);
  stored.passed = row.integer64(4);
  replay.rate = row.integer64(5);
  replay.ramp = ramp_from(row.text(6));
  replay.who = row.text(7);
  replay.reason = row.text(8);
  replay.state = replay_state_from(row.text(9)).value_or(ReplayState::done);
  replay.note = row.text(10);
  replay.started_at = row.time(11);
  if (!row.is_null(12)) replay.ended_at = row.time(12);
  stored.elapsed = std::chrono::microseconds{row.integer64(13)};
  replay.selected = row.integer64(14);
  replay.due = row.integer64(15);
  replay.applied = row.integer64(16);
  replay.failed = row.integer64(17);
  replay.gone = row.integer64(18);
  replay.range = range_from(row.text(19));
  replay.duplicate = row.integer64(20);
  replay.stale = row.integer64(21);
  replay.deferred = row.integer64(22);
  replay.conflict = row.integer64(23);
  replay.ignored = row.integer64(24);
  if (replay.is_of_range()) replay.accepted = stored.passed;
  return stored;
}

class DatabaseReplayRows final : public ReplayRows {
 public:
  explicit DatabaseReplayRows(const Options& options) : connection_{options} {}

  void transact(std::string_view consumer, const std::function<void()>& work) override;
  ReplayPreview preview(const DeferredFilter& filter) override;
  std::vector<StoredReplay> list(const ReplayQuery& query) override;
  void put(const StoredReplay& stored, bool is_new) override;
  std::int64_t make_due(StoredReplay& stored, std::int64_t limit) override;
  std::int64_t take_back(std::string_view id) override;
  std::vector<Position> positions(std::string_view consumer, std::string_view source) override;
  void forget_positions(const ReplayRecord& replay) override;
  void audit(const std::string& who, const char* action, const std::string& detail) override {
    queue_audit(connection_, who, action, detail);
  }

 private:
  Connection connection_;
};

void DatabaseReplayRows::transact(std::string_view consumer, const std::function<void()>& work) {
  OwnTransaction transaction{connection_};
  if (!consumer.empty()) {
    Arguments arguments;
    arguments.text(consumer);
    const Result locked =
        connection_.run("SELECT 1 FROM onefold.consumer WHERE name = $1 FOR UPDATE",
                        std::move(arguments), "locking a consumer");
    if (rows_in(locked) == 0) {
      throw Error{ErrorKind::bad_configuration,
                  fmt::format("the database knows no consumer \"{}\"", consumer)};
    }
  }
  work();
  connection_.run();
  transaction.commit();
}

ReplayPreview DatabaseReplayRows::preview(const DeferredFilter& filter) {
  const Result found =
      connection_.run(preview_sql(), arguments_of(filter), "counting what can be replayed");
  const Row row{found.get(), 0};
  return {.selected = row.integer64(0), .up_to = row.integer64(1)};
}

std::vector<StoredReplay> DatabaseReplayRows::list(const ReplayQuery& query) {
  Arguments arguments;
  arguments.text_or_null(query.id).text_or_null(query.consumer).integer32(query.consumer_id);
  arguments.boolean(query.open);
  const Result found = connection_.run(query.locked ? locked_sql() : columns, std::move(arguments),
                                       "reading replays");
  std::vector<StoredReplay> replays;
  for (int i = 0; i < rows_in(found); ++i) replays.push_back(stored_of({found.get(), i}));
  return replays;
}

void DatabaseReplayRows::put(const StoredReplay& stored, bool is_new) {
  const ReplayRecord& replay = stored.replay;
  Arguments row;
  row.text(replay.id);
  if (is_new) {
    row.text(replay.consumer).text(text_of_filter(replay.filter)).integer64(replay.up_to);
    row.integer64(stored.passed).integer64(replay.rate).text(text_of_ramp(replay.ramp));
    row.text(replay.who).text(replay.reason).text(to_string(replay.state)).text(replay.note);
    row.integer64(stored.elapsed.count()).integer64(replay.selected).integer64(replay.due);
    row.integer64(replay.applied).integer64(replay.failed).integer64(replay.gone);
    row.text(text_of_range(replay.range));
    connection_.run(insert_sql, std::move(row), "starting a replay");
    return;
  }
  row.integer64(stored.passed).text(to_string(replay.state)).text(replay.note);
  row.integer64(stored.elapsed.count())
      .integer64(replay.due)
      .integer64(replay.gone)
      .integer64(replay.failed);
  connection_.run(update_sql, std::move(row), "moving a replay on");
}

std::int64_t DatabaseReplayRows::make_due(StoredReplay& stored, std::int64_t limit) {
  Arguments arguments = arguments_of(stored.replay.filter);
  arguments.integer64(stored.passed).integer64(stored.replay.up_to).integer64(limit);
  arguments.text(stored.replay.id);
  const Result made =
      connection_.run(Command{.statement = &connection_.planned_anew(make_due_sql()),
                              .arguments = std::move(arguments),
                              .doing = "making events of a replay due"});
  for (int i = 0; i < rows_in(made); ++i) {
    stored.passed = std::max(stored.passed, Row{made.get(), i}.integer64(0));
  }
  return rows_in(made);
}

std::int64_t DatabaseReplayRows::take_back(std::string_view id) {
  Arguments arguments;
  arguments.text(id);
  return rows_changed(
      connection_.run(take_back_sql, std::move(arguments), "taking events of a replay back"));
}

std::vector<Position> DatabaseReplayRows::positions(std::string_view consumer,
                                                    std::string_view source) {
  Arguments arguments;
  arguments.text(consumer);
  const Result found = connection_.run("SELECT id FROM onefold.consumer WHERE name = $1",
                                       std::move(arguments), "looking for a consumer");
  if (rows_in(found) == 0) return {};
  return select_positions(connection_, Row{found.get(), 0}.integer32(0), source);
}

void DatabaseReplayRows::forget_positions(const ReplayRecord& replay) {
  for (const char* sql : {"DELETE FROM onefold.position WHERE source = $1",
                          "DELETE FROM onefold.careful WHERE source = $1",
                          "DELETE FROM onefold.run WHERE source = $1"}) {
    Arguments arguments;
    arguments.text(replay_position_source(replay.id));
    connection_.run(sql, std::move(arguments), "removing the positions of a replay");
  }
}

}  // namespace

std::unique_ptr<Replays> open_replays(const Options& options) {
  return replays_over(std::make_unique<DatabaseReplayRows>(options));
}

}  // namespace onefold::postgres
