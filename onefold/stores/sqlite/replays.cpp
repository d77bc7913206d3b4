#include <fmt/core.h>

#include <algorithm>

#include "onefold/formats/replay_text.h"
#include "onefold/replay_rows.h"
#include "onefold/stores/sqlite/decisions.h"
#include "onefold/stores/sqlite/deferred.h"
#include "onefold/stores/sqlite/records.h"
#include "onefold/stores/sqlite/runs.h"

namespace onefold::sqlite {
namespace {

/// What a replay may take, where `?1` to `?9` are the filter.
constexpr const char* replayable =
    "FROM main.onefold_deferred d JOIN main.onefold_consumer c ON c.id = d.consumer "
    "WHERE d.reason IN ('dead', 'quarantine') AND d.due_at IS NULL AND (?1 IS NULL OR c.name = ?1) "
    "AND (?2 IS NULL OR d.reason = ?2) AND (?3 IS NULL OR d.event_id = ?3) AND "
    "(?4 IS NULL OR d.handler = ?4) AND (?5 IS NULL OR d.failure = ?5) AND "
    "(?6 IS NULL OR d.event_type = ?6) AND (?7 IS NULL OR d.source = ?7) AND "
    "(?8 IS NULL OR d.last_at >= ?8) AND (?9 IS NULL OR d.id = ?9) ";

const char* preview_sql() {
  static const std::string sql =
      std::string{"SELECT count(*), coalesce(max(d.id), 0) "} + replayable;
  return sql.c_str();
}

const char* next_sql() {
  static const std::string sql = std::string{"SELECT d.id "} + replayable +
                                 "AND d.id > ?10 AND d.id <= ?11 ORDER BY d.id LIMIT ?12";
  return sql.c_str();
}

constexpr const char* list_sql =
    "SELECT r.id, c.name, r.filter, r.up_to, r.passed, r.rate, r.ramp, r.who, r.reason, r.state, "
    "r.note, r.started_at, r.ended_at, r.made_due_at, r.selected, r.due, r.applied, r.failed, "
    "r.gone, r.source_range, r.duplicate, r.stale, r.deferred, r.conflict, r.ignored "
    "FROM main.onefold_replay r JOIN main.onefold_consumer c ON c.id = r.consumer "
    "WHERE (?1 IS NULL OR r.id = ?1) AND (?2 IS NULL OR c.name = ?2) "
    "AND (?3 = 0 OR r.consumer = ?3) AND (?4 = 0 OR r.state IN ('running', 'paused')) "
    "ORDER BY r.started_at DESC, r.id DESC LIMIT 1000";

constexpr const char* insert_sql =
    "INSERT INTO main.onefold_replay (id, consumer, filter, up_to, passed, rate, ramp, who, "
    "reason, state, note, started_at, made_due_at, selected, due, applied, failed, gone, "
    "source_range, duplicate, stale, deferred, conflict, ignored) "
    "SELECT ?1, c.id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
    "?19, 0, 0, 0, 0, 0 "
    "FROM main.onefold_consumer c WHERE c.name = ?2";

constexpr const char* update_sql =
    "UPDATE main.onefold_replay SET passed = ?2, state = ?3, note = ?4, made_due_at = ?5, "
    "due = ?6, gone = ?7, failed = ?9, ended_at = iif(?3 IN ('done', 'cancelled'), ?8, NULL) "
    "WHERE id = ?1";

void bind_filter(Statement& statement, const DeferredFilter& filter) {
  statement.text_or_null(1, filter.consumer).text_or_null(2, filter.reason);
  statement.text_or_null(3, filter.event_id).text_or_null(4, filter.handler);
  statement.text_or_null(5, filter.failure).text_or_null(6, filter.event_type);
  statement.text_or_null(7, filter.source);
  filter.since ? statement.integer(8, filter.since->time_since_epoch().count()) : statement.null(8);
  filter.id ? statement.integer(9, *filter.id) : statement.null(9);
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
  stored.elapsed = std::chrono::microseconds{now_microseconds() - row.integer_at(13)};
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
  explicit DatabaseReplayRows(const Options& options) : connection_{options, nullptr} {}

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
  void insert(const StoredReplay& stored, std::int64_t now);
  void begin_to_write();

  Connection connection_;
  std::optional<OwnTransaction> transaction_;  ///< Begun with the first lock or write.
};

/// Most calls find nothing to do: they only read, and keep no writer waiting.
void DatabaseReplayRows::transact(std::string_view consumer, const std::function<void()>& work) {
  const Connection::Inside inside{connection_};
  transaction_.reset();
  try {
    if (!consumer.empty()) {
      begin_to_write();
      Statement& select = connection_.own("SELECT 1 FROM main.onefold_consumer WHERE name = ?");
      const ResetAtEnd reset{select};
      if (!select.text(1, consumer).step()) {
        throw Error{ErrorKind::bad_configuration,
                    fmt::format("the database knows no consumer \"{}\"", consumer)};
      }
    }
    work();
    if (transaction_) transaction_->commit();
    transaction_.reset();
  } catch (...) {
    transaction_.reset();
    throw;
  }
}

void DatabaseReplayRows::begin_to_write() {
  if (!transaction_) transaction_.emplace(connection_);
}

ReplayPreview DatabaseReplayRows::preview(const DeferredFilter& filter) {
  Statement& select = connection_.own(preview_sql());
  const ResetAtEnd reset{select};
  bind_filter(select, filter);
  select.step();
  return {.selected = select.integer_at(0), .up_to = select.integer_at(1)};
}

std::vector<StoredReplay> DatabaseReplayRows::list(const ReplayQuery& query) {
  if (query.locked) begin_to_write();
  Statement& select = connection_.own(list_sql);
  const ResetAtEnd reset{select};
  select.text_or_null(1, query.id).text_or_null(2, query.consumer);
  select.integer(3, query.consumer_id).integer(4, query.open ? 1 : 0);
  std::vector<StoredReplay> found;
  while (select.step()) found.push_back(stored_of(select));
  return found;
}

void DatabaseReplayRows::insert(const StoredReplay& stored, std::int64_t now) {
  const ReplayRecord& replay = stored.replay;
  const std::string filter = text_of_filter(replay.filter);
  const std::string ramp = text_of_ramp(replay.ramp);
  const std::string range = text_of_range(replay.range);
  Statement& insert = connection_.own(insert_sql);
  insert.text(1, replay.id).text(2, replay.consumer).text(3, filter).integer(4, replay.up_to);
  insert.integer(5, stored.passed).integer(6, replay.rate).text(7, ramp).text(8, replay.who);
  insert.text(9, replay.reason).text(10, to_string(replay.state)).text(11, replay.note);
  insert.integer(12, now).integer(13, now - stored.elapsed.count()).integer(14, replay.selected);
  insert.integer(15, replay.due).integer(16, replay.applied).integer(17, replay.failed);
  insert.integer(18, replay.gone).text(19, range).run();
}

void DatabaseReplayRows::put(const StoredReplay& stored, bool is_new) {
  begin_to_write();
  const std::int64_t now = now_microseconds();
  if (is_new) return insert(stored, now);
  const ReplayRecord& replay = stored.replay;
  Statement& update = connection_.own(update_sql);
  update.text(1, replay.id).integer(2, stored.passed).text(3, to_string(replay.state));
  update.text(4, replay.note).integer(5, now - stored.elapsed.count()).integer(6, replay.due);
  update.integer(7, replay.gone).integer(8, now).integer(9, replay.failed).run();
}

std::int64_t DatabaseReplayRows::make_due(StoredReplay& stored, std::int64_t limit) {
  begin_to_write();
  std::vector<std::int64_t> ids;
  {
    Statement& select = connection_.own(next_sql());
    const ResetAtEnd reset{select};
    bind_filter(select, stored.replay.filter);
    select.integer(10, stored.passed).integer(11, stored.replay.up_to).integer(12, limit);
    while (select.step()) ids.push_back(select.integer_at(0));
  }
  for (const std::int64_t id : ids) {
    connection_
        .own(
            "UPDATE main.onefold_deferred SET due_at = ?2, attempts = 0, replay = ?3 "
            "WHERE id = ?1")
        .integer(1, id)
        .integer(2, now_microseconds())
        .text(3, stored.replay.id)
        .run();
    stored.passed = id;
  }
  return std::ssize(ids);
}

std::int64_t DatabaseReplayRows::take_back(std::string_view id) {
  begin_to_write();
  connection_
      .own(
          "UPDATE main.onefold_deferred SET due_at = NULL, replay = NULL "
          "WHERE replay = ? AND due_at IS NOT NULL AND reason IN ('dead', 'quarantine')")
      .text(1, id)
      .run();
  return sqlite3_changes(connection_.handle());
}

std::vector<Position> DatabaseReplayRows::positions(std::string_view consumer,
                                                    std::string_view source) {
  ConsumerId id = 0;
  {
    Statement& select = connection_.own("SELECT id FROM main.onefold_consumer WHERE name = ?");
    const ResetAtEnd reset{select};
    if (!select.text(1, consumer).step()) return {};
    id = static_cast<ConsumerId>(select.integer_at(0));
  }
  return select_positions(connection_, id, source);
}

void DatabaseReplayRows::forget_positions(const ReplayRecord& replay) {
  begin_to_write();
  const std::string source = replay_position_source(replay.id);
  for (const char* sql : {"DELETE FROM main.onefold_position WHERE source = ?",
                          "DELETE FROM main.onefold_careful WHERE source = ?",
                          "DELETE FROM main.onefold_run WHERE source = ?"}) {
    connection_.own(sql).text(1, source).run();
  }
}

}  // namespace

std::unique_ptr<Replays> open_replays(const Options& options) {
  return replays_over(std::make_unique<DatabaseReplayRows>(options));
}

}  // namespace onefold::sqlite
