#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class HousekeepingContract : public StoreContract {
 protected:
  void defer_conflicts(int count) {
    commit([&](Transaction& transaction) {
      for (int number = 1; number <= count; ++number) {
        Deferral deferral;
        deferral.key = key(number);
        deferral.consumer = consumer();
        deferral.source = "orders";
        deferral.delivery = &delivery_;
        deferral.reason = DeferralReason::conflict;
        transaction.ledger().defer({&deferral, 1});
      }
    });
  }
  Delivery delivery_;
};
INSTANTIATE_TEST_SUITE_P(Stores, HousekeepingContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(HousekeepingContract, MigratingAgainChangesNothing) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(1))); });
  const auto again = housekeeping()->migrate();
  ASSERT_FALSE(again.empty());
  for (const Migration& migration : again) {
    EXPECT_FALSE(migration.applied_now) << migration.name;
    EXPECT_GT(migration.version, 0);
    EXPECT_FALSE(migration.name.empty());
  }
  EXPECT_NO_THROW(housekeeping()->check_schema());
  EXPECT_TRUE(housekeeping()->evidence(key(1)).has_value());
}

TEST_P(HousekeepingContract, AConsumerKeepsItsNumber) {
  EXPECT_EQ(adopt("billing"), consumer());
  const ConsumerId other = adopt("shipping");
  EXPECT_NE(other, consumer());
  reopen();
  EXPECT_EQ(adopt("billing"), consumer());
  EXPECT_EQ(adopt("shipping"), other);
}

TEST_P(HousekeepingContract, AnotherModeIsNoOtherRule) {
  EXPECT_EQ(housekeeping()->adopt({"billing", "identity = uuid\n", ClaimMode::optimistic}, {}),
            consumer());
  EXPECT_EQ(housekeeping()->status().at(0).mode, "optimistic");
}

TEST_P(HousekeepingContract, NewRulesJoinAndMissingOnesStay) {
  housekeeping()->adopt({"billing", "source.orders = /id\n", ClaimMode::claim_first}, {});
  EXPECT_EQ(housekeeping()->status().at(0).rules, "identity = uuid\nsource.orders = /id\n");
  EXPECT_TRUE(audit().empty());
}

TEST_P(HousekeepingContract, AChangedRuleIsRefused) {
  const ConsumerRules changed{"billing", "identity = /id\n", ClaimMode::claim_first};
  EXPECT_EQ(failure_of([&] { housekeeping()->adopt(changed, {}); }), ErrorKind::bad_configuration);
  EXPECT_EQ(housekeeping()->status().at(0).rules, "identity = uuid\n");
  EXPECT_TRUE(audit().empty());
}

TEST_P(HousekeepingContract, AChangedRuleIsAcceptedWithAReasonAndAudited) {
  const ConsumerRules changed{"billing", "identity = /id\n", ClaimMode::claim_first};
  EXPECT_EQ(housekeeping()->adopt(changed, RuleChange{"ada", "new publisher"}), consumer());
  EXPECT_EQ(housekeeping()->status().at(0).rules, "identity = /id\n");
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_NE(audit().front().find("ada"), std::string::npos);
  EXPECT_NE(audit().front().find("new publisher"), std::string::npos);
  // Nothing changes any more: there is nothing to audit either.
  housekeeping()->adopt(changed, RuleChange{"ada", "again"});
  EXPECT_EQ(audit().size(), 1U);
}

TEST_P(HousekeepingContract, UnknownKeysHaveNoEvidence) {
  EXPECT_FALSE(housekeeping()->evidence(key(1)).has_value());
  EXPECT_FALSE(housekeeping()->evidence(Key{999, {}}).has_value());
}

TEST_P(HousekeepingContract, StatusCountsPerConsumer) {
  const ConsumerId other = adopt("archive");
  const Key elsewhere{session().scope({other, {}, "shop", "uuid"}).value(), {}};
  commit([&](Transaction& transaction) {
    std::vector rows{evidence(key(1)), evidence(key(2)), evidence(key(3))};
    rows[1].recorded_at = at_second(77);
    rows[2].outcome = Outcome::stale;
    transaction.ledger().record(rows, ClaimMode::optimistic);
    const Evidence foreign = evidence(elsewhere);
    transaction.ledger().record({&foreign, 1}, ClaimMode::optimistic);
    const Position reached = position(7);
    transaction.ledger().advance(consumer(), {&reached, 1});
  });
  defer_conflicts(2);
  const auto status = housekeeping()->status();
  ASSERT_EQ(status.size(), 2U);
  EXPECT_EQ(status[0].name, "archive");
  EXPECT_EQ(status[0].inbox, (std::vector<std::pair<std::string, std::int64_t>>{{"applied", 1}}));
  EXPECT_TRUE(status[0].deferred.empty());
  EXPECT_TRUE(status[0].positions.empty());
  EXPECT_EQ(status[1].name, "billing");
  EXPECT_EQ(status[1].mode, "claim-first");
  EXPECT_EQ(status[1].inbox,
            (std::vector<std::pair<std::string, std::int64_t>>{{"applied", 2}, {"stale", 1}}));
  EXPECT_EQ(status[1].deferred,
            (std::vector<std::pair<std::string, std::int64_t>>{{"conflict", 2}}));
  ASSERT_EQ(status[1].positions.size(), 1U);
  EXPECT_EQ(status[1].positions[0].next, (Offset{0, 7}));
  EXPECT_EQ(status[1].last_recorded_at, at_second(77));
}

TEST_P(HousekeepingContract, AConsumerThatDidNothingHasAStatus) {
  const auto status = housekeeping()->status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].rules, "identity = uuid\n");
  EXPECT_TRUE(status[0].inbox.empty());
  EXPECT_FALSE(status[0].last_recorded_at.has_value());
}

TEST_P(HousekeepingContract, DeferredRowsArePaged) {
  defer_conflicts(5);
  std::vector<Key> seen;
  DeferredFilter page;
  page.limit = 2;
  for (int pages = 0; pages < 5; ++pages) {
    const auto rows = housekeeping()->deferred(page);
    EXPECT_LE(rows.size(), 2U);
    if (rows.empty()) break;
    for (const DeferredRecord& row : rows) {
      EXPECT_GT(row.id, page.after);
      page.after = row.id;
      seen.push_back(row.key);
    }
  }
  EXPECT_EQ(seen, (std::vector{key(1), key(2), key(3), key(4), key(5)}));
}

TEST_P(HousekeepingContract, DeferredRowsAreFiltered) {
  defer_conflicts(3);
  const auto all = housekeeping()->deferred({});
  ASSERT_EQ(all.size(), 3U);
  const auto count = [&](const DeferredFilter& filter) {
    return housekeeping()->deferred(filter).size();
  };
  DeferredFilter by_id;
  by_id.id = all[1].id;
  ASSERT_EQ(count(by_id), 1U);
  EXPECT_EQ(housekeeping()->deferred(by_id)[0].key, key(2));
  DeferredFilter by_key;
  by_key.key = key(3);
  ASSERT_EQ(count(by_key), 1U);
  EXPECT_EQ(housekeeping()->deferred(by_key)[0].id, all[2].id);
  DeferredFilter by_words;
  by_words.consumer = "billing";
  by_words.reason = "conflict";
  EXPECT_EQ(count(by_words), 3U);
  by_words.consumer = "shipping";
  EXPECT_EQ(count(by_words), 0U);
  by_words = {};
  by_words.reason = "dead";
  EXPECT_EQ(count(by_words), 0U);
}

TEST_P(HousekeepingContract, DeferredRowsComeWithoutTheirBytesIfNobodyWantsThem) {
  delivery_.raw = "the bytes";
  delivery_.event.id = "e7";
  delivery_.event.headers = {{"trace", "1"}};
  defer_conflicts(1);
  DeferredFilter filter;
  EXPECT_EQ(housekeeping()->deferred(filter).at(0).raw, "the bytes");
  filter.with_raw = false;
  const DeferredRecord row = housekeeping()->deferred(filter).at(0);
  EXPECT_EQ(row.raw, "");
  EXPECT_EQ(row.event.id, "e7");
  EXPECT_EQ(row.event.headers, delivery_.event.headers);
  EXPECT_EQ(row.key, key(1));
  EXPECT_EQ(row.count, 1);
}

}  // namespace
}  // namespace onefold::conformance
