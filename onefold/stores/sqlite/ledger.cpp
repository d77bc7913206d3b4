#include "onefold/stores/sqlite/ledger.h"

#include <fmt/core.h>

#include <algorithm>

#include "onefold/stores/sqlite/deferred.h"

namespace onefold::sqlite {
namespace {

constexpr const char* probe_sql =
    "SELECT waiting, recorded_at, fingerprint FROM main.onefold_inbox WHERE scope = ? AND key = ?";

constexpr const char* insert_sql =
    "INSERT INTO main.onefold_inbox (scope, key, outcome, waiting, recorded_at, fingerprint, "
    "event_id, event_type, handled_by, event_time, event_source, entity, result) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr const char* claim_sql =
    "INSERT INTO main.onefold_inbox (scope, key, outcome, waiting, recorded_at, fingerprint, "
    "event_id, event_type, handled_by, event_time, event_source, entity, result) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, key) DO NOTHING";

constexpr const char* update_sql =
    "UPDATE main.onefold_inbox SET outcome = ?3, waiting = ?4, recorded_at = ?5, fingerprint = ?6, "
    "event_id = ?7, event_type = ?8, handled_by = ?9, event_time = ?10, event_source = ?11, "
    "entity = ?12, result = ?13 WHERE scope = ?1 AND key = ?2";

constexpr const char* withdraw_sql = "DELETE FROM main.onefold_inbox WHERE scope = ? AND key = ?";

constexpr const char* position_sql =
    "SELECT next_high, next_low FROM main.onefold_position "
    "WHERE consumer = ? AND source = ? AND incarnation = ? AND partition = ?";

constexpr const char* move_sql =
    "INSERT INTO main.onefold_position (consumer, source, incarnation, partition, next_high, "
    "next_low, mark) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (consumer, source, incarnation, partition) DO UPDATE SET "
    "next_high = excluded.next_high, next_low = excluded.next_low, mark = excluded.mark";

constexpr const char* touch_sql = "UPDATE main.onefold_consumer SET last_batch_at = ? WHERE id = ?";

constexpr Fingerprint fingerprint_off{};

std::int64_t microseconds(Timestamp time) noexcept {
  return time.time_since_epoch().count();
}

Timestamp timestamp(std::int64_t since_epoch) noexcept {
  return Timestamp{std::chrono::microseconds{since_epoch}};
}

}  // namespace

std::string_view ScopeWords::source_or_rule(Connection& connection, std::int32_t scope) {
  if (last_ != nullptr && last_scope_ == scope) return *last_;
  auto found = words_.find(scope);
  if (found == words_.end()) {
    Statement& select =
        connection.own("SELECT source_or_rule FROM main.onefold_scope WHERE id = ?");
    const ResetAtEnd reset{select};
    if (!select.integer(1, scope).step()) return {};
    found = words_.emplace(scope, select.text_at(0)).first;
  }
  last_scope_ = scope;
  last_ = &found->second;
  return *last_;
}

std::vector<Claim> InboxLedger::claim(std::span<const Evidence> wanted, ClaimMode mode) {
  return health_.guard([&] {
    const Connection::Inside inside{connection_};
    std::vector<Claim> claims;
    claims.reserve(wanted.size());
    Statement& probe = connection_.own(probe_sql);
    if (mode == ClaimMode::optimistic) {
      for (const Evidence& each : wanted) claims.push_back(look_up(probe, each.key));
      return claims;
    }
    Statement& insert = connection_.own(claim_sql);
    for (const Evidence& each : wanted) {
      bind_row(insert, each);
      insert.run();
      if (sqlite3_changes(connection_.handle()) == 1) {
        claims.emplace_back();
      } else {
        claims.push_back(look_up(probe, each.key));
      }
    }
    return claims;
  });
}

Claim InboxLedger::look_up(Statement& probe, const Key& key) {
  const ResetAtEnd reset{probe};
  probe.integer(1, key.scope).blob(2, key.bytes);
  if (!probe.step()) return {};
  Claim claim;
  claim.state = probe.integer_at(0) != 0 ? ClaimState::waiting : ClaimState::known;
  claim.recorded_at = timestamp(probe.integer_at(1));
  probe.copy_blob(2, claim.fingerprint);
  return claim;
}

void InboxLedger::bind_row(Statement& insert, const Evidence& evidence) {
  insert.integer(1, evidence.key.scope).blob(2, evidence.key.bytes);
  insert.integer(3, static_cast<std::int64_t>(evidence.outcome)).integer(4, evidence.waiting);
  insert.integer(5, microseconds(evidence.recorded_at));
  if (evidence.fingerprint == fingerprint_off) {
    insert.null(6);
  } else {
    insert.blob(6, evidence.fingerprint);
  }
  insert.text(7, evidence.event_id).text_or_null(8, evidence.event_type);
  insert.text_or_null(9, evidence.handled_by);
  if (evidence.event_time) {
    insert.integer(10, microseconds(*evidence.event_time));
  } else {
    insert.null(10);
  }
  if (words_.source_or_rule(connection_, evidence.key.scope) == evidence.event_source) {
    insert.null(11);
  } else {
    insert.text(11, evidence.event_source);
  }
  insert.text_or_null(12, evidence.entity).text_or_null(13, evidence.result);
}

void InboxLedger::withdraw(std::span<const Key> keys) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    for (const Key& key : keys) {
      connection_.own(withdraw_sql).integer(1, key.scope).blob(2, key.bytes).run();
    }
  });
}

void InboxLedger::record(std::span<const Evidence> evidence, ClaimMode mode) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    if (mode == ClaimMode::optimistic) {
      insert_rows(evidence);
    } else {
      update_rows(evidence);
    }
  });
}

void InboxLedger::insert_rows(std::span<const Evidence> evidence) {
  Statement& insert = connection_.own(insert_sql);
  for (const Evidence& each : evidence) {
    bind_row(insert, each);
    const int code = insert.step_code();
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY) {
      insert.reset();
      throw Error{ErrorKind::contention,
                  "SQLite: another worker has claimed an event of this batch in the meantime"};
    }
    if (code != SQLITE_DONE) insert.fail_with(code);
    insert.reset();
  }
}

void InboxLedger::update_rows(std::span<const Evidence> evidence) {
  Statement& update = connection_.own(update_sql);
  for (const Evidence& each : evidence) {
    bind_row(update, each);
    update.run();
    if (sqlite3_changes(connection_.handle()) != 1) {
      throw Error{ErrorKind::contract_violation,
                  "SQLite: a claim of this transaction is not in the inbox any more"};
    }
  }
}

void InboxLedger::defer(std::span<const Deferral> deferrals) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    for (const Deferral& each : deferrals) insert_deferred(connection_, each);
  });
}

bool InboxLedger::move_forward(ConsumerId consumer, const Position& position) {
  Statement& select = connection_.own(position_sql);
  const ResetAtEnd reset{select};
  const Partition& partition = *position.partition;
  select.integer(1, consumer).text(2, partition.source).text(3, partition.incarnation);
  select.text(4, partition.name);
  if (select.step() && position.next <= offset_of(select, 0)) return false;
  Statement& move = connection_.own(move_sql);
  move.integer(1, consumer).text(2, partition.source).text(3, partition.incarnation);
  move.text(4, partition.name);
  bind_offset(move, 5, position.next);
  move.integer(7, static_cast<std::int64_t>(position.mark));
  move.run();
  return true;
}

void InboxLedger::advance(ConsumerId consumer, std::span<const Position> positions) {
  health_.guard([&] {
    const Connection::Inside inside{connection_};
    bool written = false;
    for (const Position& each : positions) written |= move_forward(consumer, each);
    // What acknowledges must be a write, or a power cut could take back what it stands on.
    if (written) return;
    const auto now =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
    connection_.own(touch_sql).integer(1, microseconds(now)).integer(2, consumer).run();
    if (sqlite3_changes(connection_.handle()) != 1) {
      throw Error{ErrorKind::bad_configuration,
                  fmt::format("SQLite: there is no consumer number {}; was the database replaced? "
                              "start again",
                              consumer)};
    }
  });
}

}  // namespace onefold::sqlite
