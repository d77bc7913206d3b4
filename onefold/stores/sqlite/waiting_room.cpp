#include "onefold/stores/sqlite/waiting_room.h"

#include <fmt/core.h>

#include <algorithm>

#include "onefold/formats/stored_lists.h"
#include "onefold/stores/sqlite/deferred.h"

namespace onefold::sqlite {
namespace {

constexpr const char* take_sql =
    "UPDATE main.onefold_deferred SET turn = turn + 1 WHERE id = ? AND turn = ?";

constexpr const char* claim_sql =
    "SELECT waiting, recorded_at, fingerprint FROM main.onefold_inbox WHERE scope = ? AND key = ?";

constexpr const char* blocked_sql =
    "SELECT EXISTS (SELECT 1 FROM main.onefold_deferred WHERE consumer = ?1 AND entity = ?2 AND "
    "reason IN ('retry', 'gap', 'behind') AND (reason <> 'behind' OR ?3 IS NULL OR id < ?3))";

constexpr const char* pause_sql =
    "INSERT INTO main.onefold_pause (consumer, who, reason, failure, since, probes, probe_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6) ON CONFLICT (consumer) DO NOTHING";

/// All that is dead for the class since then.
constexpr const char* dead_sql =
    "SELECT id, scope, key, further_keys FROM main.onefold_deferred "
    "WHERE consumer = ?1 AND reason = 'dead' AND failure = ?2 AND first_at >= ?3";

/// Two searches by two indexes; rows that both find are one. What is behind is looked for entity by
/// entity: thousands of rows behind one that waits are passed in one step. With very many to choose
/// from, not all are compared. SQLite takes the index only where its condition is repeated.
constexpr const char* due_sql =
    "WITH RECURSIVE place(entity) AS (SELECT min(entity) FROM main.onefold_deferred "
    "WHERE consumer = ?1 AND reason = 'behind' AND reason IN ('retry', 'gap', 'behind') "
    "UNION ALL SELECT (SELECT min(entity) FROM main.onefold_deferred "
    "WHERE consumer = ?1 AND reason = 'behind' AND reason IN ('retry', 'gap', 'behind') "
    "AND entity > place.entity) FROM place WHERE place.entity IS NOT NULL) "
    "SELECT id FROM (SELECT id FROM main.onefold_deferred WHERE consumer = ?1 "
    "AND due_at IS NOT NULL AND due_at <= ?2 UNION SELECT id FROM (SELECT b.id FROM place "
    "CROSS JOIN main.onefold_deferred b ON b.id IN (SELECT d.id FROM main.onefold_deferred d "
    "WHERE d.consumer = ?1 AND d.reason = 'behind' AND d.reason IN ('retry', 'gap', 'behind') "
    "AND d.entity = place.entity ORDER BY d.id LIMIT ?3) "
    "WHERE NOT EXISTS (SELECT 1 FROM main.onefold_deferred f WHERE f.consumer = ?1 "
    "AND f.reason = 'retry' AND f.reason IN ('retry', 'gap', 'behind') "
    "AND f.entity = place.entity) LIMIT max(?3, 1000))) ORDER BY id LIMIT ?3";

constexpr const char* probe_sql =
    "SELECT d.id FROM main.onefold_deferred d JOIN main.onefold_pause p "
    "ON p.consumer = d.consumer WHERE d.consumer = ?1 AND p.probe_at <= ?2 AND "
    "(d.reason = 'retry' OR d.due_at <= ?2) AND d.due_at IS NOT NULL "
    "ORDER BY d.last_at, d.id LIMIT 1";

constexpr const char* next_sql =
    "SELECT min(due_at) FROM main.onefold_deferred WHERE consumer = ? AND due_at IS NOT NULL";

std::vector<DeferredRecord> rows_of(Connection& connection, const std::vector<std::int64_t>& ids) {
  std::vector<DeferredRecord> rows;
  for (const std::int64_t id : ids) {
    DeferredFilter this_one;
    this_one.id = id;
    for (DeferredRecord& row : select_deferred(connection, this_one)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

std::vector<Claim> DatabaseWaitingRoom::take(std::span<const Waiting* const> events) {
  return health_.guard([&] {
    const Connection::Inside inside{connection_};
    std::vector<Claim> claims;
    claims.reserve(events.size());
    for (const Waiting* event : events) claims.push_back(take_one(*event));
    return claims;
  });
}

/// The write lock is ours: nobody can take an inbox row meanwhile.
Claim DatabaseWaitingRoom::take_one(const Waiting& event) {
  connection_.own(take_sql).integer(1, event.id).integer(2, event.turn).run();
  if (sqlite3_changes(connection_.handle()) == 1) {
    require_waiting(event.key, event.id);
    for (const Key& key : event.further_keys) require_waiting(key, event.id);
    return {};
  }
  Claim claim{ClaimState::known, {}, {}};
  Statement& select = connection_.own(claim_sql);
  const ResetAtEnd reset{select};
  if (!select.integer(1, event.key.scope).blob(2, event.key.bytes).step()) return claim;
  if (select.integer_at(0) != 0) claim.state = ClaimState::waiting;
  claim.recorded_at = Timestamp{std::chrono::microseconds{select.integer_at(1)}};
  select.copy_blob(2, claim.fingerprint);
  return claim;
}

void DatabaseWaitingRoom::require_waiting(const Key& key, std::int64_t id) {
  Statement& select = connection_.own(claim_sql);
  const ResetAtEnd reset{select};
  const bool found = select.integer(1, key.scope).blob(2, key.bytes).step();
  if (found && select.integer_at(0) != 0) return;
  throw Error{ErrorKind::bad_configuration,
              fmt::format("number {} waits and has no waiting claim in the inbox, which only a "
                          "change by hand can bring about; discard it",
                          id)};
}

void DatabaseWaitingRoom::leave(std::span<const std::int64_t> ids) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    for (const std::int64_t id : ids) {
      connection_.own("DELETE FROM main.onefold_deferred WHERE id = ?").integer(1, id).run();
    }
  });
}

std::vector<bool> DatabaseWaitingRoom::blocked(ConsumerId consumer, std::span<const Front> fronts) {
  return health_.guard([&] {
    const Connection::Inside inside{connection_};
    std::vector<bool> blocked;
    for (const Front& front : fronts) blocked.push_back(is_blocked(consumer, front));
    return blocked;
  });
}

bool DatabaseWaitingRoom::is_blocked(ConsumerId consumer, const Front& front) {
  Statement& select = connection_.own(blocked_sql);
  const ResetAtEnd reset{select};
  select.integer(1, consumer).text(2, front.entity);
  front.before ? select.integer(3, *front.before) : select.null(3);
  return select.step() && select.integer_at(0) != 0;
}

void DatabaseWaitingRoom::pause(const Pause& pause) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    const std::int64_t now = now_microseconds();
    connection_.own(pause_sql)
        .integer(1, pause.consumer)
        .text(2, pause.who)
        .text(3, pause.reason)
        .text(4, to_string(pause.failure))
        .integer(5, now)
        .integer(6, now + std::chrono::microseconds{pause.probe_in}.count())
        .run();
    if (pause.failing_since) revive(pause);
  });
}

void DatabaseWaitingRoom::revive(const Pause& pause) {
  std::vector<std::int64_t> ids;
  std::vector<Key> keys;
  {
    Statement& select = connection_.own(dead_sql);
    const ResetAtEnd reset{select};
    select.integer(1, pause.consumer).text(2, to_string(pause.failure));
    select.integer(3, pause.failing_since->time_since_epoch().count());
    while (select.step()) {
      ids.push_back(select.integer_at(0));
      Key& key = keys.emplace_back();
      key.scope = static_cast<std::int32_t>(select.integer_at(1));
      select.copy_blob(2, key.bytes);
      for (const Key& further : keys_from(select.blob_at(3))) keys.push_back(further);
    }
  }
  for (const std::int64_t id : ids) {
    connection_
        .own(
            "UPDATE main.onefold_deferred SET reason = 'retry', due_at = ?2, attempts = 0, "
            "turn = turn + 1 WHERE id = ?1")
        .integer(1, id)
        .integer(2, now_microseconds())
        .run();
  }
  for (const Key& key : keys) {
    connection_.own("UPDATE main.onefold_inbox SET outcome = ?3 WHERE scope = ?1 AND key = ?2")
        .integer(1, key.scope)
        .blob(2, key.bytes)
        .integer(3, static_cast<std::int64_t>(Outcome::deferred))
        .run();
  }
}

void DatabaseWaitingRoom::probed(ConsumerId consumer, bool worked,
                                 std::chrono::milliseconds next_in) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    if (worked) {
      connection_.own("DELETE FROM main.onefold_pause WHERE consumer = ?")
          .integer(1, consumer)
          .run();
      return;
    }
    connection_
        .own("UPDATE main.onefold_pause SET probes = probes + 1, probe_at = ?2 WHERE consumer = ?1")
        .integer(1, consumer)
        .integer(2, now_microseconds() + std::chrono::microseconds{next_in}.count())
        .run();
  });
}

void DatabaseWaitingRoom::tally(std::span<const ReplayTally> tallies) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    for (const ReplayTally& tally : tallies) {
      Statement& update = connection_.own(
          "UPDATE main.onefold_replay SET applied = applied + ?2, failed = failed + ?3, "
          "due = due + ?4, duplicate = duplicate + ?5, stale = stale + ?6, "
          "deferred = deferred + ?7, conflict = conflict + ?8, ignored = ignored + ?9 "
          "WHERE id = ?1 AND (?4 = 0 OR state IN ('running', 'paused'))");
      update.text(1, tally.replay).integer(2, tally.applied).integer(3, tally.failed);
      update.integer(4, tally.received).integer(5, tally.duplicate).integer(6, tally.stale);
      update.integer(7, tally.deferred).integer(8, tally.conflict).integer(9, tally.ignored).run();
      if (tally.received > 0 && sqlite3_changes(connection_.handle()) == 0) {
        throw Error{ErrorKind::contention, "the replay has ended meanwhile"};
      }
    }
  });
}

Due select_due(Connection& connection, const DueQuery& query) {
  const Connection::Inside inside{connection};
  const std::int64_t now = now_microseconds();
  std::vector<std::int64_t> ids;
  {
    Statement& select = connection.own(query.probe ? probe_sql : due_sql);
    const ResetAtEnd reset{select};
    select.integer(1, query.consumer).integer(2, now);
    if (!query.probe) select.integer(3, static_cast<std::int64_t>(query.limit));
    while (select.step()) ids.push_back(select.integer_at(0));
  }
  Due due{.events = rows_of(connection, ids), .next_in = {}};
  if (!due.events.empty()) return due;
  Statement& next = connection.own(
      query.probe ? "SELECT probe_at FROM main.onefold_pause WHERE consumer = ?" : next_sql);
  const ResetAtEnd reset{next};
  if (next.integer(1, query.consumer).step() && !next.is_null(0)) {
    due.next_in = std::chrono::microseconds{std::max<std::int64_t>(0, next.integer_at(0) - now)};
  }
  return due;
}

std::optional<PauseRecord> select_pause(Connection& connection, ConsumerId consumer) {
  const Connection::Inside inside{connection};
  Statement& select = connection.own(
      "SELECT c.name, p.who, p.reason, p.since, p.probes, p.probe_at FROM main.onefold_pause p "
      "JOIN main.onefold_consumer c ON c.id = p.consumer WHERE p.consumer = ?");
  const ResetAtEnd reset{select};
  if (!select.integer(1, consumer).step()) return std::nullopt;
  const std::int64_t wait = select.integer_at(5) - now_microseconds();
  return PauseRecord{.consumer = select.text_at(0),
                     .who = select.text_at(1),
                     .reason = select.text_at(2),
                     .since = Timestamp{std::chrono::microseconds{select.integer_at(3)}},
                     .probes = static_cast<int>(select.integer_at(4)),
                     .probe_in = std::chrono::microseconds{std::max<std::int64_t>(0, wait)}};
}

void finish_claim(Connection& connection, const Key& key, std::int64_t id,
                  std::string_view result) {
  connection
      .own(
          "UPDATE main.onefold_inbox SET waiting = 0, result = coalesce(?3, result) "
          "WHERE scope = ?1 AND key = ?2 AND waiting = 1")
      .integer(1, key.scope)
      .blob(2, key.bytes)
      .text_or_null(3, result)
      .run();
  if (sqlite3_changes(connection.handle()) == 1) return;
  throw Error{
      ErrorKind::bad_configuration,
      fmt::format("number {} has no waiting claim in the inbox, which only a change by hand "
                  "can bring about; nothing was changed",
                  id)};
}

}  // namespace onefold::sqlite
