#include "onefold/stores/postgres/ledger.h"

#include <algorithm>
#include <bit>

#include "onefold/stores/postgres/deferred.h"

namespace onefold::postgres {
namespace {

// Each row is found by itself, through the primary key, whatever the planner knows or not: LIMIT
// keeps it from joining.
constexpr const char* probe_sql =
    "SELECT w.place, i.waiting, i.recorded_at, i.fingerprint "
    "FROM unnest($1::int4[], $2::bytea[]) WITH ORDINALITY AS w(scope, key, place), "
    "LATERAL (SELECT waiting, recorded_at, fingerprint FROM onefold.inbox "
    "WHERE inbox.scope = w.scope AND inbox.key = w.key LIMIT 1) i";

constexpr const char* insert_sql =
    "INSERT INTO onefold.inbox (scope, key, outcome, waiting, recorded_at, fingerprint, event_id, "
    "event_type, handled_by, event_time, event_source, entity, result) "
    "SELECT * FROM unnest($1::int4[], $2::bytea[], $3::int2[], $4::bool[], $5::timestamptz[], "
    "$6::bytea[], $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], "
    "$12::text[], $13::text[])";

constexpr const char* claim_sql =
    "INSERT INTO onefold.inbox (scope, key, outcome, waiting, recorded_at, fingerprint, event_id, "
    "event_type, handled_by, event_time, event_source, entity, result) "
    "SELECT * FROM unnest($1::int4[], $2::bytea[], $3::int2[], $4::bool[], $5::timestamptz[], "
    "$6::bytea[], $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], "
    "$12::text[], $13::text[]) ON CONFLICT (scope, key) DO NOTHING RETURNING scope, key";

constexpr const char* update_sql =
    "UPDATE onefold.inbox i SET outcome = w.outcome, waiting = w.waiting, "
    "recorded_at = w.recorded_at, fingerprint = w.fingerprint, event_id = w.event_id, "
    "event_type = w.event_type, handled_by = w.handled_by, event_time = w.event_time, "
    "event_source = w.event_source, entity = w.entity, result = w.result "
    "FROM unnest($1::int4[], $2::bytea[], $3::int2[], $4::bool[], $5::timestamptz[], "
    "$6::bytea[], $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], "
    "$12::text[], $13::text[]) AS w(scope, key, outcome, waiting, recorded_at, fingerprint, "
    "event_id, event_type, handled_by, event_time, event_source, entity, result) "
    "WHERE i.scope = w.scope AND i.key = w.key";

constexpr const char* withdraw_sql =
    "DELETE FROM onefold.inbox i USING unnest($1::int4[], $2::bytea[]) AS w(scope, key) "
    "WHERE i.scope = w.scope AND i.key = w.key";

constexpr const char* move_sql =
    "INSERT INTO onefold.position AS p (consumer, source, incarnation, partition, next, mark) "
    "VALUES ($1, $2, $3, $4, $5::numeric, $6) "
    "ON CONFLICT (consumer, source, incarnation, partition) DO UPDATE "
    "SET next = excluded.next, mark = excluded.mark WHERE p.next < excluded.next";

constexpr const char* touch_sql =
    "WITH touched AS (UPDATE onefold.consumer SET last_batch_at = clock_timestamp() "
    "WHERE id = $1 RETURNING 1) SELECT 1 / count(*) FROM touched";

constexpr Fingerprint fingerprint_off{};

}  // namespace

void ScopeWords::remember(std::int32_t scope, std::string source_or_rule) {
  words_.insert_or_assign(scope, std::move(source_or_rule));
}

void ScopeWords::learn(Connection& connection, std::span<const Evidence> evidence) {
  Array unknown{type::integer32};
  std::int32_t last = 0;
  bool any = false;
  for (const Evidence& each : evidence) {
    if (words_.contains(each.key.scope) || (any && each.key.scope == last)) continue;
    last = each.key.scope;
    any = true;
    unknown.integer32(last);
  }
  if (!any) return;
  Arguments arguments;
  unknown.into(arguments);
  const Result found =
      connection.run("SELECT id, source_or_rule FROM onefold.scope WHERE id = ANY($1)",
                     std::move(arguments), "reading scopes");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    remember(row.integer32(0), row.text(1));
  }
}

std::string_view ScopeWords::source_or_rule(std::int32_t scope) const {
  const auto found = words_.find(scope);
  return found == words_.end() ? std::string_view{} : found->second;
}

/// Thirteen columns, in the order of `insert_sql`.
Arguments InboxLedger::rows_of(std::span<const Evidence> evidence) {
  Array scope{type::integer32}, key{type::bytes}, outcome{type::integer16}, waiting{type::boolean},
      recorded_at{type::time}, fingerprint{type::bytes}, event_id{type::text},
      event_type{type::text}, handled_by{type::text}, event_time{type::time},
      event_source{type::text}, entity{type::text}, result{type::text};
  for (const Evidence& each : evidence) {
    scope.integer32(each.key.scope);
    key.bytes(each.key.bytes);
    outcome.integer16(static_cast<std::int16_t>(each.outcome));
    waiting.boolean(each.waiting);
    recorded_at.time(each.recorded_at);
    each.fingerprint == fingerprint_off ? fingerprint.null() : fingerprint.bytes(each.fingerprint);
    event_id.text(each.event_id);
    event_type.text_or_null(each.event_type);
    handled_by.text_or_null(each.handled_by);
    each.event_time ? event_time.time(*each.event_time) : event_time.null();
    const bool said = words_.source_or_rule(each.key.scope) == each.event_source;
    said ? event_source.null() : event_source.text(each.event_source);
    entity.text_or_null(each.entity);
    result.text_or_null(each.result);
  }
  Arguments arguments;
  for (const Array* each :
       {&scope, &key, &outcome, &waiting, &recorded_at, &fingerprint, &event_id, &event_type,
        &handled_by, &event_time, &event_source, &entity, &result}) {
    each->into(arguments);
  }
  return arguments;
}

std::vector<Claim> InboxLedger::claim(std::span<const Evidence> wanted, ClaimMode mode) {
  return health_.guard([&] {
    std::vector<Claim> claims(wanted.size());
    if (wanted.empty()) return claims;
    std::vector<bool> ours(wanted.size(), false);
    if (mode == ClaimMode::claim_first) ours = insert(wanted);
    std::vector<Key> taken;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!ours[i]) taken.push_back(wanted[i].key);
    }
    const std::vector<Claim> known = look_up(connection_, taken);
    auto next = known.begin();
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (ours[i]) continue;
      claims[i] = *next++;
      const bool nobodys = claims[i].state == ClaimState::fresh;
      if (nobodys && mode == ClaimMode::claim_first) {
        throw Error{ErrorKind::contention,
                    "PostgreSQL: a row of the inbox was removed while it was being claimed"};
      }
    }
    return claims;
  });
}

/// Which of them were inserted.
std::vector<bool> InboxLedger::insert(std::span<const Evidence> wanted) {
  words_.learn(connection_, wanted);
  const Result inserted = connection_.run(claim_sql, rows_of(wanted), "claiming events");
  std::vector<bool> ours(wanted.size(), false);
  std::size_t place = 0;
  // They come back in the order in which they were given.
  for (int i = 0; i < rows_in(inserted); ++i) {
    const Row row{inserted.get(), i};
    Key key{.scope = row.integer32(0)};
    row.copy_bytes(1, key.bytes);
    while (place < wanted.size() && wanted[place].key != key) ++place;
    if (place == wanted.size()) {
      throw Error{ErrorKind::unavailable, "PostgreSQL: claims came back in another order"};
    }
    ours[place] = true;
  }
  return ours;
}

std::vector<Claim> look_up(Connection& connection, std::span<const Key> keys) {
  std::vector<Claim> claims(keys.size());
  if (keys.empty()) return claims;
  Array scope{type::integer32};
  Array key{type::bytes};
  for (const Key& each : keys) {
    scope.integer32(each.scope);
    key.bytes(each.bytes);
  }
  Arguments arguments;
  scope.into(arguments);
  key.into(arguments);
  const Result found = connection.run(Command{.statement = &connection.planned_anew(probe_sql),
                                              .arguments = std::move(arguments),
                                              .doing = "looking events up"});
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    Claim& claim = claims.at(static_cast<std::size_t>(row.integer64(0)) - 1);
    claim.state = row.boolean(1) ? ClaimState::waiting : ClaimState::known;
    claim.recorded_at = row.time(2);
    row.copy_bytes(3, claim.fingerprint);
  }
  return claims;
}

void InboxLedger::withdraw(std::span<const Key> keys) {
  health_.guard([&] {
    if (keys.empty()) return;
    Array scope{type::integer32};
    Array key{type::bytes};
    for (const Key& each : keys) {
      scope.integer32(each.scope);
      key.bytes(each.bytes);
    }
    Arguments arguments;
    scope.into(arguments);
    key.into(arguments);
    connection_.queue({.statement = &connection_.planned_anew(withdraw_sql),
                       .arguments = std::move(arguments),
                       .doing = "giving claims back"});
  });
}

void InboxLedger::record(std::span<const Evidence> evidence, ClaimMode mode) {
  health_.guard([&] {
    if (evidence.empty()) return;
    words_.learn(connection_, evidence);
    if (mode == ClaimMode::optimistic) {
      connection_.queue({.statement = &connection_.own(insert_sql),
                         .arguments = rows_of(evidence),
                         .part = Part::claim,
                         .doing = "recording events"});
    } else {
      connection_.queue({.statement = &connection_.planned_anew(update_sql),
                         .arguments = rows_of(evidence),
                         .doing = "recording events: a claim is not in the inbox any more",
                         .expected_rows = static_cast<std::int64_t>(evidence.size()),
                         .otherwise = ErrorKind::contract_violation});
    }
  });
}

void InboxLedger::defer(std::span<const Deferral> deferrals) {
  health_.guard([&] {
    for (const Deferral& each : deferrals) queue_deferred(connection_, each);
  });
}

void InboxLedger::advance(ConsumerId consumer, std::span<const Position> positions) {
  health_.guard([&] {
    for (const Position& each : positions) {
      const Partition& partition = *each.partition;
      Arguments arguments;
      arguments.integer32(consumer).text(partition.source).text(partition.incarnation);
      arguments.text(partition.name).literal(decimal_of(each.next));
      arguments.integer64(std::bit_cast<std::int64_t>(each.mark));
      // Where it does not move, the row is locked: that is a write, too.
      connection_.queue({.statement = &connection_.own(move_sql),
                         .arguments = std::move(arguments),
                         .doing = "moving a position"});
    }
    if (!positions.empty()) return;
    // What acknowledges must be a write, or a power cut could take back what it stands on.
    Arguments arguments;
    arguments.integer32(consumer);
    connection_.queue({.statement = &connection_.own(touch_sql),
                       .arguments = std::move(arguments),
                       .part = Part::touch,
                       .doing = "recording a batch"});
  });
}

}  // namespace onefold::postgres
