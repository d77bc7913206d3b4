#include <array>
#include <limits>
#include <map>
#include <set>

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

/// Rows that wait, positions, scopes.
class LedgerContract : public StoreContract {
 protected:
  Deferral deferral(int number, DeferralReason reason, Fingerprint fingerprint = {1}) {
    return {.key = key(number),
            .fingerprint = fingerprint,
            .consumer = consumer(),
            .source = "orders",
            .delivery = &delivery_,
            .reason = reason,
            .handler = "credit",
            .errors = errors_,
            .attempts = 3,
            .recorded_at = at_second(5)};
  }
  /// Claims a key and sets its event aside, as the runtime does.
  void set_aside(Transaction& transaction, const Deferral& deferral) {
    Evidence row = evidence(deferral.key);
    claim(transaction, row);
    row.outcome = Outcome::dead;
    row.waiting = true;
    transaction.ledger().record({&row, 1}, ClaimMode::claim_first);
    transaction.ledger().defer({&deferral, 1});
  }
  void advance(Transaction& transaction, const Position& reached) {
    transaction.ledger().advance(consumer(), {&reached, 1});
  }
  std::vector<DeferredRecord> all_deferred() { return records()->deferred({}); }

  Delivery delivery_;
  std::vector<std::string> errors_{"first", "second \u201cquoted\" \\ text"};
};
INSTANTIATE_TEST_SUITE_P(Stores, LedgerContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(LedgerContract, ADeferredEventComesBackWhole) {
  for (int i = 0; i < 256; ++i) delivery_.raw.push_back(static_cast<char>(i));
  delivery_.event.id = "e1";
  delivery_.event.source = "shop";
  delivery_.event.type = "payment.received";
  delivery_.event.subject = "account 7";
  delivery_.event.time = at_second(9);
  delivery_.event.content_type = "application/json";
  delivery_.event.headers = {{"b", "2"}, {"a", "1"}, {"b", "3"}, {"bytes", "\xff\x01"}};
  delivery_.event.data = "{}";
  delivery_.position = position(42, "incarnation", "partition");
  commit([&](Transaction& transaction) {
    set_aside(transaction, deferral(1, DeferralReason::dead, {3, 4}));
  });
  reopen();
  const auto found = all_deferred();
  ASSERT_EQ(found.size(), 1U);
  const DeferredRecord& record = found.front();
  EXPECT_GT(record.id, 0);
  EXPECT_EQ(record.consumer, "billing");
  EXPECT_EQ(record.key, key(1));
  EXPECT_EQ(record.fingerprint, (Fingerprint{3, 4}));
  EXPECT_EQ(record.reason, "dead");
  EXPECT_EQ(record.handler, "credit");
  EXPECT_EQ(record.errors, errors_);
  EXPECT_EQ(record.attempts, 3);
  EXPECT_EQ(record.count, 1);
  EXPECT_EQ(record.source, "orders");
  ASSERT_TRUE(record.position.has_value());
  EXPECT_EQ(*record.position->partition, *delivery_.position->partition);
  EXPECT_EQ(record.position->at, delivery_.position->at);
  EXPECT_EQ(record.position->next, delivery_.position->next);
  EXPECT_EQ(record.event.id, "e1");
  EXPECT_EQ(record.event.source, "shop");
  EXPECT_EQ(record.event.type, "payment.received");
  EXPECT_EQ(record.event.subject, "account 7");
  EXPECT_EQ(record.event.time, at_second(9));
  EXPECT_EQ(record.event.content_type, "application/json");
  EXPECT_EQ(record.event.headers, delivery_.event.headers);
  EXPECT_EQ(record.event.data, delivery_.event.data);
  EXPECT_EQ(record.raw, delivery_.raw);
  EXPECT_EQ(record.first_at, at_second(5));
  EXPECT_EQ(record.last_at, at_second(5));
}

TEST_P(LedgerContract, AnUndecodableDeliveryCanBeSetAside) {
  delivery_.raw = "{";
  commit([&](Transaction& transaction) {
    Deferral bare = deferral(1, DeferralReason::quarantine, {});
    bare.handler = {};
    bare.errors = {};
    bare.attempts = 0;
    set_aside(transaction, bare);
  });
  const auto found = all_deferred();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().reason, "quarantine");
  EXPECT_EQ(found.front().raw, "{");
  EXPECT_EQ(found.front().handler, "");
  EXPECT_TRUE(found.front().errors.empty());
  EXPECT_EQ(found.front().event.id, "");
  EXPECT_FALSE(found.front().event.time.has_value());
  EXPECT_FALSE(found.front().position.has_value());
  EXPECT_EQ(found.front().fingerprint, Fingerprint{});
}

TEST_P(LedgerContract, ARolledBackDeferralLeavesNothing) {
  roll_back(
      [&](Transaction& transaction) { set_aside(transaction, deferral(1, DeferralReason::dead)); });
  EXPECT_TRUE(all_deferred().empty());
}

TEST_P(LedgerContract, B22_AConflictIsKeptOncePerFingerprintAndCounted) {
  commit([&](Transaction& transaction) { claim(transaction, evidence(key(1), "e1", {1})); });
  for (const int second : {5, 6, 7}) {
    commit([&](Transaction& transaction) {
      delivery_.raw = "seen at " + std::to_string(second);
      Deferral conflict = deferral(1, DeferralReason::conflict, {2});
      conflict.recorded_at = at_second(second);
      transaction.ledger().defer({&conflict, 1});
    });
  }
  commit([&](Transaction& transaction) {
    const std::vector both{deferral(1, DeferralReason::conflict, {3}),
                           deferral(2, DeferralReason::conflict, {2})};
    transaction.ledger().defer(both);
  });
  const auto found = all_deferred();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].fingerprint, Fingerprint{2});
  EXPECT_EQ(found[0].count, 3);
  EXPECT_EQ(found[0].raw, "seen at 5");
  EXPECT_EQ(found[0].first_at, at_second(5));
  EXPECT_EQ(found[0].last_at, at_second(7));
  EXPECT_EQ(found[1].count, 1);
  EXPECT_EQ(found[2].count, 1);
  EXPECT_EQ(records()->evidence(key(1))->fingerprint, Fingerprint{1});
  EXPECT_FALSE(records()->evidence(key(2)).has_value());
}

TEST_P(LedgerContract, ARepetitionInOneCallIsCounted) {
  commit([&](Transaction& transaction) {
    const std::vector twice{deferral(1, DeferralReason::conflict, {2}),
                            deferral(1, DeferralReason::conflict, {2})};
    transaction.ledger().defer(twice);
  });
  ASSERT_EQ(all_deferred().size(), 1U);
  EXPECT_EQ(all_deferred().front().count, 2);
}

TEST_P(LedgerContract, ADeadEventIsKeptOncePerKeyAndCounted) {
  commit(
      [&](Transaction& transaction) { set_aside(transaction, deferral(1, DeferralReason::dead)); });
  commit([&](Transaction& transaction) {
    const std::vector more{deferral(1, DeferralReason::dead),
                           deferral(1, DeferralReason::conflict)};
    transaction.ledger().defer(more);
  });
  const auto found = all_deferred();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].reason, "dead");
  EXPECT_EQ(found[0].count, 2);
  EXPECT_EQ(found[1].reason, "conflict");
  EXPECT_EQ(found[1].count, 1);
}

TEST_P(LedgerContract, APositionNeverMovesBack) {
  for (const std::uint64_t next : {5U, 3U, 5U, 4U}) {
    commit([&](Transaction& transaction) { advance(transaction, position(next)); });
  }
  const auto found = session().positions(consumer(), "orders");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].next, (Offset{0, 5}));
  EXPECT_EQ(found[0].at, found[0].next);
  commit([&](Transaction& transaction) { advance(transaction, position(6)); });
  EXPECT_EQ(session().positions(consumer(), "orders").at(0).next, (Offset{0, 6}));
}

TEST_P(LedgerContract, TheMarkOfAPositionMovesWithItsOffset) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  struct Step {
    std::uint64_t next;
    std::uint64_t mark;
    std::uint64_t stored;
  };
  for (const Step& step : {Step{5, most, most}, Step{4, 1, most}, Step{5, 2, most}, Step{6, 3, 3},
                           Step{7, 0, 0}, Step{8, most / 2 + 1, most / 2 + 1}}) {
    Position reached = position(step.next);
    reached.mark = step.mark;
    commit([&](Transaction& transaction) { advance(transaction, reached); });
    reopen();
    EXPECT_EQ(session().positions(consumer(), "orders").at(0).mark, step.stored) << step.next;
  }
}

TEST_P(LedgerContract, PositionsHave128UnsignedBits) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::array<Offset, 5> rising{
      Offset{0, most}, {1, 0}, {1, most / 2 + 1}, {most, 0}, {most, most}};
  for (const Offset& next : rising) {
    for (const Offset& offered : {next, Offset{0, most - 1}, Offset{0, 1}}) {
      Position reached = position(1);
      reached.next = offered;
      commit([&](Transaction& transaction) { advance(transaction, reached); });
    }
    EXPECT_EQ(session().positions(consumer(), "orders").at(0).next, next);
  }
}

TEST_P(LedgerContract, APositionBelongsToItsConsumerIncarnationAndPartition) {
  const ConsumerId other = adopt("shipping");
  commit([&](Transaction& transaction) {
    const std::vector reached{position(1, "first", "0"), position(2, "first", "1"),
                              position(3, "second", "0")};
    transaction.ledger().advance(consumer(), reached);
    const Position rival = position(9, "first", "0");
    transaction.ledger().advance(other, {&rival, 1});
    Position elsewhere = position(8, "first", "0");
    elsewhere.partition = std::make_shared<const Partition>(Partition{"returns", "first", "0"});
    transaction.ledger().advance(consumer(), {&elsewhere, 1});
  });
  reopen();
  std::map<Partition, Offset> found;
  for (const Position& position : session().positions(consumer(), "orders")) {
    found.emplace(*position.partition, position.next);
  }
  EXPECT_EQ(found, (std::map<Partition, Offset>{{{"orders", "first", "0"}, {0, 1}},
                                                {{"orders", "first", "1"}, {0, 2}},
                                                {{"orders", "second", "0"}, {0, 3}}}));
  EXPECT_EQ(session().positions(other, "orders").at(0).next, (Offset{0, 9}));
  EXPECT_EQ(session().positions(consumer(), "returns").at(0).next, (Offset{0, 8}));
  EXPECT_TRUE(session().positions(other, "returns").empty());
}

TEST_P(LedgerContract, AdvancingNothingCommits) {
  commit([&](Transaction& transaction) { transaction.ledger().advance(consumer(), {}); });
  commit([&](Transaction& transaction) { transaction.ledger().advance(consumer(), {}); });
  EXPECT_TRUE(session().positions(consumer(), "orders").empty());
}

TEST_P(LedgerContract, AScopeKeepsItsNumber) {
  const auto number = session().scope({consumer(), {}, "shop", "uuid"});
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(session().scope({consumer(), {}, "shop", "uuid"}), number);
  reopen();
  EXPECT_EQ(session().scope({consumer(), {}, "shop", "uuid"}), number);
}

TEST_P(LedgerContract, B08_B15_ScopesDifferInEachOfTheirWords) {
  const ConsumerId other = adopt("Billing");
  EXPECT_NE(other, consumer());
  std::set<std::int32_t> numbers;
  const std::vector<ScopeName> names{
      {consumer(), {}, "shop", "uuid"},       {consumer(), {}, "Shop", "uuid"},
      {consumer(), {}, "shop", "hashed"},     {consumer(), "credit", "shop", "uuid"},
      {consumer(), "notify", "shop", "uuid"}, {other, {}, "shop", "uuid"},
      {consumer(), {}, "shop ", "uuid"},
  };
  for (const ScopeName& name : names) numbers.insert(session().scope(name).value());
  EXPECT_EQ(numbers.size(), names.size());
  const auto scopes = records()->scopes();
  EXPECT_EQ(scopes.size(), names.size());
  for (const ScopeRecord& each : scopes) EXPECT_TRUE(numbers.contains(each.scope));
}

TEST_P(LedgerContract, TheSourcesBeyondTheLimitGetNoScope) {
  const int limit = GetParam().sources_max;
  std::vector<std::string> sources{"shop"};
  for (int i = 1; i < limit; ++i) sources.push_back("shop " + std::to_string(i));
  for (const std::string& source : sources) {
    EXPECT_TRUE(session().scope({consumer(), {}, source, "uuid"}).has_value()) << source;
  }
  EXPECT_EQ(session().scope({consumer(), {}, "one too many", "uuid"}), std::nullopt);
  // Sources that have their place keep it, with every form of key.
  EXPECT_TRUE(session().scope({consumer(), {}, sources.back(), "hashed"}).has_value());
  // Where the others go is no event source, and neither are other consumers' sources.
  EXPECT_TRUE(session().scope({consumer(), {}, "*", "source+hashed", true}).has_value());
  EXPECT_EQ(session().scope({consumer(), {}, "one too many", "uuid"}), std::nullopt);
  EXPECT_TRUE(session().scope({adopt("shipping"), {}, "one too many", "uuid"}).has_value());
}

}  // namespace
}  // namespace onefold::conformance
