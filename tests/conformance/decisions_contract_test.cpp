#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

const Decision ada{.who = "ada", .reason = "test order"};

class DecisionsContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    if (IsSkipped() || HasFailure()) return;
    delivery_.event = {.id = "e1",
                       .source = "shop",
                       .type = "payment.received",
                       .subject = "s",
                       .time = at_second(1),
                       .content_type = "text/plain",
                       .headers = {{"trace", "1"}, {"trace", "\xff"}},
                       .data = {}};
    delivery_.raw = std::string{"raw \0 \xff bytes", 13};
    delivery_.position = position(7);
  }
  Deferral deferral(int number, DeferralReason reason = DeferralReason::dead,
                    std::vector<Key> further_keys = {}) {
    return {.key = key(number),
            .fingerprint = {static_cast<std::uint8_t>(number)},
            .consumer = consumer(),
            .source = "orders",
            .delivery = &delivery_,
            .reason = reason,
            .handler = "credit",
            .errors = errors_,
            .attempts = 3,
            .recorded_at = at_second(5),
            .further_keys = std::move(further_keys)};
  }
  Evidence waiting(Key wanted) {
    Evidence row = evidence(wanted);
    row.outcome = Outcome::dead;
    row.waiting = true;
    return row;
  }
  /// Sets an event aside as dead; returns its number.
  std::int64_t defer_dead(int number, const std::vector<Key>& further_keys = {}) {
    commit([&](Transaction& transaction) {
      claim(transaction, waiting(key(number)));
      for (const Key& each : further_keys) claim(transaction, waiting(each));
      const Deferral row = deferral(number, DeferralReason::dead, further_keys);
      transaction.ledger().defer({&row, 1});
    });
    return records()->deferred({.key = key(number)}).at(0).id;
  }
  std::int64_t defer_conflict(int number) {
    commit([&](Transaction& transaction) {
      const Deferral row = deferral(number, DeferralReason::conflict);
      transaction.ledger().defer({&row, 1});
    });
    return records()->deferred({.key = key(number), .reason = "conflict"}).at(0).id;
  }
  std::vector<DiscardAnswer> discard(const std::vector<std::int64_t>& ids) {
    return decisions()->discard(ids, ada);
  }
  /// What an export of all deferred rows would hold.
  std::vector<ImportedDeferral> exported() {
    std::vector<ImportedDeferral> all;
    for (DeferredRecord& row : records()->deferred({})) {
      ImportedDeferral& one = all.emplace_back();
      one.deferred = std::move(row);
      if (one.deferred.reason == "conflict") continue;
      one.claims.push_back(records()->evidence(one.deferred.key).value());
      for (const Key& each : one.deferred.further_keys) {
        one.claims.push_back(records()->evidence(each).value());
      }
    }
    return all;
  }
  /// Another database of the same kind, with the same consumer and scope.
  void move_to_another_database() {
    TearDown();
    SetUp();
  }

  std::vector<std::string> errors_{"credit: no such account", "credit: no such account"};
  Delivery delivery_;
};
INSTANTIATE_TEST_SUITE_P(Stores, DecisionsContract, testing::ValuesIn(all_stores()), name_of);

void expect_equal(const DeferredRecord& left, const DeferredRecord& right) {
  EXPECT_EQ(left.consumer, right.consumer);
  EXPECT_EQ(left.key, right.key);
  EXPECT_EQ(left.further_keys, right.further_keys);
  EXPECT_EQ(left.fingerprint, right.fingerprint);
  EXPECT_EQ(left.reason, right.reason);
  EXPECT_EQ(left.handler, right.handler);
  EXPECT_EQ(left.errors, right.errors);
  EXPECT_EQ(left.attempts, right.attempts);
  EXPECT_EQ(left.count, right.count);
  EXPECT_EQ(left.source, right.source);
  ASSERT_TRUE(left.position && right.position);
  EXPECT_EQ(*left.position->partition, *right.position->partition);
  EXPECT_EQ(left.position->at, right.position->at);
  EXPECT_EQ(left.position->next, right.position->next);
  EXPECT_EQ(left.event.id, right.event.id);
  EXPECT_EQ(left.event.source, right.event.source);
  EXPECT_EQ(left.event.type, right.event.type);
  EXPECT_EQ(left.event.subject, right.event.subject);
  EXPECT_EQ(left.event.time, right.event.time);
  EXPECT_EQ(left.event.content_type, right.event.content_type);
  EXPECT_EQ(left.event.headers, right.event.headers);
  EXPECT_EQ(left.raw, right.raw);
  EXPECT_EQ(left.first_at, right.first_at);
  EXPECT_EQ(left.last_at, right.last_at);
}

TEST_P(DecisionsContract, ADiscardedEventIsFinalAndStaysClaimed) {
  const std::int64_t id = defer_dead(1);
  EXPECT_EQ(discard({id}), std::vector{DiscardAnswer::discarded});
  EXPECT_TRUE(records()->deferred({}).empty());
  const auto row = records()->evidence(key(1));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->outcome, Outcome::dead);
  EXPECT_FALSE(row->waiting);
  commit([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, ClaimState::known);
  });
}

TEST_P(DecisionsContract, DiscardingIsAuditedWithWhoWhatAndWhy) {
  const std::int64_t id = defer_dead(1);
  defer_dead(2);
  discard({id});
  const auto rows = audit();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].who, "ada");
  EXPECT_EQ(rows[0].action, "discard");
  for (const std::string line : {"consumer: billing\n", "event id: e1\n", "event source: shop\n",
                                 "set aside as: dead\n", "reason: test order\n"}) {
    EXPECT_NE(rows[0].detail.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(decisions()->audit({.key = key(1)}).size(), 1U);
  EXPECT_TRUE(decisions()->audit({.key = key(2)}).empty());
  EXPECT_TRUE(decisions()->audit({.after = rows[0].id}).empty());
}

TEST_P(DecisionsContract, WhatAnEventSaysCannotForgeLinesOfTheAudit) {
  delivery_.event.id = "e1\nreason: forged";
  discard({defer_dead(1)});
  EXPECT_EQ(audit().at(0).detail.find("\nreason: forged"), std::string::npos);
}

TEST_P(DecisionsContract, AConflictIsOnlyRemoved) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(1))); });
  const std::int64_t id = defer_conflict(1);
  EXPECT_EQ(discard({id}), std::vector{DiscardAnswer::discarded});
  EXPECT_TRUE(records()->deferred({}).empty());
  EXPECT_EQ(records()->evidence(key(1))->outcome, Outcome::applied);
  EXPECT_EQ(audit().size(), 1U);
}

TEST_P(DecisionsContract, AllKeysOfAnEventBecomeFinal) {
  const std::int64_t id = defer_dead(1, {key(2), key(3)});
  discard({id});
  for (const int number : {1, 2, 3}) {
    EXPECT_FALSE(records()->evidence(key(number))->waiting) << number;
    EXPECT_EQ(decisions()->audit({.key = key(number)}).size(), 1U) << number;
  }
}

TEST_P(DecisionsContract, WhatIsGoneIsSaidAndNothingElseChanges) {
  const std::int64_t first = defer_dead(1);
  const std::int64_t second = defer_dead(2);
  discard({first});
  EXPECT_EQ(discard({first, second, 777}),
            (std::vector{DiscardAnswer::gone, DiscardAnswer::discarded, DiscardAnswer::gone}));
  EXPECT_EQ(audit().size(), 2U);
  // Numbers are not given again.
  EXPECT_GT(defer_dead(3), second);
}

TEST_P(DecisionsContract, ADiscardThatFailsChangesNothing) {
  // Such a row has no claim that could become final.
  const std::int64_t fine = defer_dead(1);
  const std::int64_t odd = defer_dead(2);
  discard({odd});
  const auto rows = exported();
  ASSERT_EQ(rows.size(), 1U);
  ImportedDeferral without_claim = rows[0];
  without_claim.claims.clear();
  without_claim.deferred.key = key(5);
  decisions()->import_deferred({&without_claim, 1}, ada, false);
  const std::int64_t broken = records()->deferred({.key = key(5)}).at(0).id;
  const std::size_t audited = audit().size();
  EXPECT_EQ(failure_of([&] { discard({fine, broken}); }), ErrorKind::bad_configuration);
  EXPECT_EQ(records()->deferred({}).size(), 2U);
  EXPECT_TRUE(records()->evidence(key(1))->waiting);
  EXPECT_EQ(audit().size(), audited);
}

TEST_P(DecisionsContract, AnImportBringsBackEveryByte) {
  defer_dead(1, {key(2)});
  defer_conflict(3);
  defer_conflict(3);
  const auto before = exported();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[1].deferred.count, 2);
  move_to_another_database();
  EXPECT_EQ(decisions()->import_deferred(before, ada, false),
            (std::vector{ImportAnswer::imported, ImportAnswer::imported}));
  const auto after = exported();
  ASSERT_EQ(after.size(), 2U);
  for (std::size_t i = 0; i < after.size(); ++i) {
    expect_equal(before[i].deferred, after[i].deferred);
    ASSERT_EQ(before[i].claims.size(), after[i].claims.size());
    for (std::size_t j = 0; j < after[i].claims.size(); ++j) {
      const InboxRecord& claim = after[i].claims[j];
      EXPECT_EQ(claim.key, before[i].claims[j].key);
      EXPECT_TRUE(claim.waiting);
      EXPECT_EQ(claim.outcome, Outcome::dead);
      EXPECT_EQ(claim.event_id, before[i].claims[j].event_id);
      EXPECT_EQ(claim.recorded_at, before[i].claims[j].recorded_at);
    }
  }
  const auto rows = audit();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].action, "import");
  EXPECT_EQ(rows[0].who, "ada");
  // What came back can be decided about as before.
  EXPECT_EQ(discard({records()->deferred({.key = key(1)}).at(0).id}),
            std::vector{DiscardAnswer::discarded});
  EXPECT_FALSE(records()->evidence(key(2))->waiting);
}

TEST_P(DecisionsContract, AnImportSkipsWhatIsKnown) {
  defer_dead(1);
  defer_dead(2, {key(3)});
  defer_conflict(4);
  auto rows = exported();
  EXPECT_EQ(decisions()->import_deferred(rows, ada, false), std::vector(3, ImportAnswer::known));
  move_to_another_database();
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(3), "other")); });
  EXPECT_EQ(decisions()->import_deferred(rows, ada, false),
            (std::vector{ImportAnswer::imported, ImportAnswer::known, ImportAnswer::imported}));
  EXPECT_EQ(records()->evidence(key(3))->event_id, "other");
  EXPECT_FALSE(records()->evidence(key(2)).has_value());
  EXPECT_EQ(audit().size(), 2U);
  EXPECT_EQ(records()->deferred({}).size(), 2U);
}

TEST_P(DecisionsContract, ATrialAnswersAndChangesNothing) {
  defer_dead(1);
  const auto rows = exported();
  move_to_another_database();
  EXPECT_EQ(decisions()->import_deferred(rows, ada, true), std::vector{ImportAnswer::imported});
  EXPECT_TRUE(records()->deferred({}).empty());
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_TRUE(audit().empty());
}

TEST_P(DecisionsContract, AnImportForNobodyIsRefused) {
  defer_dead(1);
  auto rows = exported();
  rows[0].deferred.consumer = "nobody";
  move_to_another_database();
  EXPECT_EQ(failure_of([&] { decisions()->import_deferred(rows, ada, false); }),
            ErrorKind::bad_configuration);
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
}

TEST_P(DecisionsContract, DecisionsSurviveARestart) {
  discard({defer_dead(1)});
  reopen();
  EXPECT_TRUE(records()->deferred({}).empty());
  EXPECT_EQ(audit().size(), 1U);
}

}  // namespace
}  // namespace onefold::conformance
