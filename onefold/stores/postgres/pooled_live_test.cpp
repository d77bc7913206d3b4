#include <algorithm>
#include <cstdlib>

#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

std::string pooler() {
  const char* url = std::getenv("ONEFOLD_TEST_PGBOUNCER");
  return url == nullptr ? "" : url;
}

/// Through PgBouncer in transaction mode: each transaction may meet another server process, and
/// nothing of a session may be relied on.
class PostgresPooled : public PostgresStore {
 protected:
  void SetUp() override {
    if (pooler().empty()) {
      ASSERT_FALSE(servers_are_required()) << "ONEFOLD_TEST_PGBOUNCER says of no pooler";
      GTEST_SKIP() << "ONEFOLD_TEST_PGBOUNCER says of no pooler; see tools/servers.sh";
    }
    PostgresStore::SetUp();
  }
  Options options() const override {
    Options options = PostgresStore::options();
    options.connection = pooler();
    return options;
  }
  /// The pooler knows no search path.
  std::string credit_sql() const {
    return "UPDATE " + database_->schema() +
           ".account SET balance = balance + :amount WHERE id = :id";
  }
};

TEST_F(PostgresPooled, B42_ThePoolerIsNoticed) {
  const auto findings = store_->housekeeping()->examine({});
  EXPECT_NE(std::ranges::find(findings, "pooler", &Finding::topic), findings.end());
}

TEST_F(PostgresPooled, B42_BatchesCommitWhateverProcessTheyMeet) {
  std::vector<std::string> processes;
  for (int batch = 0; batch < 20; ++batch) {
    // Alternately, so that the sessions swap their processes.
    const auto transaction = (batch % 2 == 0 ? session_ : rival_)->begin();
    EXPECT_EQ(claim(*transaction, batch), ClaimState::fresh);
    EXPECT_EQ(claim(*transaction, batch), ClaimState::known);
    transaction->savepoint();
    transaction->statements().execute(credit_sql(),
                                      {{"amount", std::int64_t{1}}, {"id", std::string{"a"}}}, 1);
    EXPECT_EQ(kind_thrown_by([&] {
                transaction->statements().change(
                    credit_sql(), {{"amount", std::int64_t{-1000}}, {"id", std::string{"b"}}});
              }),
              ErrorKind::permanent);
    transaction->rollback_to_savepoint();
    transaction->statements().execute(credit_sql(),
                                      {{"amount", std::int64_t{1}}, {"id", std::string{"a"}}}, 1);
    const Rows rows = transaction->statements().query(
        "SELECT current_setting('lock_timeout'), current_setting('TimeZone')", {});
    EXPECT_EQ(std::get<std::string>(rows.at(0).at(0)), "500ms");
    EXPECT_EQ(std::get<std::string>(rows.at(0).at(1)), "UTC");
    transaction->ledger().advance(consumer_, {});
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  EXPECT_EQ(balance("a"), "120");
  EXPECT_EQ(plain().value("SELECT count(*) FROM inbox"), "20");
}

TEST_F(PostgresPooled, B42_NothingStaysInTheServersSessions) {
  const auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  const Rows prepared =
      transaction->statements().query("SELECT count(*) FROM pg_prepared_statements", {});
  EXPECT_EQ(std::get<std::int64_t>(prepared.at(0).at(0)), 0);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  PlainClient client{pooler()};
  EXPECT_NE(client.value("SHOW lock_timeout"), "500ms");
}

TEST_F(PostgresPooled, B42_WhatWaitsIsTakenWhateverProcessServes) {
  Delivery delivery;
  delivery.event.id = "evt_1";
  delivery.raw = "raw";
  for (int round = 0; round < 10; ++round) {
    Session& session = round % 2 == 0 ? *session_ : *rival_;
    Session& other = round % 2 == 0 ? *rival_ : *session_;
    Evidence claimed = evidence(round);
    claimed.outcome = Outcome::deferred;
    claimed.waiting = true;
    const Deferral aside{.key = evidence(round).key,
                         .consumer = consumer_,
                         .source = "orders",
                         .delivery = &delivery,
                         .reason = DeferralReason::retry,
                         .entity = "a",
                         .handler = "ship",
                         .errors = {},
                         .attempts = 1,
                         .recorded_at = claimed.recorded_at};
    auto transaction = session.begin();
    transaction->ledger().claim({&claimed, 1}, ClaimMode::claim_first);
    transaction->ledger().defer({&aside, 1});
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
    const Due due = other.due({.consumer = consumer_, .limit = 64});
    ASSERT_EQ(due.events.size(), 1U);
    const Waiting ticket{
        .id = due.events[0].id, .turn = due.events[0].turn, .key = due.events[0].key};
    const Waiting* const event = &ticket;
    const Front front{.entity = "a"};
    transaction = other.begin();
    EXPECT_EQ(transaction->waiting_room().take({&event, 1}).at(0).state, ClaimState::fresh);
    EXPECT_EQ(transaction->waiting_room().blocked(consumer_, {&front, 1}), std::vector{true});
    const Evidence done = evidence(round);
    transaction->ledger().record({&done, 1}, ClaimMode::claim_first);
    transaction->waiting_room().leave({&ticket.id, 1});
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
    EXPECT_FALSE(session.pause(consumer_).has_value());
  }
  EXPECT_EQ(plain().value("SELECT count(*) FROM deferred"), "0");
  EXPECT_EQ(plain().value("SELECT count(*) FROM inbox WHERE NOT waiting"), "10");
}

TEST_F(PostgresPooled, MigrationsWork) {
  Options fresh = options();
  fresh.schema = database_->schema() + "_pooled";
  plain().execute("DROP SCHEMA IF EXISTS " + fresh.schema + " CASCADE");
  EXPECT_TRUE(open_store(fresh)->housekeeping()->migrate().at(0).applied_now);
  EXPECT_NO_THROW(open_store(fresh)->housekeeping()->check_schema());
  plain().execute("DROP SCHEMA " + fresh.schema + " CASCADE");
}

}  // namespace
}  // namespace onefold::postgres
