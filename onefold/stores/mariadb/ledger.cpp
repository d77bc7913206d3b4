#include "onefold/stores/mariadb/ledger.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "onefold/formats/fingerprint.h"
#include "onefold/stores/mariadb/deferred.h"

namespace onefold::mariadb {
namespace {

constexpr const char* insert_sql =
    "INSERT INTO onefold_inbox (scope, event_key, outcome, waiting, recorded_at, fingerprint, "
    "event_id, event_type, handled_by, event_time, event_source, entity, result) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::size_t insert_columns = 13;

constexpr const char* update_sql =
    "UPDATE onefold_inbox SET outcome = ?, waiting = ?, recorded_at = ?, fingerprint = ?, "
    "event_id = ?, event_type = ?, handled_by = ?, event_time = ?, event_source = ?, "
    "entity = ?, result = ? WHERE scope = ? AND event_key = ?";

constexpr const char* withdraw_sql = "DELETE FROM onefold_inbox WHERE scope = ? AND event_key = ?";

// Assignments happen from left to right: the offset's high half, which the others compare, is last.
constexpr const char* move_sql =
    "INSERT INTO onefold_position (consumer, place, source, incarnation, partition_name, "
    "next_high, next_low, mark, batches) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) "
    "ON DUPLICATE KEY UPDATE batches = batches + 1, "
    "mark = IF((VALUES(next_high), VALUES(next_low)) > (next_high, next_low), VALUES(mark), mark), "
    "next_low = IF((VALUES(next_high), VALUES(next_low)) > (next_high, next_low), "
    "VALUES(next_low), next_low), next_high = GREATEST(next_high, VALUES(next_high))";

constexpr const char* touch_sql =
    "INSERT INTO onefold_batch (consumer, slot, batches, last_at) "
    "VALUES (?, CONNECTION_ID() MOD 1000, 1, ?) "
    "ON DUPLICATE KEY UPDATE batches = batches + 1, last_at = VALUES(last_at)";

constexpr Fingerprint fingerprint_off{};
/// Keys in one look; from 1000 on MariaDB makes a temporary table of the list.
constexpr std::size_t probe_keys_max = 900;
/// What is sent in one message, whatever the server would take.
constexpr std::size_t message_bytes_max = 4U << 20U;

std::int64_t microseconds(Timestamp time) noexcept {
  return time.time_since_epoch().count();
}

/// Two sessions that race for one key wait for each other; whoever waits for the fourth time in one
/// claim has met something else.
constexpr int rounds_without_progress_max = 3;

}  // namespace

std::string_view ScopeWords::source_or_rule(Connection& connection, std::int32_t scope) {
  if (last_ != nullptr && last_scope_ == scope) return *last_;
  auto found = words_.find(scope);
  if (found == words_.end()) {
    Statement& select = connection.own("SELECT source_or_rule FROM onefold_scope WHERE id = ?");
    select.run(ParameterRows{1}.integer(scope));
    if (!select.step()) return {};
    found = words_.emplace(scope, select.text_at(0)).first;
    select.finish();
  }
  last_scope_ = scope;
  last_ = &found->second;
  return *last_;
}

std::string probe_sql(std::span<const Key> keys) {
  std::string sql =
      "SELECT scope, event_key, waiting, recorded_at, fingerprint "
      "FROM onefold_inbox FORCE INDEX (PRIMARY) WHERE ";
  auto out = std::back_inserter(sql);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool first = i == 0;
    if (first || keys[i].scope != keys[i - 1].scope) {
      fmt::format_to(out, "{}scope = {} AND event_key IN (", first ? "" : ") OR ", keys[i].scope);
    } else {
      sql += ',';
    }
    sql += "x'";
    for (const std::uint8_t byte : keys[i].bytes) fmt::format_to(out, "{:02x}", byte);
    sql += '\'';
  }
  return sql += ')';
}

void read_claims(Connection& connection, std::span<const Key> keys, std::map<Key, Claim>& found) {
  TextRows rows =
      connection.query(connection.qualified(probe_sql(keys)), "looking keys up in the inbox");
  while (rows.next()) {
    Key key{.scope = static_cast<std::int32_t>(rows.integer_at(0))};
    std::ranges::copy(rows.at(1).substr(0, key.bytes.size()), key.bytes.begin());
    Claim& claim = found[key];
    claim.state = rows.integer_at(2) != 0 ? ClaimState::waiting : ClaimState::known;
    claim.recorded_at = Timestamp{std::chrono::microseconds{rows.integer_at(3)}};
    std::ranges::copy(rows.at(4).substr(0, claim.fingerprint.size()), claim.fingerprint.begin());
  }
}

/// Answers for the rows of `missing` that are there, and leaves the others in it.
void InboxLedger::look_up(std::span<const Evidence> wanted, Missing& missing,
                          std::vector<Claim>& claims) {
  Missing absent;
  for (std::size_t begin = 0; begin < missing.size(); begin += probe_keys_max) {
    const std::size_t end = std::min(begin + probe_keys_max, missing.size());
    std::vector<Key> keys;
    for (std::size_t i = begin; i < end; ++i) keys.push_back(wanted[missing[i]].key);
    std::map<Key, Claim> found;
    read_claims(connection_, keys, found);
    for (std::size_t i = begin; i < end; ++i) {
      const auto known = found.find(wanted[missing[i]].key);
      if (known == found.end()) {
        absent.push_back(missing[i]);
      } else {
        claims[missing[i]] = known->second;
      }
    }
  }
  missing = std::move(absent);
}

bool InboxLedger::is_full(const ParameterRows& rows) const noexcept {
  return rows.bytes() >= std::min(message_bytes_max, connection_.packet_max() / 2);
}

/// Inserts the rows, and takes out of them what it has inserted. Stops, and returns false, if one
/// of the keys is there: of that message nothing is left. Waits for rivals.
bool InboxLedger::insert(std::span<const Evidence> wanted, Missing& rows) {
  Statement& insert = connection_.own(insert_sql);
  ParameterRows message{insert_columns};
  std::size_t sent = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bind_row(message, wanted[rows[i]]);
    if (i + 1 < rows.size() && !is_full(message)) continue;
    connection_.require_room(message);
    if (insert.run_tolerating(message, ER_DUP_ENTRY) != 0) {
      rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(sent));
      return false;
    }
    sent = i + 1;
    message.clear();
  }
  rows.clear();
  return true;
}

/// A plain INSERT, because IGNORE would also let values be cut without an error. It waits for a
/// rival that has the key uncommitted, and leaves nothing if the rival commits. Which key it was is
/// read by a statement that begins after the wait.
std::vector<Claim> InboxLedger::claim(std::span<const Evidence> wanted, ClaimMode mode) {
  return health_.guard([&] {
    std::vector<Claim> claims(wanted.size());
    Missing missing(wanted.size());
    std::iota(missing.begin(), missing.end(), std::size_t{0});
    if (mode == ClaimMode::optimistic) {
      look_up(wanted, missing, claims);
      return claims;
    }
    // One key is most often new, and of many one is most often known.
    if (missing.size() > 1) look_up(wanted, missing, claims);
    for (int idle_rounds = 0; !missing.empty() && !insert(wanted, missing);) {
      const std::size_t before = missing.size();
      look_up(wanted, missing, claims);
      idle_rounds = missing.size() < before ? 0 : idle_rounds + 1;
      if (idle_rounds < rounds_without_progress_max) continue;
      throw Error{ErrorKind::contention,
                  "MariaDB: a key is in the inbox and cannot be read; the batch is repeated"};
    }
    return claims;
  });
}

void InboxLedger::bind_proof(ParameterRows& row, const Evidence& evidence) {
  row.integer(static_cast<std::int64_t>(evidence.outcome)).integer(evidence.waiting ? 1 : 0);
  row.integer(microseconds(evidence.recorded_at));
  if (evidence.fingerprint == fingerprint_off) {
    row.null();
  } else {
    row.blob(evidence.fingerprint);
  }
  row.text(evidence.event_id).text_or_null(evidence.event_type).text_or_null(evidence.handled_by);
  if (evidence.event_time) {
    row.integer(microseconds(*evidence.event_time));
  } else {
    row.null();
  }
  if (words_.source_or_rule(connection_, evidence.key.scope) == evidence.event_source) {
    row.null();
  } else {
    row.text(evidence.event_source);
  }
  row.text_or_null(evidence.entity).text_or_null(evidence.result);
}

void InboxLedger::bind_row(ParameterRows& row, const Evidence& evidence) {
  row.integer(evidence.key.scope).blob(evidence.key.bytes);
  bind_proof(row, evidence);
}

void InboxLedger::withdraw(std::span<const Key> keys) {
  health_.guard([&] {
    if (keys.empty()) return;
    ParameterRows rows{2};
    for (const Key& key : keys) rows.integer(key.scope).blob(key.bytes);
    connection_.own(withdraw_sql).run(rows);
  });
}

void InboxLedger::record(std::span<const Evidence> evidence, ClaimMode mode) {
  health_.guard([&] {
    if (evidence.empty()) return;
    if (mode == ClaimMode::optimistic) {
      insert_rows(evidence);
    } else {
      update_rows(evidence);
    }
  });
}

void InboxLedger::insert_rows(std::span<const Evidence> evidence) {
  Missing all(evidence.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (insert(evidence, all)) return;
  throw Error{ErrorKind::contention,
              "MariaDB: another worker has claimed an event of this batch in the meantime"};
}

void InboxLedger::update_rows(std::span<const Evidence> evidence) {
  Statement& update = connection_.own(update_sql);
  ParameterRows message{insert_columns};
  std::int64_t found = 0;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    bind_proof(message, evidence[i]);
    message.integer(evidence[i].key.scope).blob(evidence[i].key.bytes);
    if (i + 1 < evidence.size() && !is_full(message)) continue;
    connection_.require_room(message);
    found += update.run(message);
    message.clear();
  }
  if (found != static_cast<std::int64_t>(evidence.size())) {
    throw Error{ErrorKind::contract_violation,
                "MariaDB: a claim of this transaction is not in the inbox any more"};
  }
}

void InboxLedger::defer(std::span<const Deferral> deferrals) {
  health_.guard([&] {
    for (const Deferral& each : deferrals) insert_deferred(connection_, each);
  });
}

/// What acknowledges must be a write: on MariaDB a commit can be seen before it is on the disk, and
/// ours flushes what came before it, too.
void InboxLedger::touch(ConsumerId consumer) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  connection_.own(touch_sql).run(ParameterRows{2}.integer(consumer).integer(microseconds(now)));
}

void InboxLedger::advance(ConsumerId consumer, std::span<const Position> positions) {
  health_.guard([&] {
    if (positions.empty()) {
      touch(consumer);
      return;
    }
    ParameterRows rows{8};
    std::vector<std::array<std::uint8_t, 16>> places;
    places.reserve(positions.size());
    for (const Position& each : positions) {
      const Partition& partition = *each.partition;
      places.push_back(
          sha256_128_of_parts({partition.source, partition.incarnation, partition.name}));
      rows.integer(consumer).blob(places.back()).text(partition.source);
      rows.text(partition.incarnation).text(partition.name);
      rows.unsigned_integer(each.next.high).unsigned_integer(each.next.low);
      rows.unsigned_integer(each.mark);
    }
    connection_.own(move_sql).run(rows);
  });
}

}  // namespace onefold::mariadb
