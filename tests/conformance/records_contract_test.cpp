#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class RecordsContract : public StoreContract {
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
  void record(const std::vector<Evidence>& rows) {
    commit([&](Transaction& transaction) {
      transaction.ledger().record(rows, ClaimMode::optimistic);
    });
  }
  /// All ids that a filter finds, page by page.
  std::vector<std::string> ids(InboxFilter filter) {
    std::vector<std::string> found;
    for (int pages = 0; pages < 100; ++pages) {
      const InboxPage page = records()->inbox(filter);
      EXPECT_LE(page.records.size(), filter.limit);
      EXPECT_LE(page.rows_read, filter.rows_read_max);
      for (const InboxRecord& each : page.records) found.push_back(each.event_id);
      if (!page.next) return found;
      filter.after = page.next;
    }
    ADD_FAILURE() << "the pages do not end";
    return found;
  }
  Delivery delivery_;
};
INSTANTIATE_TEST_SUITE_P(Stores, RecordsContract, testing::ValuesIn(all_stores()), name_of);

TEST_P(RecordsContract, UnknownKeysHaveNoEvidence) {
  EXPECT_FALSE(records()->evidence(key(1)).has_value());
  EXPECT_FALSE(records()->evidence(Key{999, {}}).has_value());
}

TEST_P(RecordsContract, StatusCountsPerConsumer) {
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
  const auto status = records()->status();
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

TEST_P(RecordsContract, AConsumerThatDidNothingHasAStatus) {
  const auto status = records()->status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].rules, "identity = uuid\n");
  EXPECT_TRUE(status[0].inbox.empty());
  EXPECT_FALSE(status[0].last_recorded_at.has_value());
}

TEST_P(RecordsContract, DeferredRowsArePaged) {
  defer_conflicts(5);
  std::vector<Key> seen;
  DeferredFilter page;
  page.limit = 2;
  for (int pages = 0; pages < 5; ++pages) {
    const auto rows = records()->deferred(page);
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

TEST_P(RecordsContract, DeferredRowsAreFiltered) {
  defer_conflicts(3);
  const auto all = records()->deferred({});
  ASSERT_EQ(all.size(), 3U);
  const auto count = [&](const DeferredFilter& filter) {
    return records()->deferred(filter).size();
  };
  DeferredFilter by_id;
  by_id.id = all[1].id;
  ASSERT_EQ(count(by_id), 1U);
  EXPECT_EQ(records()->deferred(by_id)[0].key, key(2));
  DeferredFilter by_key;
  by_key.key = key(3);
  ASSERT_EQ(count(by_key), 1U);
  EXPECT_EQ(records()->deferred(by_key)[0].id, all[2].id);
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

TEST_P(RecordsContract, DeferredRowsComeWithoutTheirBytesIfNobodyWantsThem) {
  delivery_.raw = "the bytes";
  delivery_.event.id = "e7";
  delivery_.event.headers = {{"trace", "1"}};
  defer_conflicts(1);
  DeferredFilter filter;
  EXPECT_EQ(records()->deferred(filter).at(0).raw, "the bytes");
  filter.with_raw = false;
  const DeferredRecord row = records()->deferred(filter).at(0);
  EXPECT_EQ(row.raw, "");
  EXPECT_EQ(row.event.id, "e7");
  EXPECT_EQ(row.event.headers, delivery_.event.headers);
  EXPECT_EQ(row.key, key(1));
  EXPECT_EQ(row.count, 1);
}

TEST_P(RecordsContract, ConsumersAreListedByName) {
  const ConsumerId archive = adopt("archive");
  const auto consumers = records()->consumers();
  ASSERT_EQ(consumers.size(), 2U);
  EXPECT_EQ(consumers[0].name, "archive");
  EXPECT_EQ(consumers[0].id, archive);
  EXPECT_EQ(consumers[1].id, consumer());
  EXPECT_EQ(consumers[1].name, "billing");
  EXPECT_EQ(consumers[1].rules, "identity = uuid\n");
  EXPECT_EQ(consumers[1].mode, "claim-first");
}

TEST_P(RecordsContract, ScopesSayWhetherTheyAreSources) {
  session().scope({.consumer = consumer(),
                   .handler = "credit",
                   .source_or_rule = "payment",
                   .key_form = "rule",
                   .always = true});
  const auto scopes = records()->scopes();
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_FALSE(scopes[0].always);
  EXPECT_TRUE(scopes[1].always);
  EXPECT_EQ(scopes[1].handler, "credit");
  EXPECT_EQ(scopes[1].source_or_rule, "payment");
}

TEST_P(RecordsContract, TheInboxIsReadInTheOrderOfItsKeysAcrossScopes) {
  const ConsumerId other = adopt("archive");
  const std::int32_t elsewhere = session().scope({other, {}, "shop", "uuid"}).value();
  Key late = key(1);
  late.scope = elsewhere;
  record(
      {evidence(key(3), "c"), evidence(key(1), "a"), evidence(key(2), "b"), evidence(late, "d")});
  for (const std::size_t limit : {1U, 2U, 3U, 4U, 9U}) {
    InboxFilter filter;
    filter.limit = limit;
    EXPECT_EQ(ids(filter), (std::vector<std::string>{"a", "b", "c", "d"})) << limit;
  }
  InboxFilter filter;
  filter.rows_read_max = 1;
  EXPECT_EQ(ids(filter), (std::vector<std::string>{"a", "b", "c", "d"}));
  filter.after = key(2);
  EXPECT_EQ(ids(filter), (std::vector<std::string>{"c", "d"}));
  filter.after = Key{elsewhere, key(1).bytes};
  EXPECT_TRUE(ids(filter).empty());
}

TEST_P(RecordsContract, APageSaysHowMuchItHasRead) {
  record({evidence(key(1), "a"), evidence(key(2), "b"), evidence(key(3), "c")});
  InboxFilter filter;
  filter.event_id = "c";
  filter.rows_read_max = 2;
  const InboxPage first = records()->inbox(filter);
  EXPECT_TRUE(first.records.empty());
  EXPECT_EQ(first.rows_read, 2);
  EXPECT_EQ(first.next, key(2));
  filter.after = first.next;
  const InboxPage second = records()->inbox(filter);
  ASSERT_EQ(second.records.size(), 1U);
  EXPECT_EQ(second.records[0].event_id, "c");
  EXPECT_EQ(second.rows_read, 1);
  EXPECT_FALSE(second.next.has_value());
}

TEST_P(RecordsContract, InboxRowsAreFilteredByEachOfTheirWords) {
  const ConsumerId other = adopt("archive");
  Key elsewhere = key(9);
  elsewhere.scope = session().scope({other, {}, "shop", "uuid"}).value();
  std::vector rows{evidence(key(1), "a"), evidence(key(2), "b"), evidence(key(3), "c"),
                   evidence(elsewhere, "d")};
  rows[0].outcome = Outcome::stale;
  rows[1].event_source = "web";
  rows[2].event_type = "refund";
  rows[3].recorded_at = at_second(50);
  record(rows);
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({.consumer = "archive"}), Ids{"d"});
  EXPECT_EQ(ids({.consumer = "nobody"}), Ids{});
  EXPECT_EQ(ids({.scope = elsewhere.scope}), Ids{"d"});
  EXPECT_EQ(ids({.outcome = Outcome::stale}), Ids{"a"});
  EXPECT_EQ(ids({.event_source = "web"}), Ids{"b"});
  EXPECT_EQ(ids({.event_source = "shop"}), (Ids{"a", "c", "d"}));
  EXPECT_EQ(ids({.event_type = "refund"}), Ids{"c"});
  EXPECT_EQ(ids({.event_id = "b"}), Ids{"b"});
  EXPECT_EQ(ids({.since = at_second(50)}), Ids{"d"});
  EXPECT_EQ(ids({.since = at_second(51)}), Ids{});
  EXPECT_EQ(ids({.consumer = "billing", .event_source = "shop", .event_type = "refund"}), Ids{"c"});
}

TEST_P(RecordsContract, AListedRowIsTheEvidence) {
  Evidence row = evidence(key(1), std::string_view{"e\0\xff", 3}, {7});
  row.result = "receipt";
  row.entity = {};
  row.handled_by = {};
  record({row});
  const InboxPage page = records()->inbox({});
  ASSERT_EQ(page.records.size(), 1U);
  const InboxRecord& listed = page.records[0];
  const InboxRecord looked_up = records()->evidence(key(1)).value();
  EXPECT_EQ(listed.key, looked_up.key);
  EXPECT_EQ(listed.event_id, row.event_id);
  EXPECT_EQ(listed.event_id, looked_up.event_id);
  EXPECT_EQ(listed.event_source, looked_up.event_source);
  EXPECT_EQ(listed.event_type, looked_up.event_type);
  EXPECT_EQ(listed.event_time, looked_up.event_time);
  EXPECT_EQ(listed.entity, looked_up.entity);
  EXPECT_EQ(listed.handled_by, looked_up.handled_by);
  EXPECT_EQ(listed.fingerprint, looked_up.fingerprint);
  EXPECT_EQ(listed.result, looked_up.result);
  EXPECT_EQ(listed.recorded_at, looked_up.recorded_at);
}

TEST_P(RecordsContract, RowsAreCountedByTheirKind) {
  std::vector rows{evidence(key(1)), evidence(key(2)), evidence(key(3)), evidence(key(4))};
  rows[1].handled_by = "credit@2";
  rows[2].outcome = Outcome::dead;
  rows[2].waiting = true;
  record(rows);
  const auto rows_of = [](const InboxCounts& counts, const std::string& handled_by, Outcome outcome,
                          bool waiting) {
    std::int64_t sum = 0;
    for (const InboxCount& each : counts.counts) {
      if (each.consumer == "billing" && each.handled_by == handled_by && each.outcome == outcome &&
          each.waiting == waiting) {
        sum += each.rows;
      }
    }
    return sum;
  };
  const InboxCounts all = records()->count({});
  EXPECT_EQ(all.rows_read, 4);
  EXPECT_FALSE(all.next.has_value());
  EXPECT_EQ(all.counts.size(), 3U);
  EXPECT_EQ(rows_of(all, "credit@1", Outcome::applied, false), 2);
  EXPECT_EQ(rows_of(all, "credit@2", Outcome::applied, false), 1);
  EXPECT_EQ(rows_of(all, "credit@1", Outcome::dead, true), 1);
  const InboxCounts dead = records()->count({.outcome = Outcome::dead});
  EXPECT_EQ(dead.counts.size(), 1U);
  EXPECT_EQ(dead.rows_read, 4);
  InboxFilter piece;
  piece.rows_read_max = 3;
  const InboxCounts first = records()->count(piece);
  EXPECT_EQ(first.next, key(3));
  piece.after = first.next;
  const InboxCounts second = records()->count(piece);
  EXPECT_EQ(second.rows_read, 1);
  EXPECT_FALSE(second.next.has_value());
}

TEST_P(RecordsContract, DeferredRowsAreFilteredByTheirLastTime) {
  defer_conflicts(2);
  EXPECT_EQ(records()->deferred({.since = Timestamp{}}).size(), 2U);
  EXPECT_TRUE(records()->deferred({.since = at_second(1)}).empty());
}

}  // namespace
}  // namespace onefold::conformance
