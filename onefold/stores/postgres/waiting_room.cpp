#include "onefold/stores/postgres/waiting_room.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "onefold/formats/stored_lists.h"
#include "onefold/stores/postgres/deferred.h"
#include "onefold/stores/postgres/ledger.h"

namespace onefold::postgres {
namespace {

// In the order of the numbers, so that two who take the same events cannot hold each other up: the
// second waits for the first, and then finds other turns. An event that was waiting when the
// statement began, and that nobody has taken since, still has the claims that it had then.
constexpr const char* take_sql =
    "WITH locked AS (SELECT d.id FROM onefold.deferred d "
    "JOIN unnest($1::int8[], $2::int8[]) AS w(id, turn) ON w.id = d.id AND w.turn = d.turn "
    "ORDER BY d.id FOR UPDATE OF d), "
    "raised AS (UPDATE onefold.deferred d SET turn = d.turn + 1 FROM locked "
    "WHERE d.id = locked.id RETURNING d.id), "
    "wanted AS (SELECT w.id, w.scope, w.key "
    "FROM unnest($3::int8[], $4::int4[], $5::bytea[]) AS w(id, scope, key) "
    "JOIN raised ON raised.id = w.id ORDER BY w.scope, w.key), "
    "held AS (SELECT wanted.id FROM wanted, LATERAL (SELECT 1 FROM onefold.inbox i "
    "WHERE i.scope = wanted.scope AND i.key = wanted.key AND i.waiting LIMIT 1 FOR UPDATE) claim) "
    "SELECT raised.id, count(held.id) FROM raised LEFT JOIN held ON held.id = raised.id "
    "GROUP BY raised.id";

// Each front is searched for by itself, through the index: LIMIT keeps it from joining.
constexpr const char* blocked_sql =
    "SELECT w.place FROM unnest($2::text[], $3::int8[]) WITH ORDINALITY AS w(entity, before, "
    "place), LATERAL (SELECT 1 FROM ("
    "(SELECT 1 FROM onefold.deferred d WHERE d.consumer = $1 AND d.reason = 'retry' "
    "AND hashtextextended(d.entity, 0) = hashtextextended(w.entity COLLATE \"C\", 0) "
    "AND d.entity = w.entity LIMIT 1) UNION ALL "
    "(SELECT 1 FROM onefold.deferred d WHERE d.consumer = $1 AND d.reason = 'behind' "
    "AND hashtextextended(d.entity, 0) = hashtextextended(w.entity COLLATE \"C\", 0) "
    "AND d.entity = w.entity AND d.id < coalesce(w.before, 9223372036854775807) LIMIT 1)) either "
    "LIMIT 1) front";

constexpr const char* leave_sql = "DELETE FROM onefold.deferred WHERE id = ANY($1::int8[])";

constexpr const char* pause_sql =
    "INSERT INTO onefold.pause (consumer, who, reason, failure, since, probes, probe_at) "
    "VALUES ($1, $2, $3, $4, clock_timestamp(), 0, "
    "clock_timestamp() + $5::int8 * interval '1 microsecond') ON CONFLICT (consumer) DO NOTHING";

constexpr const char* revive_sql =
    "WITH dead AS (SELECT d.id FROM onefold.deferred d WHERE d.consumer = $1 "
    "AND d.reason = 'dead' AND d.failure = $2 AND d.first_at >= $3 ORDER BY d.id FOR UPDATE) "
    "UPDATE onefold.deferred d SET reason = 'retry', due_at = clock_timestamp(), attempts = 0, "
    "turn = d.turn + 1 FROM dead WHERE d.id = dead.id RETURNING d.scope, d.key, d.further_keys";

constexpr const char* wait_again_sql =
    "UPDATE onefold.inbox i SET outcome = $3 FROM unnest($1::int4[], $2::bytea[]) AS w(scope, key) "
    "WHERE i.scope = w.scope AND i.key = w.key";

/// Two searches by two indexes; a row that both find is one. OFFSET 0 keeps the first from walking
/// through all rows in their order. What is behind is looked for entity by entity: thousands of
/// rows behind one that waits are passed in one step. With very many to choose from, not all are
/// compared.
constexpr const char* due_sql =
    "WITH RECURSIVE place AS ((SELECT hashtextextended(d.entity, 0) AS entity "
    "FROM onefold.deferred d WHERE d.consumer = $1 AND d.reason = 'behind' "
    "AND d.entity IS NOT NULL ORDER BY 1 LIMIT 1) UNION ALL "
    "SELECT (SELECT hashtextextended(d.entity, 0) FROM onefold.deferred d WHERE d.consumer = $1 "
    "AND d.reason = 'behind' AND d.entity IS NOT NULL "
    "AND hashtextextended(d.entity, 0) > place.entity ORDER BY 1 LIMIT 1) "
    "FROM place WHERE place.entity IS NOT NULL) "
    "SELECT id FROM ((SELECT id FROM (SELECT id FROM onefold.deferred WHERE consumer = $1 "
    "AND due_at <= now() OFFSET 0) timed ORDER BY id LIMIT $2) UNION "
    "(SELECT behind.id FROM place, LATERAL (SELECT d.id FROM onefold.deferred d "
    "WHERE d.consumer = $1 AND d.reason = 'behind' AND d.entity IS NOT NULL "
    "AND hashtextextended(d.entity, 0) = place.entity ORDER BY d.id LIMIT $2) behind "
    "WHERE place.entity IS NOT NULL AND (SELECT true FROM onefold.deferred f "
    "WHERE f.consumer = $1 AND f.reason = 'retry' AND f.entity IS NOT NULL "
    "AND hashtextextended(f.entity, 0) = place.entity LIMIT 1) IS NULL "
    "LIMIT greatest($2, 1000))) due ORDER BY id LIMIT $2";

constexpr const char* probe_sql =
    "SELECT d.id FROM onefold.deferred d JOIN onefold.pause p ON p.consumer = d.consumer "
    "WHERE d.consumer = $1 AND p.probe_at <= now() AND d.due_at IS NOT NULL "
    "AND (d.reason = 'retry' OR d.due_at <= now()) ORDER BY d.last_at, d.id LIMIT 1";

// Not min(): where few rows are expected it reads them all.
constexpr const char* next_sql =
    "SELECT (extract(epoch FROM due_at - now()) * 1000000)::int8 "
    "FROM onefold.deferred WHERE consumer = $1 AND due_at IS NOT NULL ORDER BY due_at LIMIT 1";

constexpr const char* next_probe_sql =
    "SELECT (extract(epoch FROM probe_at - now()) * 1000000)::int8 "
    "FROM onefold.pause WHERE consumer = $1";

Arguments arguments_of(const std::vector<Key>& keys) {
  Array scope{type::integer32};
  Array key{type::bytes};
  for (const Key& each : keys) {
    scope.integer32(each.scope);
    key.bytes(each.bytes);
  }
  Arguments arguments;
  scope.into(arguments);
  key.into(arguments);
  return arguments;
}

void require_claims(const Waiting& event, std::int64_t held) {
  if (held == std::ssize(event.further_keys) + 1) return;
  throw Error{
      ErrorKind::bad_configuration,
      fmt::format("PostgreSQL: number {} waits and has no waiting claim in the inbox, which "
                  "only a change by hand can bring about; discard it",
                  event.id)};
}

constexpr const char* tally_sql =
    "UPDATE onefold.replay SET applied = applied + $2, failed = failed + $3, due = due + $4, "
    "duplicate = duplicate + $5, stale = stale + $6, deferred = deferred + $7, "
    "conflict = conflict + $8, ignored = ignored + $9 "
    "WHERE id = $1 AND ($4 = 0 OR state IN ('running', 'paused'))";

}  // namespace

std::vector<Claim> DatabaseWaitingRoom::take(std::span<const Waiting* const> events) {
  return health_.guard([&] {
    std::vector<Claim> claims(events.size());
    if (events.empty()) return claims;
    const std::vector<bool> ours = raise_turns(events);
    std::vector<Key> others;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!ours[i]) others.push_back(events[i]->key);
    }
    const std::vector<Claim> settled = look_up(connection_, others);
    auto next = settled.begin();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (ours[i]) continue;
      claims[i] = *next++;
      if (claims[i].state == ClaimState::fresh) claims[i].state = ClaimState::known;
    }
    return claims;
  });
}

/// Which of them are ours; their claims are held from here on.
std::vector<bool> DatabaseWaitingRoom::raise_turns(std::span<const Waiting* const> events) {
  Array id{type::integer64};
  Array turn{type::integer64};
  Array of{type::integer64};
  Array scope{type::integer32};
  Array key{type::bytes};
  for (const Waiting* event : events) {
    id.integer64(event->id);
    turn.integer64(event->turn);
    const auto claim = [&](const Key& one) {
      of.integer64(event->id);
      scope.integer32(one.scope);
      key.bytes(one.bytes);
    };
    claim(event->key);
    std::ranges::for_each(event->further_keys, claim);
  }
  Arguments arguments;
  for (const Array* each : {&id, &turn, &of, &scope, &key}) each->into(arguments);
  const Result raised = connection_.run(Command{.statement = &connection_.planned_anew(take_sql),
                                                .arguments = std::move(arguments),
                                                .doing = "taking events that wait"});
  std::vector<bool> ours(events.size(), false);
  for (int i = 0; i < rows_in(raised); ++i) {
    const Row row{raised.get(), i};
    const auto place = std::ranges::lower_bound(events, row.integer64(0), {}, &Waiting::id);
    require_claims(**place, row.integer64(1));
    ours[static_cast<std::size_t>(place - events.begin())] = true;
  }
  return ours;
}

void DatabaseWaitingRoom::leave(std::span<const std::int64_t> ids) {
  health_.guard([&] {
    if (ids.empty()) return;
    Array gone{type::integer64};
    for (const std::int64_t id : ids) gone.integer64(id);
    Arguments arguments;
    gone.into(arguments);
    connection_.queue({.statement = &connection_.planned_anew(leave_sql),
                       .arguments = std::move(arguments),
                       .doing = "ending the wait of events: one does not wait any more",
                       .expected_rows = static_cast<std::int64_t>(ids.size()),
                       .otherwise = ErrorKind::contract_violation});
  });
}

std::vector<bool> DatabaseWaitingRoom::blocked(ConsumerId consumer, std::span<const Front> fronts) {
  return health_.guard([&] {
    std::vector<bool> blocked(fronts.size(), false);
    if (fronts.empty()) return blocked;
    Array entity{type::text};
    Array before{type::integer64};
    for (const Front& front : fronts) {
      entity.text(front.entity);
      front.before ? before.integer64(*front.before) : before.null();
    }
    Arguments arguments;
    arguments.integer32(consumer);
    entity.into(arguments);
    before.into(arguments);
    const Result found =
        connection_.run(Command{.statement = &connection_.planned_anew(blocked_sql),
                                .arguments = std::move(arguments),
                                .doing = "looking for what waits in front"});
    for (int i = 0; i < rows_in(found); ++i) {
      blocked.at(static_cast<std::size_t>(Row{found.get(), i}.integer64(0)) - 1) = true;
    }
    return blocked;
  });
}

void DatabaseWaitingRoom::pause(const Pause& pause) {
  health_.guard([&] {
    Arguments arguments;
    arguments.integer32(pause.consumer).text(pause.who).text(pause.reason);
    arguments.text(to_string(pause.failure));
    arguments.integer64(std::chrono::microseconds{pause.probe_in}.count());
    connection_.run(pause_sql, std::move(arguments), "pausing a consumer");
    if (pause.failing_since) revive(pause);
  });
}

void DatabaseWaitingRoom::revive(const Pause& pause) {
  Arguments arguments;
  arguments.integer32(pause.consumer).text(to_string(pause.failure)).time(*pause.failing_since);
  const Result revived =
      connection_.run(revive_sql, std::move(arguments), "letting dead events wait again");
  std::vector<Key> keys;
  for (int i = 0; i < rows_in(revived); ++i) {
    const Row row{revived.get(), i};
    Key& key = keys.emplace_back();
    key.scope = row.integer32(0);
    row.copy_bytes(1, key.bytes);
    for (const Key& further : keys_from(row.bytes(2))) keys.push_back(further);
  }
  if (keys.empty()) return;
  Arguments claims = arguments_of(keys);
  claims.integer16(static_cast<std::int16_t>(Outcome::deferred));
  connection_.run(Command{.statement = &connection_.planned_anew(wait_again_sql),
                          .arguments = std::move(claims),
                          .doing = "letting dead events wait again"});
}

void DatabaseWaitingRoom::probed(ConsumerId consumer, bool worked,
                                 std::chrono::milliseconds next_in) {
  health_.guard([&] {
    Arguments arguments;
    arguments.integer32(consumer);
    if (worked) {
      connection_.run("DELETE FROM onefold.pause WHERE consumer = $1", std::move(arguments),
                      "ending a pause");
      return;
    }
    arguments.integer64(std::chrono::microseconds{next_in}.count());
    connection_.run(
        "UPDATE onefold.pause SET probes = probes + 1, "
        "probe_at = clock_timestamp() + $2::int8 * interval '1 microsecond' WHERE consumer = $1",
        std::move(arguments), "counting a probe");
  });
}

void DatabaseWaitingRoom::tally(std::span<const ReplayTally> tallies) {
  health_.guard([&] {
    // In their order, so that two who count for the same ones do not hold each other up.
    std::vector<ReplayTally> sorted{tallies.begin(), tallies.end()};
    std::ranges::sort(sorted, {}, &ReplayTally::replay);
    for (const ReplayTally& tally : sorted) {
      Arguments arguments;
      arguments.text(tally.replay).integer64(tally.applied).integer64(tally.failed);
      arguments.integer64(tally.received).integer64(tally.duplicate).integer64(tally.stale);
      arguments.integer64(tally.deferred).integer64(tally.conflict).integer64(tally.ignored);
      const Result counted = connection_.run(Command{.statement = &connection_.own(tally_sql),
                                                     .arguments = std::move(arguments),
                                                     .doing = "counting for a replay"});
      if (tally.received > 0 && rows_changed(counted) == 0) {
        throw Error{ErrorKind::contention, "the replay has ended meanwhile"};
      }
    }
  });
}

Due select_due(Connection& connection, const DueQuery& query) {
  Arguments arguments;
  arguments.integer32(query.consumer);
  const Arguments consumer = arguments;
  if (!query.probe) arguments.integer64(static_cast<std::int64_t>(query.limit));
  const char* const sql = query.probe ? probe_sql : due_sql;
  const Result found = connection.run(Command{.statement = &connection.planned_anew(sql),
                                              .arguments = std::move(arguments),
                                              .doing = "looking for what is due"});
  std::vector<std::int64_t> ids;
  for (int i = 0; i < rows_in(found); ++i) ids.push_back(Row{found.get(), i}.integer64(0));
  Due due{.events = select_deferred(connection, ids), .next_in = {}};
  if (!due.events.empty()) return due;
  const char* const next_time = query.probe ? next_probe_sql : next_sql;
  const Result next = connection.run(Command{.statement = &connection.planned_anew(next_time),
                                             .arguments = consumer,
                                             .doing = "looking for what is due next"});
  if (rows_in(next) != 0) {
    const std::int64_t wait = Row{next.get(), 0}.integer64(0);
    due.next_in = std::chrono::microseconds{std::max<std::int64_t>(0, wait)};
  }
  return due;
}

std::optional<PauseRecord> select_pause(Connection& connection, ConsumerId consumer) {
  Arguments arguments;
  arguments.integer32(consumer);
  const Result found = connection.run(
      "SELECT c.name, p.who, p.reason, p.since, p.probes, "
      "greatest(0, extract(epoch FROM p.probe_at - now()) * 1000000)::int8 FROM onefold.pause p "
      "JOIN onefold.consumer c ON c.id = p.consumer WHERE p.consumer = $1",
      std::move(arguments), "looking for a pause");
  if (rows_in(found) == 0) return std::nullopt;
  const Row row{found.get(), 0};
  return PauseRecord{.consumer = row.text(0),
                     .who = row.text(1),
                     .reason = row.text(2),
                     .since = row.time(3),
                     .probes = row.integer32(4),
                     .probe_in = std::chrono::microseconds{row.integer64(5)}};
}

}  // namespace onefold::postgres
