#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class ClaimContract : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(Stores, ClaimContract, testing::ValuesIn(all_stores()), name_of);

using enum ClaimState;

TEST_P(ClaimContract, B05_EachElementGetsItsOwnAnswer) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(2))); });
  commit([&](Transaction& transaction) {
    const std::vector wanted{evidence(key(1)), evidence(key(2)), evidence(key(3))};
    const auto claims = transaction.ledger().claim(wanted, ClaimMode::claim_first);
    EXPECT_EQ(states_of(claims), (std::vector{fresh, known, fresh}));
  });
  for (const int number : {1, 2, 3}) {
    EXPECT_TRUE(records()->evidence(key(number)).has_value()) << number;
  }
}

TEST_P(ClaimContract, B05_OnlyTheLastElementIsNew) {
  commit([&](Transaction& transaction) {
    transaction.ledger().claim(std::vector{evidence(key(1)), evidence(key(2))},
                               ClaimMode::claim_first);
  });
  for (const ClaimMode mode : {ClaimMode::optimistic, ClaimMode::claim_first}) {
    commit([&](Transaction& transaction) {
      const std::vector wanted{evidence(key(1)), evidence(key(2)), evidence(key(3))};
      EXPECT_EQ(states_of(transaction.ledger().claim(wanted, mode)),
                (std::vector{known, known, fresh}));
    });
  }
}

TEST_P(ClaimContract, NothingWantedIsNothingClaimed) {
  commit([&](Transaction& transaction) {
    EXPECT_TRUE(transaction.ledger().claim({}, ClaimMode::claim_first).empty());
    EXPECT_TRUE(transaction.ledger().claim({}, ClaimMode::optimistic).empty());
    transaction.ledger().record({}, ClaimMode::claim_first);
    transaction.ledger().record({}, ClaimMode::optimistic);
    transaction.ledger().defer({});
  });
}

TEST_P(ClaimContract, B05_ALargeBatchIsAnsweredInOrder) {
  std::vector<Evidence> all;
  std::vector<Evidence> even;
  std::vector<ClaimState> expected;
  for (int i = 0; i < 700; ++i) {
    Key key = this->key(0);
    key.bytes[0] = static_cast<std::uint8_t>(i / 256);
    key.bytes[1] = static_cast<std::uint8_t>(i % 256);
    all.push_back(evidence(key));
    if (i % 2 == 0) even.push_back(evidence(key));
    expected.push_back(i % 2 == 0 ? known : fresh);
  }
  commit(
      [&](Transaction& transaction) { transaction.ledger().claim(even, ClaimMode::claim_first); });
  for (const ClaimMode mode : {ClaimMode::optimistic, ClaimMode::claim_first}) {
    roll_back([&](Transaction& transaction) {
      EXPECT_EQ(states_of(transaction.ledger().claim(all, mode)), expected);
    });
  }
}

TEST_P(ClaimContract, WhatIsWithdrawnWasNeverClaimed) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(4))); });
  commit([&](Transaction& transaction) {
    transaction.ledger().claim(std::vector{evidence(key(1)), evidence(key(2)), evidence(key(3))},
                               ClaimMode::claim_first);
    transaction.ledger().withdraw(std::vector{key(1), key(3)});
    transaction.savepoint();
    transaction.rollback_to_savepoint();
    EXPECT_EQ(claim(transaction, evidence(key(3), "e3")).state, fresh);
    transaction.ledger().withdraw({});
  });
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_TRUE(records()->evidence(key(2)).has_value());
  ASSERT_TRUE(records()->evidence(key(3)).has_value());
  EXPECT_EQ(records()->evidence(key(3))->event_id, "e3");
  EXPECT_TRUE(records()->evidence(key(4)).has_value());
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, fresh);
  });
}

TEST_P(ClaimContract, AClaimCanPassToAnotherEventOfItsTransaction) {
  commit([&](Transaction& transaction) {
    claim(transaction, evidence(key(1), "e1", {1}));
    Evidence other = evidence(key(1), "e2", {2});
    other.entity = "account 7";
    other.result = "done";
    transaction.ledger().record(std::vector{other}, ClaimMode::claim_first);
  });
  const auto row = records()->evidence(key(1));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->event_id, "e2");
  EXPECT_EQ(row->fingerprint, Fingerprint{2});
  EXPECT_EQ(row->entity, "account 7");
  EXPECT_EQ(row->result, "done");
}

TEST_P(ClaimContract, B22_TheFirstFingerprintIsReturnedInTheSameTransaction) {
  commit([&](Transaction& transaction) {
    claim(transaction, evidence(key(1), "e1", {1}));
    const Claim second = claim(transaction, evidence(key(1), "e1", {2}));
    EXPECT_EQ(second.state, known);
    EXPECT_EQ(second.fingerprint, Fingerprint{1});
  });
}

TEST_P(ClaimContract, B22_TheFirstFingerprintIsReturnedAfterCompletionAndReopening) {
  commit([&](Transaction& transaction) {
    Evidence done = evidence(key(1), "e1", {1});
    claim(transaction, done);
    done.result = "ok";
    transaction.ledger().record({&done, 1}, ClaimMode::claim_first);
  });
  for (const bool restarted : {false, true}) {
    if (restarted) reopen();
    for (const ClaimMode mode : {ClaimMode::claim_first, ClaimMode::optimistic}) {
      for (const Fingerprint offered : {Fingerprint{1}, Fingerprint{2}, Fingerprint{}}) {
        roll_back([&](Transaction& transaction) {
          const Claim again = claim(transaction, evidence(key(1), "e1", offered), mode);
          EXPECT_EQ(again.state, known);
          EXPECT_EQ(again.fingerprint, Fingerprint{1});
          EXPECT_EQ(again.recorded_at, at_second(2));
        });
      }
    }
  }
}

TEST_P(ClaimContract, FingerprintsThatAreOffComeBackAsZeros) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(1), "e1", {})); });
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1), "e1", {7})).fingerprint, Fingerprint{});
  });
}

TEST_P(ClaimContract, TheFirstClaimsTimeIsReturned) {
  Evidence first = evidence(key(1));
  first.recorded_at = Timestamp{std::chrono::microseconds{1'764'500'000'123'456}};
  commit([&](Transaction& transaction) { claim(transaction, first); });
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).recorded_at, first.recorded_at);
  });
}

TEST_P(ClaimContract, AnEventSetAsideIsWaiting) {
  commit([&](Transaction& transaction) {
    Evidence dead = evidence(key(1));
    claim(transaction, dead);
    dead.outcome = Outcome::dead;
    dead.waiting = true;
    transaction.ledger().record({&dead, 1}, ClaimMode::claim_first);
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, waiting);
  });
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, waiting);
    EXPECT_EQ(claim(transaction, evidence(key(1)), ClaimMode::optimistic).state, waiting);
  });
}

TEST_P(ClaimContract, B01_B03_ARolledBackClaimLeavesNothing) {
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, fresh);
  });
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  commit([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, fresh);
  });
  EXPECT_TRUE(records()->evidence(key(1)).has_value());
}

TEST_P(ClaimContract, AnOptimisticClaimOnlyLooks) {
  commit([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(1)), ClaimMode::optimistic).state, fresh);
    EXPECT_EQ(claim(transaction, evidence(key(1)), ClaimMode::optimistic).state, fresh);
  });
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
}

TEST_P(ClaimContract, AnOptimisticRecordInsertsTheCompleteRows) {
  commit([&](Transaction& transaction) {
    std::vector rows{evidence(key(1), "e1"), evidence(key(2), "e2")};
    rows[1].outcome = Outcome::stale;
    rows[1].result = "older";
    transaction.ledger().claim(rows, ClaimMode::optimistic);
    transaction.ledger().record(rows, ClaimMode::optimistic);
    EXPECT_EQ(claim(transaction, evidence(key(1))).state, known);
  });
  const auto second = records()->evidence(key(2));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->outcome, Outcome::stale);
  EXPECT_EQ(second->result, "older");
  EXPECT_EQ(second->event_id, "e2");
}

TEST_P(ClaimContract, AKeyThatAppearedSinceTheProbeIsContention) {
  roll_back([&](Transaction& transaction) {
    EXPECT_EQ(claim(transaction, evidence(key(2)), ClaimMode::optimistic).state, fresh);
  });
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(2), "rival")); });
  const auto transaction = session().begin();
  const std::vector rows{evidence(key(1)), evidence(key(2))};
  EXPECT_EQ(failure_of([&] {
              transaction->ledger().record(rows, ClaimMode::optimistic);
              transaction->commit();
            }),
            ErrorKind::contention);
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_EQ(records()->evidence(key(2))->event_id, "rival");
}

TEST_P(ClaimContract, AClaimFirstRecordUpdatesOutcomeStateHandlersAndResult) {
  commit([&](Transaction& transaction) {
    Evidence done = evidence(key(1));
    claim(transaction, done);
    done.outcome = Outcome::dead;
    done.waiting = true;
    done.handled_by = "credit@1 notify@3";
    done.result = "receipt 17";
    transaction.ledger().record({&done, 1}, ClaimMode::claim_first);
  });
  const auto record = records()->evidence(key(1));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->outcome, Outcome::dead);
  EXPECT_TRUE(record->waiting);
  EXPECT_EQ(record->handled_by, "credit@1 notify@3");
  EXPECT_EQ(record->result, "receipt 17");
}

TEST_P(ClaimContract, AllEvidenceComesBack) {
  commit([&](Transaction& transaction) {
    claim(transaction, evidence(key(1), "e1", {9, 8, 7}));
    Evidence bare = evidence(key(2), "e2", {});
    bare.event_source = "another shop";
    bare.event_time.reset();
    bare.entity = {};
    bare.handled_by = {};
    claim(transaction, bare);
  });
  const auto record = records()->evidence(key(1));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->key, key(1));
  EXPECT_EQ(record->event_source, "shop");
  EXPECT_EQ(record->event_id, "e1");
  EXPECT_EQ(record->event_type, "payment.received");
  EXPECT_EQ(record->event_time, at_second(1));
  EXPECT_EQ(record->entity, "account 7");
  EXPECT_EQ(record->handled_by, "credit@1");
  EXPECT_EQ(record->fingerprint, (Fingerprint{9, 8, 7}));
  EXPECT_EQ(record->recorded_at, at_second(2));
  const auto bare = records()->evidence(key(2));
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->event_source, "another shop");
  EXPECT_FALSE(bare->event_time.has_value());
  EXPECT_EQ(bare->entity, "");
  EXPECT_EQ(bare->handled_by, "");
  EXPECT_EQ(bare->fingerprint, Fingerprint{});
}

TEST_P(ClaimContract, B08_B32_IdsKeepTheirBytes) {
  const std::vector<std::string> ids{"evt_4qD329Bz", "evt_4qd329bz",
                                     "EVT_4QD329BZ", "id",
                                     "id ",          "\u00e9",
                                     "e\u0301",      "\u00c5",
                                     "\u212b",       "\u0131",
                                     "\uff11",       "'; --",
                                     "\xff\xfe",     std::string(512, 'x')};
  commit([&](Transaction& transaction) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      claim(transaction, evidence(key(static_cast<int>(i)), ids[i]));
    }
  });
  reopen();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(records()->evidence(key(static_cast<int>(i)))->event_id, ids[i]);
  }
}

TEST_P(ClaimContract, ResultsKeepAllBytes) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte.push_back(static_cast<char>(i));
  commit([&](Transaction& transaction) {
    Evidence first = evidence(key(1));
    claim(transaction, first);
    first.result = every_byte;
    transaction.ledger().record({&first, 1}, ClaimMode::claim_first);
    Evidence second = evidence(key(2));
    second.result = every_byte;
    transaction.ledger().record({&second, 1}, ClaimMode::optimistic);
  });
  EXPECT_EQ(records()->evidence(key(1))->result, every_byte);
  EXPECT_EQ(records()->evidence(key(2))->result, every_byte);
}

TEST_P(ClaimContract, KeysAreComparedByAllTheirBytesAndTheirScope) {
  const std::int32_t other = session().scope({consumer(), {}, "shop", "hashed"}).value();
  std::vector<Key> keys;
  for (int i = 0; i < 16; ++i) {
    keys.push_back(key(0));
    keys.back().bytes.at(static_cast<std::size_t>(i)) = 0x80;
  }
  commit([&](Transaction& transaction) {
    for (Key key : keys) {
      EXPECT_EQ(claim(transaction, evidence(key)).state, fresh);
      key.scope = other;
      EXPECT_EQ(claim(transaction, evidence(key)).state, fresh);
    }
  });
}

TEST_P(ClaimContract, B02_ClaimDataAndPositionAreOne) {
  const auto unit = [&](Transaction& transaction) {
    claim(transaction, evidence(key(1)));
    insert(transaction, "account", 10);
    const Position reached = position(1);
    transaction.ledger().advance(consumer(), {&reached, 1});
  };
  roll_back(unit);
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_FALSE(committed_amount("account").has_value());
  EXPECT_TRUE(session().positions(consumer(), "orders").empty());
  commit(unit);
  reopen();
  EXPECT_TRUE(records()->evidence(key(1)).has_value());
  EXPECT_EQ(committed_amount("account"), 10);
  EXPECT_EQ(session().positions(consumer(), "orders").size(), 1U);
}

}  // namespace
}  // namespace onefold::conformance
