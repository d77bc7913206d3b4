#include <algorithm>
#include <barrier>
#include <future>

#include "onefold/decisions.h"
#include "onefold/records.h"
#include "onefold/replays.h"
#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

const Decision ada{.who = "ada", .reason = "a test"};

/// What waits, where several want it at once or there is much of it.
class PostgresWaiting : public PostgresStore {
 protected:
  Evidence waiting(int number) const {
    Evidence row = evidence(number);
    row.outcome = Outcome::deferred;
    row.waiting = true;
    return row;
  }
  Deferral deferral(int number, DeferralReason reason, std::string_view entity = {}) const {
    return {.key = evidence(number).key,
            .consumer = consumer_,
            .source = "orders",
            .delivery = &delivery_,
            .reason = reason,
            .failure = FailureClass::constraint,
            .entity = entity,
            .handler = "ship",
            .errors = {},
            .attempts = 1,
            .recorded_at = Timestamp{std::chrono::microseconds{1000}}};
  }
  /// Sets the events 0 to `count` - 1 aside. Returns what it takes to get them back.
  std::vector<Waiting> set_aside(int count, DeferralReason reason = DeferralReason::retry,
                                 std::string_view entity = {}) {
    std::vector<Evidence> claims;
    std::vector<Deferral> rows;
    for (int number = 0; number < count; ++number) {
      claims.push_back(waiting(number));
      rows.push_back(deferral(number, reason, entity));
    }
    const auto transaction = session_->begin();
    transaction->ledger().claim(claims, ClaimMode::claim_first);
    transaction->ledger().defer(rows);
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
    return tickets();
  }
  std::vector<Waiting> tickets() {
    std::vector<Waiting> tickets;
    for (const DeferredRecord& row :
         store_->records()->deferred({.limit = 1000, .with_raw = false})) {
      tickets.push_back({.id = row.id, .turn = row.turn, .key = row.key, .replay = row.replay});
    }
    return tickets;
  }
  static std::vector<Claim> take(Transaction& transaction, std::span<const Waiting> tickets) {
    std::vector<const Waiting*> events;
    for (const Waiting& each : tickets) events.push_back(&each);
    return transaction.waiting_room().take(events);
  }
  /// As the runtime does with those that it has taken. Returns how many they were.
  int apply(Transaction& transaction, std::span<const Waiting> tickets) const {
    const std::vector<Claim> claims = take(transaction, tickets);
    std::vector<Evidence> done;
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      if (claims[i].state != ClaimState::fresh) continue;
      Evidence& row = done.emplace_back(evidence(0));
      row.key = tickets[i].key;
      ids.push_back(tickets[i].id);
    }
    transaction.ledger().record(done, ClaimMode::claim_first);
    transaction.waiting_room().leave(ids);
    transaction.ledger().advance(consumer_, {});
    return static_cast<int>(done.size());
  }
  /// The quickest of five searches.
  microseconds time_to_look(Due& found) {
    auto quickest = steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
      const auto begin = steady_clock::now();
      found = session_->due({.consumer = consumer_, .limit = 64});
      quickest = std::min(quickest, steady_clock::now() - begin);
    }
    return std::chrono::duration_cast<microseconds>(quickest);
  }
  /// `count` rows past all interfaces, numbers from 1 on.
  void fill(int count, const std::string& reason, const std::string& entity) {
    plain().execute(
        "INSERT INTO deferred (scope, key, fingerprint, consumer, reason, handler, errors, "
        "attempts, source, event_id, event_source, event_type, event_subject, content_type, "
        "headers, raw, first_at, last_at, entity, decoded, data) "
        "SELECT " +
        std::to_string(scope_) + ", decode(lpad(to_hex(n), 32, '0'), 'hex'), '\\x00', " +
        std::to_string(consumer_) + ", '" + reason +
        "', 'ship', '[]', 1, 'orders', 'e' || n, 'shop', 'order', '', '', '[]', "
        "convert_to(repeat('raw', 100), 'UTF8'), now(), now(), " +
        entity + ", true, '{}' FROM generate_series(1, " + std::to_string(count) + ") n");
  }
  static std::int64_t whole_reads(Transaction& transaction) {
    const Rows rows = transaction.statements().query(
        "SELECT pg_stat_get_xact_numscans('deferred'::regclass) + "
        "pg_stat_get_xact_numscans('inbox'::regclass)",
        {});
    return std::get<std::int64_t>(rows.at(0).at(0));
  }

  Delivery delivery_ = [] {
    Delivery delivery;
    delivery.event.id = "e1";
    delivery.raw = "raw";
    return delivery;
  }();
};

TEST_F(PostgresWaiting, B19_OfTwoThatTakeTheSameHundredAtOnceOneHasThemAll) {
  for (int round = 0; round < 10; ++round) {
    const std::vector<Waiting> tickets = set_aside(100);
    ASSERT_EQ(tickets.size(), 100U);
    std::barrier start{2};
    const auto work = [&](Session& session) {
      const auto transaction = session.begin();
      start.arrive_and_wait();
      const int applied = apply(*transaction, tickets);
      EXPECT_EQ(transaction->commit(), CommitResult::committed);
      return applied;
    };
    auto first = std::async(std::launch::async, [&] { return work(*session_); });
    auto second = std::async(std::launch::async, [&] { return work(*rival_); });
    const int one = first.get();
    const int other = second.get();
    EXPECT_EQ(std::max(one, other), 100);
    EXPECT_EQ(std::min(one, other), 0);
    EXPECT_EQ(plain().value("SELECT count(*) FROM deferred"), "0");
    EXPECT_EQ(plain().value("SELECT count(*) FROM inbox WHERE NOT waiting"), "100");
    plain().execute("DELETE FROM inbox");
  }
}

/// The worker wants them from the first on, the person from the last.
TEST_F(PostgresWaiting, B19_WhatIsTakenBesideADiscardHasOneEndAndNobodyDeadlocks) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<Waiting> tickets = set_aside(100);
    std::vector<std::int64_t> ids;
    for (const Waiting& each : tickets) ids.push_back(each.id);
    std::ranges::reverse(ids);
    const auto person = store_->decisions();
    std::barrier start{2};
    auto worker = std::async(std::launch::async, [&] {
      const auto transaction = session_->begin();
      start.arrive_and_wait();
      const int applied = apply(*transaction, tickets);
      EXPECT_EQ(transaction->commit(), CommitResult::committed);
      return applied;
    });
    start.arrive_and_wait();
    // Sometimes before the worker, sometimes after it, and sometimes in its middle.
    std::this_thread::sleep_for(microseconds{round * 200});
    std::int64_t discarded = 0;
    for (std::size_t at = 0; at < ids.size(); at += 50) {
      const auto answers = person->discard(std::span{ids}.subspan(at, 50), ada);
      discarded += std::ranges::count(answers, DiscardAnswer::discarded);
    }
    EXPECT_EQ(worker.get() + discarded, 100);
    EXPECT_EQ(plain().value("SELECT count(*) FROM deferred"), "0");
    EXPECT_EQ(plain().value("SELECT count(*) FROM inbox WHERE outcome = 3"),
              std::to_string(discarded));
    EXPECT_EQ(plain().value("SELECT count(*) FROM inbox WHERE waiting"), "0");
    plain().execute("DELETE FROM inbox");
  }
}

TEST_F(PostgresWaiting, P9_AReplayIsCancelledWhileAnEventOfItIsInHand) {
  set_aside(2, DeferralReason::dead);
  const auto replays = store_->replays();
  replays->start({.id = "r1", .consumer = "billing", .ramp = {}, .decision = ada});
  EXPECT_EQ(replays->advance(consumer_), 2);
  const std::vector<Waiting> tickets = this->tickets();
  const auto transaction = session_->begin();
  EXPECT_EQ(apply(*transaction, {&tickets[0], 1}), 1);
  transaction->savepoint();
  auto cancelled = std::async(std::launch::async,
                              [&] { return replays->change("r1", ReplayState::cancelled, ada); });
  EXPECT_EQ(cancelled.wait_for(milliseconds{100}), std::future_status::timeout);
  const ReplayTally tally{"r1", 1, 0};
  transaction->waiting_room().tally({&tally, 1});
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  const ReplayRecord ended = cancelled.get().value();
  EXPECT_EQ(ended.state, ReplayState::cancelled);
  EXPECT_EQ(ended.applied, 1);
  EXPECT_EQ(ended.gone, 1);
  EXPECT_EQ(this->tickets().at(0).replay, "");
}

TEST_F(PostgresWaiting, AReplayPassesOverWhatSomebodyHasInHand) {
  const std::vector<Waiting> tickets = set_aside(3, DeferralReason::dead);
  const auto transaction = session_->begin();
  take(*transaction, {&tickets[1], 1});
  const auto replays = store_->replays();
  replays->start({.id = "r1", .consumer = "billing", .ramp = {}, .decision = ada});
  EXPECT_EQ(replays->advance(consumer_), 2);
}

TEST_F(PostgresWaiting, TwoProcessesThatMoveAReplayOnMakeEachEventDueOnceAndKeepItsRate) {
  set_aside(100, DeferralReason::dead);
  const auto begin = steady_clock::now();
  store_->replays()->start(
      {.id = "r1", .consumer = "billing", .rate = 60, .ramp = {}, .decision = ada});
  const auto drive = [&] {
    const auto replays = store_->replays();
    std::int64_t made_due = 0;
    while (replays->list("r1").at(0).due < 100 &&
           steady_clock::now() < begin + std::chrono::seconds{10}) {
      made_due += replays->advance(consumer_);
    }
    return made_due;
  };
  auto first = std::async(std::launch::async, drive);
  auto second = std::async(std::launch::async, drive);
  EXPECT_EQ(first.get() + second.get(), 100);
  // The first second's worth comes at once.
  EXPECT_GE(steady_clock::now() - begin, milliseconds{600});
  EXPECT_EQ(plain().value("SELECT count(*) FROM deferred WHERE replay = 'r1'"), "100");
}

/// The planner has not looked at the table since it was empty, and then it has.
TEST_F(PostgresWaiting, WhatIsDueIsFoundAmongManyThousandsThatAreNot) {
  plain().execute("ALTER TABLE deferred SET (autovacuum_enabled = false)");
  Due found;
  const auto look = [&](const char* name) {
    const microseconds time = time_to_look(found);
    RecordProperty(std::string{name} + "_us", std::to_string(time.count()));
    EXPECT_LT(time, milliseconds{50}) << name;
  };
  look("nothing_waits");
  EXPECT_FALSE(found.next_in.has_value());
  fill(100'000, "behind", "'account 7'");
  plain().execute(
      "UPDATE deferred SET reason = 'retry', due_at = now() + interval '1 hour' "
      "WHERE id = (SELECT min(id) FROM deferred)");
  look("all_behind_one");
  EXPECT_TRUE(found.events.empty());
  EXPECT_GT(found.next_in.value(), std::chrono::minutes{59});
  plain().execute("ANALYZE deferred");
  look("all_behind_one_analyzed");
  EXPECT_TRUE(found.events.empty());
  plain().execute("DELETE FROM deferred WHERE reason = 'retry'");
  look("all_released");
  ASSERT_EQ(found.events.size(), 64U);
  EXPECT_TRUE(std::ranges::is_sorted(found.events, {}, &DeferredRecord::id));
  EXPECT_EQ(std::to_string(found.events.front().id), plain().value("SELECT min(id) FROM deferred"));
  EXPECT_EQ(found.events.front().raw.size(), 300U);
  EXPECT_EQ(found.events.front().event.data, "{}");
  plain().execute("TRUNCATE deferred");
  fill(100'000, "dead", "'account ' || n");
  look("all_dead");
  EXPECT_TRUE(found.events.empty());
  plain().execute("ANALYZE deferred");
  look("all_dead_analyzed");
  EXPECT_TRUE(found.events.empty());
  plain().execute("UPDATE deferred SET reason = 'retry', due_at = now() + interval '1 hour'");
  look("all_wait_for_their_time");
  EXPECT_TRUE(found.events.empty());
  EXPECT_GT(found.next_in.value(), std::chrono::minutes{59});
  plain().execute("ALTER TABLE deferred RESET (autovacuum_enabled)");
}

/// Also by a session that has begun its work when nothing waited.
TEST_F(PostgresWaiting, EventsAndWhatIsInFrontOfThemAreFoundThroughTheIndexes) {
  // What changes the tables would make the server plan anew.
  for (const char* table : {"deferred", "inbox"}) {
    plain().execute(std::string{"ALTER TABLE "} + table + " SET (autovacuum_enabled = false)");
    plain().execute(std::string{"ANALYZE "} + table);
  }
  std::vector<Waiting> tickets;
  std::vector<Front> fronts;
  for (int number = 1; number <= 64; ++number) {
    tickets.push_back({.id = number, .key = evidence(number).key});
    fronts.push_back({.entity = "a", .before = number});
  }
  std::vector<Claim> claims;
  const auto work = [&] {
    const auto transaction = session_->begin();
    const std::int64_t before = whole_reads(*transaction);
    claims = take(*transaction, tickets);
    transaction->waiting_room().blocked(consumer_, fronts);
    if (claims[0].state == ClaimState::fresh) {
      Deferral again = deferral(1, DeferralReason::behind, "a");
      again.waiting = tickets.data();
      transaction->ledger().defer({&again, 1});
      transaction->waiting_room().leave({&tickets[1].id, 1});
    }
    transaction->savepoint();
    return whole_reads(*transaction) - before;
  };
  for (int i = 0; i < 10; ++i) work();
  fill(100'000, "behind", "'a'");
  plain().execute(
      "INSERT INTO inbox (scope, key, outcome, waiting, recorded_at, event_id) "
      "SELECT scope, key, 3, true, now(), event_id FROM deferred");
  EXPECT_EQ(work(), 0);
  EXPECT_EQ(std::ranges::count(claims, ClaimState::fresh, &Claim::state), 64);
  for (const char* table : {"deferred", "inbox"}) {
    plain().execute(std::string{"ALTER TABLE "} + table + " RESET (autovacuum_enabled)");
  }
}

TEST_F(PostgresWaiting, AnEntityMayBeLongerThanWhatAnIndexTakes) {
  std::string entity;
  for (int i = 0; entity.size() < 40'000; ++i) entity += std::to_string(i * 7'919L % 999'983L);
  set_aside(1, DeferralReason::retry, entity);
  const std::string other = entity + "x";
  const std::vector<Front> fronts{{.entity = entity}, {.entity = other}};
  EXPECT_EQ(session_->begin()->waiting_room().blocked(consumer_, fronts),
            (std::vector{true, false}));
  EXPECT_EQ(session_->due({.consumer = consumer_, .limit = 1}).events.at(0).entity, entity);
}

TEST_F(PostgresWaiting, WhatAHandlerTakesAwayFromTheWaitingRoomIsAViolation) {
  const std::vector<Waiting> tickets = set_aside(1);
  const auto transaction = session_->begin();
  take(*transaction, tickets);
  transaction->statements().execute("DELETE FROM deferred", {});
  transaction->waiting_room().leave({&tickets[0].id, 1});
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::contract_violation);
}

/// What was set aside by an earlier version.
TEST_F(PostgresWaiting, RowsOfTheFirstSchemaAreKeptAsTheyAre) {
  Options old = options();
  old.schema = database_->schema() + "_old";
  plain().execute("DROP SCHEMA IF EXISTS " + old.schema + " CASCADE");
  const auto store = open_store(old);
  const auto steps = store->housekeeping()->pending();
  ASSERT_EQ(steps.at(0).version, 1);
  plain().execute(steps[0].sql);
  plain().execute("SET search_path = " + old.schema);
  plain().execute("INSERT INTO consumer (name, rules, mode) VALUES ('billing', '', 'optimistic')");
  plain().execute(
      "INSERT INTO deferred (scope, key, fingerprint, consumer, reason, handler, errors, "
      "attempts, source, event_id, event_source, event_type, event_subject, content_type, "
      "headers, raw, first_at, last_at) SELECT 1, decode(lpad(to_hex(n), 32, '0'), 'hex'), "
      "'\\x00', 1, reason, 'ship', '[\"why\"]', 1, 'orders', 'e' || n, 'shop', 'order', '', '', "
      "'[]', 'raw', now(), now() FROM unnest(ARRAY['dead', 'quarantine', 'conflict']) "
      "WITH ORDINALITY AS r(reason, n)");
  for (const Migration& each : store->housekeeping()->migrate()) {
    EXPECT_EQ(each.applied_now, each.version != 1);
  }
  const auto rows = store->records()->deferred({});
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].id, static_cast<std::int64_t>(i) + 1);
    EXPECT_FALSE(rows[i].decoded);
    EXPECT_FALSE(rows[i].event.data.has_value());
    EXPECT_EQ(rows[i].failure + rows[i].entity + rows[i].replay, "");
    EXPECT_EQ(rows[i].turn, 0);
    EXPECT_FALSE(rows[i].due_at.has_value());
    EXPECT_EQ(rows[i].raw, "raw");
  }
  EXPECT_EQ(rows[1].reason, "quarantine");
  EXPECT_NO_THROW(plain().execute("UPDATE deferred SET reason = 'gap' WHERE id = 1"));
  EXPECT_ANY_THROW(plain().execute("UPDATE deferred SET reason = 'lost' WHERE id = 1"));
  EXPECT_EQ(store->replays()->preview({}).selected, 1);
  plain().execute("DROP SCHEMA " + old.schema + " CASCADE");
}

}  // namespace
}  // namespace onefold::postgres
