#include <algorithm>
#include <future>
#include <thread>

#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

class PostgresDatabase : public PostgresStore {
 protected:
  /// A role with what `grants` give it, and a URL to come as it.
  std::string url_of_role(const std::string& name, const std::vector<std::string>& grants) {
    plain().execute("DO $$ BEGIN CREATE ROLE " + name +
                    " LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    plain().execute("REVOKE ALL ON ALL TABLES IN SCHEMA " + database_->schema() + " FROM " + name);
    plain().execute("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + name);
    for (const std::string& each : grants) plain().execute("GRANT " + each + " TO " + name);
    std::string url = database_->url();
    return url.replace(url.find("postgres@"), 8, name);
  }
  std::vector<std::string> rights_to_run() const {
    return {"SELECT, INSERT, UPDATE ON consumer",
            "SELECT, INSERT ON scope, audit",
            "SELECT, INSERT, UPDATE ON replay",
            "SELECT, INSERT, UPDATE, DELETE ON inbox, position, deferred, pause",
            "SELECT, INSERT, UPDATE, DELETE ON run, careful, suspect",
            "SELECT ON migration",
            "SELECT, UPDATE ON account"};
  }
  Options options_for(const std::string& url) const {
    Options options = this->options();
    options.connection = url;
    return options;
  }
  /// How often this session has read the inbox as a whole, as far as it was not reported yet.
  static std::int64_t whole_reads(Transaction& transaction) {
    const Rows rows =
        transaction.statements().query("SELECT pg_stat_get_xact_numscans('inbox'::regclass)", {});
    return std::get<std::int64_t>(rows.at(0).at(0));
  }
};

/// A plan that was made while the inbox was empty would read all of it for every key.
TEST_F(PostgresDatabase, KeysAreLookedUpThroughTheIndexAlsoWhenTheInboxWasEmptyAtFirst) {
  // What changes the table would make the server plan anew.
  plain().execute("ALTER TABLE inbox SET (autovacuum_enabled = false)");
  plain().execute("ANALYZE inbox");
  const auto look = [&](ClaimMode mode) {
    const auto transaction = session_->begin();
    const std::int64_t before = whole_reads(*transaction);
    // More than the ten that the planner expects when it does not look.
    std::vector<Evidence> wanted;
    std::vector<Key> keys;
    for (int i = 0; i < 50; ++i) {
      wanted.push_back(evidence(i));
      keys.push_back(wanted.back().key);
    }
    transaction->ledger().claim(wanted, mode);
    if (mode == ClaimMode::claim_first) {
      transaction->ledger().record(wanted, mode);
      transaction->ledger().withdraw(keys);
      transaction->savepoint();
    }
    return whole_reads(*transaction) - before;
  };
  // Often enough for the server to keep a plan.
  for (int i = 0; i < 10; ++i) {
    look(ClaimMode::optimistic);
    look(ClaimMode::claim_first);
  }
  plain().execute(
      "INSERT INTO inbox (scope, key, outcome, waiting, recorded_at, event_id) "
      "SELECT " +
      std::to_string(scope_) +
      ", decode(md5(n::text), 'hex'), 0, false, now(), 'e' "
      "FROM generate_series(1, 100000) n");
  EXPECT_EQ(look(ClaimMode::optimistic), 0);
  EXPECT_EQ(look(ClaimMode::claim_first), 0);
  plain().execute("ALTER TABLE inbox RESET (autovacuum_enabled)");
}

TEST_F(PostgresDatabase, RunNeedsNoMoreThanRightsOnRows) {
  const auto store = open_store(options_for(url_of_role("onefold_runner", rights_to_run())));
  EXPECT_NO_THROW(store->housekeeping()->check_schema());
  EXPECT_EQ(store->housekeeping()->adopt({.name = "billing", .rules = ""}, {}), consumer_);
  for (const Finding& each : store->housekeeping()->examine({})) {
    EXPECT_NE(each.severity, Finding::Severity::failure) << each.topic << ": " << each.text;
  }
  const auto session = store->connect();
  const auto transaction = session->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  transaction->statements().execute(credit, {}, 1);
  transaction->ledger().advance(consumer_, {});
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(
      kind_thrown_by([&] { session->begin()->statements().query("DELETE FROM account", {}); }),
      ErrorKind::bad_configuration);
}

TEST_F(PostgresDatabase, TablesThatDoNotLiveAndDieWithTheEvidenceAreFound) {
  using enum Finding::Severity;
  const std::string other = database_->schema() + "_elsewhere";
  plain().execute("CREATE UNLOGGED TABLE diary (line text)");
  plain().execute("CREATE UNLOGGED TABLE unused (line text)");
  plain().execute("CREATE FOREIGN DATA WRAPPER " + other);
  plain().execute("CREATE SERVER " + other + " FOREIGN DATA WRAPPER " + other);
  plain().execute("CREATE FOREIGN TABLE far (line text) SERVER " + other);
  const std::vector<std::string> statements{"INSERT INTO Diary VALUES (:line)",
                                            "INSERT INTO \"far\" VALUES (:line)",
                                            std::string{credit}};
  const auto findings = store_->housekeeping()->examine(statements);
  plain().execute("DROP FOREIGN DATA WRAPPER " + other + " CASCADE");
  std::vector<std::pair<Finding::Severity, std::string>> tables;
  for (const Finding& each : findings) {
    if (each.topic == "tables") {
      tables.emplace_back(each.severity, each.text.substr(0, each.text.find(' ')));
    }
  }
  EXPECT_EQ(tables, (std::vector<std::pair<Finding::Severity, std::string>>{{failure, "diary"},
                                                                            {warning, "far"}}));
}

/// The function that a standby answers with true, found before the server's own.
TEST_F(PostgresDatabase, AStandbyIsFound) {
  const auto is_told = [](Store& store) {
    const auto findings = store.housekeeping()->examine({});
    return std::ranges::find(findings, "server", &Finding::topic) != findings.end();
  };
  EXPECT_FALSE(is_told(*store_));
  const std::string function = database_->schema() + ".pg_is_in_recovery()";
  plain().execute("CREATE OR REPLACE FUNCTION " + function +
                  " RETURNS boolean LANGUAGE sql AS 'SELECT true'");
  Options standby = options();
  standby.connection = database_->url("%20-csearch_path%3D" + database_->schema() + ",pg_catalog");
  EXPECT_TRUE(is_told(*open_store(standby)));
  plain().execute("DROP FUNCTION " + function);
}

TEST_F(PostgresDatabase, F22_RightsThatAreTakenAwayStopTheConsumerAndBlameNoEvent) {
  const auto store = open_store(options_for(url_of_role("onefold_runner", rights_to_run())));
  const auto session = store->connect();
  EXPECT_EQ(claim(*session->begin(), 1), ClaimState::fresh);
  plain().execute("REVOKE UPDATE ON account FROM onefold_runner");
  {
    const auto transaction = session->begin();
    transaction->statements().execute(credit, {});
    EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::bad_configuration);
  }
  plain().execute("REVOKE INSERT ON inbox FROM onefold_runner");
  EXPECT_EQ(kind_thrown_by([&] { claim(*session->begin(), 1); }), ErrorKind::bad_configuration);
  const auto findings = store->housekeeping()->examine({});
  const auto found = std::ranges::find(findings, "privileges", &Finding::topic);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, Finding::Severity::failure);
  EXPECT_NE(found->text.find("INSERT on " + database_->schema() + ".inbox"), std::string::npos)
      << found->text;
}

TEST_F(PostgresDatabase, F22_WhatOnlyAPersonCanChangeIsToldFromWhatPasses) {
  const auto kind_of = [&](const std::string& url) {
    return kind_thrown_by([&] { open_store(options_for(url)); });
  };
  std::string missing = database_->url();
  missing.replace(missing.rfind("/postgres"), 9, "/no_such_database");
  EXPECT_EQ(kind_of(missing), ErrorKind::bad_configuration);
  std::string nobody = database_->url();
  nobody.replace(nobody.find("postgres@"), 8, "no_such_role");
  EXPECT_EQ(kind_of(nobody), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_of("postgres://ada:secret@127.0.0.1:1/shop"), ErrorKind::unavailable);
  EXPECT_EQ(words_thrown_by([&] {
              open_store(options_for("postgres://ada:secret@127.0.0.1:1/shop"));
            }).find("secret"),
            std::string::npos);
  EXPECT_EQ(kind_of("not a connection"), ErrorKind::bad_configuration);
}

TEST_F(PostgresDatabase, WhatIsPendingCanBeAppliedByHand) {
  Options fresh = options();
  fresh.schema = database_->schema() + "_by_hand";
  plain().execute("DROP SCHEMA IF EXISTS " + fresh.schema + " CASCADE");
  const auto housekeeping = open_store(fresh)->housekeeping();
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->check_schema(); }), ErrorKind::bad_configuration);
  const auto pending = housekeeping->pending();
  ASSERT_FALSE(pending.empty());
  EXPECT_EQ(
      plain().value("SELECT count(*) FROM pg_namespace WHERE nspname = '" + fresh.schema + "'"),
      "0");
  for (const Migration& each : pending) plain().execute(each.sql);
  EXPECT_NO_THROW(housekeeping->check_schema());
  for (const Migration& each : housekeeping->migrate()) EXPECT_FALSE(each.applied_now);
  plain().execute("UPDATE " + fresh.schema + ".migration SET checksum = '0'");
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->check_schema(); }), ErrorKind::bad_configuration);
  EXPECT_EQ(kind_thrown_by([&] { housekeeping->migrate(); }), ErrorKind::bad_configuration);
  plain().execute("DROP SCHEMA " + fresh.schema + " CASCADE");
}

TEST_F(PostgresDatabase, TwoProgramsThatMigrateAtOnceDoItOnce) {
  Options fresh = options();
  fresh.schema = database_->schema() + "_twice";
  fresh.lock_timeout = std::chrono::milliseconds{10'000};
  plain().execute("DROP SCHEMA IF EXISTS " + fresh.schema + " CASCADE");
  const auto migrate = [&] {
    int applied = 0;
    for (const Migration& each : open_store(fresh)->housekeeping()->migrate()) {
      if (each.applied_now) ++applied;
    }
    return applied;
  };
  auto first = std::async(std::launch::async, migrate);
  auto second = std::async(std::launch::async, migrate);
  const int applied = first.get() + second.get();
  EXPECT_EQ(applied, plain().query("SELECT 1 FROM " + fresh.schema + ".migration").size());
  plain().execute("DROP SCHEMA " + fresh.schema + " CASCADE");
}

TEST_F(PostgresDatabase, ABorrowedConnectionIsUsedAndLeftAsItWas) {
  PlainClient mine{database_->url()};
  mine.execute("SET statement_timeout = '77s'");
  Options borrowed = options();
  borrowed.connection = {};
  borrowed.borrow = [&] { return mine.handle(); };
  auto store = open_store(borrowed);
  auto session = store->connect();
  {
    const auto transaction = session->begin();
    EXPECT_EQ(connection(*transaction), mine.handle());
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    mine.execute(std::string{credit});
    EXPECT_EQ(std::get<std::string>(
                  transaction->statements().query("SHOW statement_timeout", {}).at(0).at(0)),
              "5s");
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  EXPECT_EQ(mine.value("SHOW statement_timeout"), "77s");
  session.reset();
  EXPECT_EQ(mine.value("SELECT count(*) FROM pg_prepared_statements"), "0");
  EXPECT_EQ(balance("a"), "110");
  EXPECT_TRUE(is_claimed(1));
  // In the middle of something, it is refused.
  mine.execute("BEGIN");
  EXPECT_EQ(kind_thrown_by([&] { store->connect(); }), ErrorKind::bad_configuration);
  mine.execute("ROLLBACK");
  EXPECT_NO_THROW(store->connect());
}

TEST_F(PostgresDatabase, AHandleOfAnotherDatabaseIsRefused) {
  struct Other : Transaction {
    Ledger& ledger() override { throw std::logic_error{"unused"}; }
    WaitingRoom& waiting_room() override { throw std::logic_error{"unused"}; }
    Statements& statements() override { throw std::logic_error{"unused"}; }
    void verify() override {}
    void savepoint() override {}
    void rollback_to_savepoint() override {}
    CommitAnswer commit() override { return CommitResult::refused; }
  };
  const Other other;
  EXPECT_EQ(kind_thrown_by([&] { connection(other); }), ErrorKind::bad_configuration);
}

TEST_F(PostgresDatabase, AStatementIsJudgedAsTheHandlersWillBe) {
  const auto housekeeping = store_->housekeeping();
  EXPECT_EQ(housekeeping->statement_defect("UPDATE account SET balance = :b WHERE id = :i"), "");
  EXPECT_NE(housekeeping->statement_defect("UPDATE nowhere SET balance = :b"), "");
  EXPECT_NE(housekeeping->statement_defect("COMMIT"), "");
}

}  // namespace
}  // namespace onefold::postgres
