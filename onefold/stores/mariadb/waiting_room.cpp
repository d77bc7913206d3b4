#include "onefold/stores/mariadb/waiting_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "onefold/formats/fingerprint.h"
#include "onefold/formats/stored_lists.h"
#include "onefold/stores/mariadb/deferred.h"
#include "onefold/stores/mariadb/ledger.h"

namespace onefold::mariadb {
namespace {

/// Keys in one list; from 1000 on MariaDB makes a temporary table of it.
constexpr std::size_t list_max = 900;

constexpr const char* pause_sql =
    "INSERT INTO onefold_pause (consumer, who, reason, failure, since, probes, probe_at) "
    "VALUES (?, ?, ?, ?, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), 0, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) + ?) "
    "ON DUPLICATE KEY UPDATE probes = probes";

constexpr const char* dead_sql =
    "SELECT id, scope, event_key, further_keys FROM onefold_deferred WHERE consumer = ? "
    "AND reason = 'dead' AND failure = ? AND first_at >= ? ORDER BY id FOR UPDATE";

constexpr const char* revive_sql =
    "UPDATE onefold_deferred SET reason = 'retry', attempts = 0, turn = turn + 1, "
    "due_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) WHERE id = ?";

/// Two searches by two indexes; the entities of what is behind are read from the index alone.
constexpr const char* due_sql =
    "SELECT id FROM onefold_deferred WHERE consumer = ? "
    "AND due_at <= CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) "
    "UNION SELECT b.id FROM (SELECT DISTINCT entity_hash FROM onefold_deferred "
    "WHERE consumer = ? AND reason = 'behind') e LEFT JOIN (SELECT DISTINCT entity_hash "
    "FROM onefold_deferred WHERE consumer = ? AND reason = 'retry') f "
    "ON f.entity_hash = e.entity_hash JOIN onefold_deferred b ON b.consumer = ? "
    "AND b.reason = 'behind' AND b.entity_hash = e.entity_hash WHERE f.entity_hash IS NULL "
    "ORDER BY id LIMIT ?";

constexpr const char* probe_due_sql =
    "SELECT d.id FROM onefold_deferred d JOIN onefold_pause p ON p.consumer = d.consumer "
    "WHERE d.consumer = ? AND p.probe_at <= CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) "
    "AND d.due_at IS NOT NULL AND (d.reason = 'retry' "
    "OR d.due_at <= CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)) "
    "ORDER BY d.last_at, d.id LIMIT 1";

// Not MIN(): with IS NOT NULL it reads all rows.
constexpr const char* next_sql =
    "SELECT GREATEST(0, due_at - CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)) "
    "FROM onefold_deferred WHERE consumer = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1";

constexpr const char* next_probe_sql =
    "SELECT GREATEST(0, probe_at - CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)) "
    "FROM onefold_pause WHERE consumer = ?";

std::string listed(std::span<const std::int64_t> ids) {
  return fmt::format("({})", fmt::join(ids, ","));
}

std::string hex_of(const Fingerprint& hash) {
  return fmt::format("{:02x}", fmt::join(hash, ""));
}

constexpr const char* tally_sql =
    "UPDATE onefold_replay SET applied = applied + ?, failed = failed + ?, due = due + ?, "
    "duplicate = duplicate + ?, stale = stale + ?, deferred = deferred + ?, "
    "conflict = conflict + ?, ignored = ignored + ? "
    "WHERE id = ? AND (? = 0 OR state IN ('running', 'paused'))";

}  // namespace

std::vector<Claim> DatabaseWaitingRoom::take(std::span<const Waiting* const> events) {
  return health_.guard([&] {
    std::vector<Claim> claims(events.size());
    if (events.empty()) return claims;
    const std::vector<bool> ours = raise_turns(events);
    std::vector<Key> held;
    std::vector<Key> others;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Waiting& event = *events[i];
      (ours[i] ? held : others).push_back(event.key);
      if (ours[i]) held.insert(held.end(), event.further_keys.begin(), event.further_keys.end());
    }
    hold(std::move(held));
    const std::vector<Claim> found = settled(others);
    auto next = found.begin();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!ours[i]) claims[i] = *next++;
    }
    return claims;
  });
}

/// Which of them are ours. The rows are locked in the order of their numbers, so that two who take
/// the same events cannot hold each other up; the second reads the turns that the first has left.
std::vector<bool> DatabaseWaitingRoom::raise_turns(std::span<const Waiting* const> events) {
  std::vector<std::int64_t> ids;
  for (const Waiting* event : events) ids.push_back(event->id);
  TextRows rows =
      connection_.query(connection_.qualified("SELECT id, turn FROM onefold_deferred WHERE id IN " +
                                              listed(ids) + " ORDER BY id FOR UPDATE"),
                        "taking events that wait");
  std::vector<bool> ours(events.size(), false);
  std::vector<std::int64_t> taken;
  while (rows.next()) {
    const auto place = std::ranges::lower_bound(events, rows.integer_at(0), {}, &Waiting::id);
    if ((*place)->turn != rows.integer_at(1)) continue;
    ours[static_cast<std::size_t>(place - events.begin())] = true;
    taken.push_back((*place)->id);
  }
  if (!taken.empty()) {
    connection_.execute(
        connection_.qualified("UPDATE onefold_deferred SET turn = turn + 1 WHERE id IN " +
                              listed(taken)),
        "taking events that wait");
  }
  return ours;
}

/// Shared, so that a redelivery finds out at once that its key is known, and need not wait for our
/// handlers. Whoever would change the claim has to take the row in `deferred` first.
void DatabaseWaitingRoom::hold(std::vector<Key> keys) {
  std::ranges::sort(keys);
  std::size_t waiting = 0;
  for (std::size_t begin = 0; begin < keys.size(); begin += list_max) {
    const auto part = std::span{keys}.subspan(begin, std::min(list_max, keys.size() - begin));
    TextRows rows = connection_.query(
        connection_.qualified(probe_sql(part) + " LOCK IN SHARE MODE"), "holding claims");
    while (rows.next()) waiting += rows.integer_at(2) != 0 ? 1 : 0;
  }
  if (waiting == keys.size()) return;
  throw Error{ErrorKind::bad_configuration,
              "MariaDB: an event waits and has no waiting claim in the inbox, which only a change "
              "by hand can bring about; discard it"};
}

/// What the inbox has under keys of events that somebody else has settled, in their order.
std::vector<Claim> DatabaseWaitingRoom::settled(const std::vector<Key>& keys) {
  std::vector<Key> sorted = keys;
  std::ranges::sort(sorted);
  std::map<Key, Claim> found;
  for (std::size_t begin = 0; begin < sorted.size(); begin += list_max) {
    const auto part = std::span{sorted}.subspan(begin, std::min(list_max, sorted.size() - begin));
    read_claims(connection_, part, found);
  }
  std::vector<Claim> claims;
  for (const Key& key : keys) {
    const auto place = found.find(key);
    claims.push_back(place != found.end() ? place->second : Claim{ClaimState::known, {}, {}});
  }
  return claims;
}

void DatabaseWaitingRoom::leave(std::span<const std::int64_t> ids) {
  health_.guard([&] {
    if (ids.empty()) return;
    connection_.execute(
        connection_.qualified("DELETE FROM onefold_deferred WHERE id IN " + listed(ids)),
        "ending the wait of events");
  });
}

std::vector<bool> DatabaseWaitingRoom::blocked(ConsumerId consumer, std::span<const Front> fronts) {
  struct InFront {
    bool waits_for_itself = false;
    std::optional<std::int64_t> first_behind;
  };
  return health_.guard([&] {
    std::vector<std::string> hashes;
    for (const Front& front : fronts) hashes.push_back(hex_of(sha256_128(front.entity)));
    std::map<std::string, InFront, std::less<>> found;
    for (std::size_t begin = 0; begin < hashes.size(); begin += list_max) {
      const auto part = std::span{hashes}.subspan(begin, std::min(list_max, hashes.size() - begin));
      TextRows rows = connection_.query(
          connection_.qualified(fmt::format(
              "SELECT HEX(entity_hash), MAX(reason <> 'behind'), "
              "MIN(IF(reason = 'behind', id, NULL)) FROM onefold_deferred WHERE consumer = {} AND "
              "reason IN ('retry', 'gap', 'behind') AND entity_hash IN (x'{}') "
              "GROUP BY entity_hash",
              consumer, fmt::join(part, "',x'"))),
          "looking for what waits in front");
      while (rows.next()) {
        std::string hash{rows.at(0)};
        std::ranges::transform(hash, hash.begin(), [](unsigned char digit) {
          return static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);
        });
        InFront& entry = found[std::move(hash)];
        entry.waits_for_itself = rows.integer_at(1) != 0;
        if (!rows.is_null(2)) entry.first_behind = rows.integer_at(2);
      }
    }
    std::vector<bool> blocked;
    for (std::size_t i = 0; i < fronts.size(); ++i) {
      const auto entry = found.find(hashes[i]);
      const auto& before = fronts[i].before;
      blocked.push_back(
          entry != found.end() &&
          (entry->second.waits_for_itself ||
           (entry->second.first_behind && (!before || *entry->second.first_behind < *before))));
    }
    return blocked;
  });
}

void DatabaseWaitingRoom::pause(const Pause& pause) {
  health_.guard([&] {
    const std::string failure = to_string(pause.failure);
    connection_.own(pause_sql).run(ParameterRows{5}
                                       .integer(pause.consumer)
                                       .text(pause.who)
                                       .text(pause.reason)
                                       .text(failure)
                                       .integer(std::chrono::microseconds{pause.probe_in}.count()));
    if (pause.failing_since) revive(pause);
  });
}

void DatabaseWaitingRoom::revive(const Pause& pause) {
  std::vector<std::int64_t> ids;
  std::vector<Key> keys;
  Statement& select = connection_.own(dead_sql);
  const std::string failure = to_string(pause.failure);
  select.run(ParameterRows{3}
                 .integer(pause.consumer)
                 .text(failure)
                 .integer(pause.failing_since->time_since_epoch().count()));
  while (select.step()) {
    ids.push_back(select.integer_at(0));
    Key& key = keys.emplace_back();
    key.scope = static_cast<std::int32_t>(select.integer_at(1));
    select.copy_blob(2, key.bytes);
    for (const Key& further : keys_from(select.blob_at(3))) keys.push_back(further);
  }
  for (const std::int64_t id : ids) {
    connection_.own(revive_sql).run(ParameterRows{1}.integer(id));
  }
  for (const Key& key : keys) {
    connection_.own("UPDATE onefold_inbox SET outcome = ? WHERE scope = ? AND event_key = ?")
        .run(ParameterRows{3}
                 .integer(static_cast<std::int64_t>(Outcome::deferred))
                 .integer(key.scope)
                 .blob(key.bytes));
  }
}

void DatabaseWaitingRoom::probed(ConsumerId consumer, bool worked,
                                 std::chrono::milliseconds next_in) {
  health_.guard([&] {
    if (worked) {
      connection_.own("DELETE FROM onefold_pause WHERE consumer = ?")
          .run(ParameterRows{1}.integer(consumer));
      return;
    }
    connection_
        .own(
            "UPDATE onefold_pause SET probes = probes + 1, "
            "probe_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) + ? WHERE consumer = ?")
        .run(
            ParameterRows{2}.integer(std::chrono::microseconds{next_in}.count()).integer(consumer));
  });
}

void DatabaseWaitingRoom::tally(std::span<const ReplayTally> tallies) {
  health_.guard([&] {
    for (const ReplayTally& tally : tallies) {
      ParameterRows row{10};
      row.integer(tally.applied).integer(tally.failed).integer(tally.received);
      row.integer(tally.duplicate).integer(tally.stale).integer(tally.deferred);
      row.integer(tally.conflict).integer(tally.ignored).text(tally.replay);
      const auto counted = connection_.own(tally_sql).run(row.integer(tally.received));
      if (tally.received > 0 && counted == 0) {
        throw Error{ErrorKind::contention, "the replay has ended meanwhile"};
      }
    }
  });
}

Due select_due(Connection& connection, const DueQuery& query) {
  std::vector<std::int64_t> ids;
  Statement& select = connection.own(query.probe ? probe_due_sql : due_sql);
  if (query.probe) {
    select.run(ParameterRows{1}.integer(query.consumer));
  } else {
    ParameterRows row{5};
    for (int i = 0; i < 4; ++i) row.integer(query.consumer);
    row.integer(static_cast<std::int64_t>(query.limit));
    select.run(row);
  }
  while (select.step()) ids.push_back(select.integer_at(0));
  Due due;
  for (const std::int64_t id : ids) {
    DeferredFilter this_one;
    this_one.id = id;
    for (DeferredRecord& record : select_deferred(connection, this_one)) {
      due.events.push_back(std::move(record));
    }
  }
  if (!due.events.empty()) return due;
  Statement& next = connection.own(query.probe ? next_probe_sql : next_sql);
  next.run(ParameterRows{1}.integer(query.consumer));
  if (next.step() && !next.is_null(0)) {
    due.next_in = std::chrono::microseconds{next.integer_at(0)};
  }
  next.finish();
  return due;
}

std::optional<PauseRecord> select_pause(Connection& connection, ConsumerId consumer) {
  Statement& select = connection.own(
      "SELECT c.name, p.who, p.reason, p.since, p.probes, "
      "GREATEST(0, p.probe_at - CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)) "
      "FROM onefold_pause p JOIN onefold_consumer c ON c.id = p.consumer WHERE p.consumer = ?");
  select.run(ParameterRows{1}.integer(consumer));
  if (!select.step()) return std::nullopt;
  PauseRecord pause{.consumer = select.text_at(0),
                    .who = select.text_at(1),
                    .reason = select.text_at(2),
                    .since = Timestamp{std::chrono::microseconds{select.integer_at(3)}},
                    .probes = static_cast<int>(select.integer_at(4)),
                    .probe_in = std::chrono::microseconds{select.integer_at(5)}};
  select.finish();
  return pause;
}

void finish_claim(Connection& connection, const Key& key, std::int64_t id,
                  std::string_view result) {
  const std::int64_t changed =
      connection
          .own(
              "UPDATE onefold_inbox SET waiting = 0, result = COALESCE(?, result) "
              "WHERE scope = ? AND event_key = ? AND waiting = 1")
          .run(ParameterRows{3}.text_or_null(result).integer(key.scope).blob(key.bytes));
  if (changed == 1) return;
  throw Error{
      ErrorKind::bad_configuration,
      fmt::format("number {} has no waiting claim in the inbox, which only a change by hand "
                  "can bring about; nothing was changed",
                  id)};
}

}  // namespace onefold::mariadb
