#include <algorithm>

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class HousekeepingContract : public StoreContract {};
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
  EXPECT_TRUE(housekeeping()->pending().empty());
  EXPECT_NO_THROW(housekeeping()->check_schema());
  EXPECT_TRUE(records()->evidence(key(1)).has_value());
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
  EXPECT_EQ(records()->status().at(0).mode, "optimistic");
}

TEST_P(HousekeepingContract, NewRulesJoinAndMissingOnesStay) {
  housekeeping()->adopt({"billing", "source.orders = /id\n", ClaimMode::claim_first}, {});
  EXPECT_EQ(records()->status().at(0).rules, "identity = uuid\nsource.orders = /id\n");
  EXPECT_TRUE(audit().empty());
}

TEST_P(HousekeepingContract, AChangedRuleIsRefused) {
  const ConsumerRules changed{"billing", "identity = /id\n", ClaimMode::claim_first};
  EXPECT_EQ(failure_of([&] { housekeeping()->adopt(changed, {}); }), ErrorKind::bad_configuration);
  EXPECT_EQ(records()->status().at(0).rules, "identity = uuid\n");
  EXPECT_TRUE(audit().empty());
}

TEST_P(HousekeepingContract, AChangedRuleIsAcceptedWithAReasonAndAudited) {
  const ConsumerRules changed{"billing", "identity = /id\n", ClaimMode::claim_first};
  EXPECT_EQ(housekeeping()->adopt(changed, RuleChange{"ada", "new publisher"}), consumer());
  EXPECT_EQ(records()->status().at(0).rules, "identity = /id\n");
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_EQ(audit().front().who, "ada");
  EXPECT_EQ(audit().front().action, "accept-key-change");
  EXPECT_NE(audit().front().detail.find("reason: new publisher\n"), std::string::npos);
  // Nothing changes any more: there is nothing to audit either.
  housekeeping()->adopt(changed, RuleChange{"ada", "again"});
  EXPECT_EQ(audit().size(), 1U);
}

TEST_P(HousekeepingContract, AStatementThatCannotBePreparedSaysWhy) {
  for (const std::string_view sql : {insert_cell, update_cell, select_cell}) {
    EXPECT_EQ(housekeeping()->statement_defect(sql), "") << sql;
  }
  for (const std::string_view sql : {"SELECT amount FROM nowhere", "NO SUCH STATEMENT"}) {
    EXPECT_NE(housekeeping()->statement_defect(sql), "") << sql;
  }
}

TEST_P(HousekeepingContract, AnExaminationTellsTheDurability) {
  const std::vector<std::string> statements{std::string{update_cell}};
  const auto findings = housekeeping()->examine(statements);
  EXPECT_EQ(std::ranges::count(findings, "durability", &Finding::topic), 1);
  for (const Finding& each : findings) {
    EXPECT_NE(each.severity, Finding::Severity::failure) << each.topic << ": " << each.text;
    EXPECT_FALSE(each.text.empty()) << each.topic;
  }
}

}  // namespace
}  // namespace onefold::conformance
