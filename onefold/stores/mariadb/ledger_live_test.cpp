
#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "onefold/stores/mariadb/ledger.h"
#include "onefold/stores/mariadb/test_store.h"

namespace onefold::mariadb {
namespace {

class MariadbLedger : public MariadbStore {
 protected:
  std::vector<Evidence> range(int first, int last) const {
    std::vector<Evidence> rows;
    for (int number = first; number < last; ++number) rows.push_back(evidence(number));
    return rows;
  }
  static std::size_t fresh_among(const std::vector<Claim>& claims) {
    return static_cast<std::size_t>(std::ranges::count(claims, ClaimState::fresh, &Claim::state));
  }
};

TEST_F(MariadbLedger, RowsOfOneCallAreInsertedTogetherOrNotAtAll) {
  {
    const auto transaction = session_->begin();
    claim(*transaction, 300);
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  const auto transaction = session_->begin();
  EXPECT_EQ(
      kind_thrown_by([&] { transaction->ledger().record(range(0, 600), ClaimMode::optimistic); }),
      ErrorKind::contention);
  // What the server holds now, whatever we would do about it.
  run_raw(*transaction, "COMMIT");
  EXPECT_EQ(plain_->value("SELECT COUNT(*) FROM onefold_inbox"), "1");
}

TEST_F(MariadbLedger, ABatchThatRacesForOneKeyGetsTheOthers) {
  auto holder = rival_->begin();
  claim(*holder, 3);
  std::vector<Claim> claims;
  std::thread waiter{[&] {
    const auto transaction = session_->begin();
    claims = transaction->ledger().claim(range(0, 700), ClaimMode::claim_first);
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  waiter.join();
  EXPECT_EQ(fresh_among(claims), 699U);
  EXPECT_EQ(claims.at(3).state, ClaimState::known);
  EXPECT_EQ(plain_->value("SELECT COUNT(*) FROM onefold_inbox"), "700");
}

TEST_F(MariadbLedger, ABatchIsAnsweredWhateverItsSize) {
  for (const int size : {1, 899, 900, 901, 2'500}) {
    const auto transaction = session_->begin();
    const auto rows = range(0, size);
    EXPECT_EQ(fresh_among(transaction->ledger().claim(rows, ClaimMode::optimistic)), rows.size());
    EXPECT_EQ(fresh_among(transaction->ledger().claim(rows, ClaimMode::claim_first)), rows.size());
    EXPECT_EQ(fresh_among(transaction->ledger().claim(rows, ClaimMode::claim_first)), 0U);
    std::vector<Evidence> changed = rows;
    for (Evidence& each : changed) each.result = "done";
    transaction->ledger().record(changed, ClaimMode::claim_first);
    EXPECT_EQ(std::get<std::int64_t>(
                  transaction->statements()
                      .query("SELECT COUNT(*) FROM onefold_inbox WHERE result = 'done'", {})
                      .at(0)
                      .at(0)),
              size);
  }
}

TEST_F(MariadbLedger, RowsLargerThanAMessageAreSentInSeveral) {
  const std::string large(3U << 20U, 'x');
  auto rows = range(0, 12);
  for (Evidence& each : rows) each.result = large;
  const auto transaction = session_->begin();
  EXPECT_EQ(fresh_among(transaction->ledger().claim(rows, ClaimMode::claim_first)), 12U);
  transaction->ledger().record(rows, ClaimMode::claim_first);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(plain_->value("SELECT SUM(LENGTH(result)) FROM onefold_inbox"),
            std::to_string(12 * large.size()));
}

TEST_F(MariadbLedger, WhatNoMessageCanHoldIsAMatterOfTheServersSettings) {
  const std::string huge(20U << 20U, 'x');
  Evidence row = evidence(1);
  row.result = huge;
  const auto transaction = session_->begin();
  EXPECT_EQ(kind_thrown_by([&] { transaction->ledger().claim({&row, 1}, ClaimMode::claim_first); }),
            ErrorKind::bad_configuration);
}

TEST_F(MariadbLedger, ALookUsesTheKeyHoweverFewRowsThereAre) {
  {
    const auto transaction = session_->begin();
    transaction->ledger().record(range(0, 5'000), ClaimMode::optimistic);
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  for (const int size : {1, 500, 900}) {
    std::vector<Key> keys;
    for (const Evidence& each : range(0, size)) keys.push_back(each.key);
    Key elsewhere = keys.back();
    elsewhere.scope += 7;
    keys.push_back(elsewhere);
    const auto plan = plain_->query("EXPLAIN " + probe_sql(keys)).at(0);
    EXPECT_EQ(plan.at(3), "range") << size;
    EXPECT_EQ(plan.at(5), "PRIMARY") << size;
    EXPECT_LE(std::stoi(plan.at(8)), size + 10);
  }
}

TEST_F(MariadbLedger, EveryBatchThatAcknowledgesWrites) {
  const Position reached{
      std::make_shared<const Partition>(Partition{"orders", "first", ""}), {0, 6}, {0, 7}};
  for (const bool with_position : {true, true, false, false}) {
    const auto transaction = session_->begin();
    if (with_position) {
      transaction->ledger().advance(consumer_, {&reached, 1});
    } else {
      transaction->ledger().advance(consumer_, {});
    }
    const std::string id = connection_id(*transaction);
    EXPECT_EQ(plain_->value("SELECT trx_rows_modified > 0 FROM information_schema.innodb_trx "
                            "WHERE trx_mysql_thread_id = " +
                            id),
              "1");
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
}

TEST_F(MariadbLedger, WorkersThatMoveNoPositionDoNotWaitForEachOther) {
  const auto first = session_->begin();
  first->ledger().advance(consumer_, {});
  const auto second = rival_->begin();
  second->ledger().advance(consumer_, {});
  EXPECT_EQ(second->commit(), CommitResult::committed);
  EXPECT_EQ(first->commit(), CommitResult::committed);
}

TEST_F(MariadbLedger, AConsumerThatIsNotThereIsAMatterForAPerson) {
  EXPECT_EQ(kind_thrown_by([&] { session_->begin()->ledger().advance(999, {}); }),
            ErrorKind::bad_configuration);
  EXPECT_EQ(kind_thrown_by([&] { session_->scope({999, "", "shop", "uuid"}); }),
            ErrorKind::bad_configuration);
}

TEST_F(MariadbLedger, SourcesAndPartitionsMayHaveLongNames) {
  const std::string source(100'000, 's');
  const auto scope = session_->scope({consumer_, "", source, "uuid"});
  ASSERT_TRUE(scope.has_value());
  EXPECT_EQ(rival_->scope({consumer_, "", source, "uuid"}), scope);
  const std::string other = source.substr(1) + "t";
  EXPECT_NE(rival_->scope({consumer_, "", other, "uuid"}), scope);
}

/// Workers that get the same events in batches of their own, as after a redelivery.
class MariadbCrowd : public MariadbLedger, public testing::WithParamInterface<ClaimMode> {
 protected:
  static constexpr int events = 250;

  void apply(int seed) {
    const auto session = store_->connect();
    std::minstd_rand random(static_cast<unsigned>(seed));
    std::vector<int> order(events);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (std::size_t begin = 0; begin < order.size(); begin += 25) {
      std::vector<int> batch(order.begin() + static_cast<std::ptrdiff_t>(begin),
                             order.begin() + static_cast<std::ptrdiff_t>(begin) + 25);
      std::ranges::sort(batch);
      while (!run(*session, batch)) {
        ++repeated_;
        std::this_thread::sleep_for(std::chrono::milliseconds{random() % 20});
      }
    }
  }

  /// False if all of it has to be repeated.
  bool run(Session& session, const std::vector<int>& batch) {
    try {
      const auto transaction = session.begin();
      std::vector<Evidence> wanted;
      for (const int number : batch) wanted.push_back(evidence(number));
      const auto claims = transaction->ledger().claim(wanted, GetParam());
      std::vector<Evidence> applied;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        if (claims[i].state != ClaimState::fresh) continue;
        transaction->statements().execute("INSERT INTO effect (event) VALUES (:event)",
                                          {{"event", static_cast<std::int64_t>(batch[i])}}, 1);
        applied.push_back(wanted[i]);
      }
      if (GetParam() == ClaimMode::optimistic) {
        transaction->ledger().record(applied, ClaimMode::optimistic);
      }
      transaction->ledger().advance(consumer_, {});
      return transaction->commit() == CommitResult::committed;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::contention) << error.what();
      return false;
    }
  }

  std::atomic<int> repeated_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, MariadbCrowd,
                         testing::Values(ClaimMode::claim_first, ClaimMode::optimistic));

TEST_P(MariadbCrowd, B36_EightWorkersApplyEachEventOnce) {
  // No unique key: the inbox alone sees to it.
  plain_->execute("CREATE TABLE effect (event BIGINT NOT NULL) ENGINE=InnoDB");
  std::vector<std::thread> workers;
  for (int seed = 1; seed <= 8; ++seed) workers.emplace_back([this, seed] { apply(seed); });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(plain_->value("SELECT COUNT(*) FROM effect"), std::to_string(events));
  EXPECT_EQ(plain_->value("SELECT COUNT(DISTINCT event) FROM effect"), std::to_string(events));
  EXPECT_EQ(plain_->value("SELECT COUNT(*) FROM onefold_inbox"), std::to_string(events));
  RecordProperty("repeated", repeated_);
  std::printf("repeated: %d\n", repeated_.load());
}

}  // namespace
}  // namespace onefold::mariadb
