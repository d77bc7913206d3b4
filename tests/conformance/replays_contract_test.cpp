#include "onefold/replays.h"

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

const Decision ada{.who = "ada", .reason = "the warehouse is back"};

/// Replays, and what a person decides about single events.
class ReplaysContract : public StoreContract {
 protected:
  std::int64_t set_aside(int number, DeferralReason reason, std::string_view handler = "credit") {
    commit([&](Transaction& transaction) {
      Evidence row = evidence(key(number));
      row.outcome = Outcome::dead;
      row.waiting = reason != DeferralReason::conflict;
      if (row.waiting) claim(transaction, row);
      Delivery delivery;
      delivery.event.id = "e" + std::to_string(number);
      delivery.event.headers = {{"trace", "1"}};
      delivery.raw = "raw";
      const std::vector<std::string> errors{"why"};
      const Deferral aside{.key = key(number),
                           .fingerprint = {9},
                           .consumer = consumer(),
                           .source = "orders",
                           .delivery = &delivery,
                           .reason = reason,
                           .failure = FailureClass::constraint,
                           .handler = handler,
                           .errors = errors,
                           .attempts = 3,
                           .recorded_at = at_second(5)};
      transaction.ledger().defer({&aside, 1});
    });
    return records()->deferred({.key = key(number)}).at(0).id;
  }
  StartedReplay start(const std::string& id, const DeferredFilter& filter = {},
                      std::vector<std::int64_t> ramp = {}, std::int64_t rate = 0) {
    return store().replays()->start({.id = id,
                                     .consumer = "billing",
                                     .filter = filter,
                                     .rate = rate,
                                     .ramp = std::move(ramp),
                                     .decision = ada});
  }
  ReplayRecord report(const std::string& id) { return store().replays()->list(id).at(0); }
  std::int64_t advance() { return store().replays()->advance(consumer()); }
  /// What the runtime does with one that is due.
  void settle(int number, bool applied) {
    const DeferredRecord row = records()->deferred({.key = key(number)}).at(0);
    const Waiting ticket{.id = row.id, .turn = row.turn, .key = row.key};
    const Waiting* const event = &ticket;
    commit([&](Transaction& transaction) {
      transaction.waiting_room().take({&event, 1});
      Evidence done = evidence(row.key);
      if (applied) {
        transaction.ledger().record({&done, 1}, ClaimMode::claim_first);
        transaction.waiting_room().leave({&row.id, 1});
      } else {
        const std::vector<std::string> errors{"why", "again"};
        Delivery delivery;
        const Deferral again{.key = row.key,
                             .consumer = consumer(),
                             .source = "orders",
                             .delivery = &delivery,
                             .reason = DeferralReason::dead,
                             .handler = "credit",
                             .errors = errors,
                             .attempts = 1,
                             .recorded_at = at_second(6),
                             .waiting = &ticket};
        transaction.ledger().defer({&again, 1});
      }
      const ReplayTally tally{row.replay, applied ? 1 : 0, applied ? 0 : 1};
      transaction.waiting_room().tally({&tally, 1});
    });
  }
  std::vector<int> due() {
    std::vector<int> numbers;
    for (const DeferredRecord& row : session().due({.consumer = consumer(), .limit = 100}).events) {
      numbers.push_back(row.key.bytes.back());
    }
    return numbers;
  }
  std::vector<std::string> actions() {
    std::vector<std::string> actions;
    for (const AuditRecord& row : audit()) actions.push_back(row.action);
    return actions;
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, ReplaysContract, testing::ValuesIn(all_stores()), name_of);

using Numbers = std::vector<int>;
using Texts = std::vector<std::string>;

TEST_P(ReplaysContract, OneEventIsMadeDueWithAllAttemptsBeforeIt) {
  const std::int64_t id = set_aside(1, DeferralReason::dead);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(decisions()->replay({&id, 1}, ada), std::vector{ReplayAnswer::due});
  EXPECT_EQ(due(), Numbers{1});
  const DeferredRecord row = records()->deferred({}).at(0);
  EXPECT_EQ(row.reason, "dead");
  EXPECT_EQ(row.attempts, 0);
  EXPECT_EQ(decisions()->replay({&id, 1}, ada), std::vector{ReplayAnswer::waiting});
  EXPECT_EQ(actions(), Texts{"replay"}) << "what changes nothing leaves no trace";
  EXPECT_NE(audit().at(0).detail.find("the warehouse is back"), std::string::npos);
}

TEST_P(ReplaysContract, ConflictsAndWhatIsGoneAreNotReplayed) {
  const std::vector<std::int64_t> ids{set_aside(1, DeferralReason::conflict),
                                      set_aside(2, DeferralReason::quarantine), 4711,
                                      set_aside(3, DeferralReason::retry)};
  EXPECT_EQ(decisions()->replay(ids, ada),
            (std::vector{ReplayAnswer::conflict, ReplayAnswer::due, ReplayAnswer::gone,
                         ReplayAnswer::waiting}));
}

TEST_P(ReplaysContract, APreviewCountsAndChangesNothing) {
  const std::int64_t first = set_aside(1, DeferralReason::dead);
  set_aside(2, DeferralReason::dead, "debit");
  set_aside(3, DeferralReason::conflict);
  const ReplayPreview preview = store().replays()->preview({.handler = "credit"});
  EXPECT_EQ(preview.selected, 1);
  EXPECT_EQ(preview.up_to, first);
  EXPECT_EQ(store().replays()->preview({}).selected, 2);
  EXPECT_EQ(store().replays()->preview({.handler = "none"}).selected, 0);
  EXPECT_TRUE(due().empty());
  EXPECT_TRUE(audit().empty());
}

TEST_P(ReplaysContract, AskingTwiceIsAskingOnce) {
  set_aside(1, DeferralReason::dead);
  const StartedReplay first = start("r1");
  EXPECT_TRUE(first.is_new);
  EXPECT_EQ(first.replay.selected, 1);
  EXPECT_EQ(first.replay.who, "ada");
  EXPECT_EQ(first.replay.state, ReplayState::running);
  const StartedReplay second = start("r2");
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(second.replay.id, "r1");
  EXPECT_TRUE(start("r3", {.handler = "credit"}).is_new) << "another filter";
  EXPECT_EQ(actions(), (Texts{"replay start", "replay start"}));
}

TEST_P(ReplaysContract, NobodyReplaysForAConsumerThatIsNotThere) {
  EXPECT_EQ(failure_of([&] {
              store().replays()->start({.id = "r", .consumer = "nobody", .decision = ada});
            }),
            ErrorKind::bad_configuration);
}

TEST_P(ReplaysContract, P9_WhatComesLaterIsNotPartOfIt) {
  set_aside(1, DeferralReason::dead);
  start("r1");
  set_aside(2, DeferralReason::dead);
  EXPECT_EQ(advance(), 1);
  EXPECT_EQ(due(), Numbers{1});
  EXPECT_EQ(records()->deferred({.key = key(1)}).at(0).replay, "r1");
}

TEST_P(ReplaysContract, ItIsDoneWhenAllIsSettledAndSaysWhatBecameOfIt) {
  for (const int number : {1, 2, 3}) set_aside(number, DeferralReason::dead);
  const std::int64_t left = records()->deferred({.key = key(3)}).at(0).id;
  start("r1");
  decisions()->discard({&left, 1}, ada);
  EXPECT_EQ(advance(), 2);
  EXPECT_EQ(advance(), 0);
  EXPECT_EQ(report("r1").state, ReplayState::running);
  settle(1, true);
  settle(2, false);
  EXPECT_EQ(advance(), 0);
  const ReplayRecord done = report("r1");
  EXPECT_EQ(done.state, ReplayState::done);
  EXPECT_TRUE(done.ended_at.has_value());
  EXPECT_EQ(done.selected, 3);
  EXPECT_EQ(done.due, 2);
  EXPECT_EQ(done.applied, 1);
  EXPECT_EQ(done.failed, 1);
  EXPECT_EQ(done.skipped(), 1);
  EXPECT_TRUE(start("r2").is_new) << "the first one has ended";
}

TEST_P(ReplaysContract, WhatAPersonSettlesMeanwhileIsGone) {
  const std::int64_t id = set_aside(1, DeferralReason::dead);
  start("r1");
  advance();
  decisions()->discard({&id, 1}, ada);
  advance();
  EXPECT_EQ(report("r1").gone, 1);
  EXPECT_EQ(report("r1").state, ReplayState::done);
}

TEST_P(ReplaysContract, ARampWaitsForWhatItHasMadeDue) {
  for (int number = 1; number <= 6; ++number) set_aside(number, DeferralReason::dead);
  start("r1", {}, {1, 2});
  EXPECT_EQ(advance(), 1);
  EXPECT_EQ(advance(), 0);
  settle(1, true);
  EXPECT_EQ(advance(), 2);
  settle(2, true);
  EXPECT_EQ(advance(), 0);
  settle(3, true);
  EXPECT_EQ(advance(), 3);
}

TEST_P(ReplaysContract, AFailureInTheRampPausesIt) {
  for (int number = 1; number <= 3; ++number) set_aside(number, DeferralReason::dead);
  start("r1", {}, {1});
  advance();
  settle(1, false);
  EXPECT_EQ(advance(), 0);
  EXPECT_EQ(report("r1").state, ReplayState::paused);
  EXPECT_NE(report("r1").note.find("1 of the first 1"), std::string::npos) << report("r1").note;
}

TEST_P(ReplaysContract, WhenItGoesOnWhatHasFailedInTheRampIsTriedAgain) {
  for (int number = 1; number <= 4; ++number) set_aside(number, DeferralReason::dead);
  start("r1", {}, {2});
  EXPECT_EQ(advance(), 2);
  settle(1, true);
  settle(2, false);
  advance();
  ASSERT_EQ(report("r1").state, ReplayState::paused);
  const auto resumed = store().replays()->change("r1", ReplayState::running, ada);
  EXPECT_EQ(resumed->note, "");
  EXPECT_EQ(advance(), 1);
  EXPECT_EQ(due(), Numbers{2}) << "it is the end of the first stage";
  settle(2, true);
  EXPECT_EQ(advance(), 2);
  settle(3, true);
  settle(4, true);
  advance();
  const ReplayRecord done = report("r1");
  EXPECT_EQ(done.state, ReplayState::done);
  EXPECT_EQ(done.applied, 4);
  EXPECT_EQ(done.failed, 0);
  EXPECT_EQ(done.skipped(), 0);
}

TEST_P(ReplaysContract, ARateIsKept) {
  if (GetParam().one_thread) return;  // The model has no clock.
  for (int number = 1; number <= 9; ++number) set_aside(number, DeferralReason::dead);
  start("r1", {}, {}, 4);
  EXPECT_EQ(advance(), 4) << "the first second's worth";
  EXPECT_LE(advance(), 1);
}

TEST_P(ReplaysContract, ItCanBePausedAndResumed) {
  for (const int number : {1, 2}) set_aside(number, DeferralReason::dead);
  start("r1");
  const auto replays = store().replays();
  EXPECT_EQ(replays->change("r1", ReplayState::paused, ada)->state, ReplayState::paused);
  EXPECT_EQ(advance(), 0);
  EXPECT_EQ(replays->change("r1", ReplayState::running, ada)->state, ReplayState::running);
  EXPECT_EQ(advance(), 2);
  EXPECT_EQ(actions(), (Texts{"replay start", "replay pause", "replay resume"}));
  EXPECT_FALSE(replays->change("r9", ReplayState::paused, ada).has_value());
}

TEST_P(ReplaysContract, ACancelledOneTakesBackWhatIsDue) {
  for (const int number : {1, 2, 3}) set_aside(number, DeferralReason::dead);
  start("r1");
  advance();
  settle(1, true);
  const auto cancelled = store().replays()->change("r1", ReplayState::cancelled, ada);
  EXPECT_EQ(cancelled->gone, 2);
  EXPECT_EQ(cancelled->applied, 1);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(store().replays()->change("r1", ReplayState::running, ada)->state,
            ReplayState::cancelled);
  EXPECT_EQ(advance(), 0);
}

TEST_P(ReplaysContract, TheNewestIsFirst) {
  start("r1", {.handler = "a"});
  start("r2", {.handler = "b"});
  const auto all = store().replays()->list({});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at(0).id, "r2");
  EXPECT_EQ(all.at(0).filter.handler, "b");
  EXPECT_EQ(all.at(0).filter.consumer, "billing");
  EXPECT_TRUE(store().replays()->list("r9").empty());
}

TEST_P(ReplaysContract, P9_AnEditedEventTakesTheOldOnesPlace) {
  const std::int64_t id = set_aside(1, DeferralReason::dead);
  const EditedEvent edited{.of = id, .raw = "new bytes", .key = key(7), .new_id = "e1-b"};
  EXPECT_TRUE(decisions()->edit(edited, ada));
  const auto rows = records()->deferred({});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.at(0).key, key(7));
  EXPECT_EQ(rows.at(0).raw, "new bytes");
  EXPECT_EQ(rows.at(0).source, "orders");
  EXPECT_EQ(rows.at(0).event.headers, (Headers{{"trace", "1"}}));
  EXPECT_FALSE(rows.at(0).decoded);
  EXPECT_EQ(due(), Numbers{7});
  EXPECT_FALSE(records()->evidence(key(1))->waiting);
  EXPECT_EQ(records()->evidence(key(1))->result, "edited: e1-b");
  EXPECT_TRUE(records()->evidence(key(7))->waiting);
  EXPECT_EQ(actions(), Texts{"edit"});
  EXPECT_FALSE(decisions()->edit(edited, ada)) << "it is gone";
}

TEST_P(ReplaysContract, P9_BytesThatWaitAlreadyAreNotEditedIntoAgain) {
  const std::int64_t id = set_aside(1, DeferralReason::dead);
  set_aside(7, DeferralReason::dead);
  EXPECT_FALSE(decisions()->edit({.of = id, .raw = "x", .key = key(7), .new_id = "e2"}, ada));
  EXPECT_TRUE(records()->evidence(key(1))->waiting);
  EXPECT_TRUE(audit().empty());
}

TEST_P(ReplaysContract, APersonEndsAPause) {
  EXPECT_FALSE(decisions()->resume("billing", ada));
  commit([&](Transaction& transaction) {
    transaction.waiting_room().pause({.consumer = consumer(), .who = "breaker", .reason = "many"});
  });
  EXPECT_TRUE(decisions()->resume("billing", ada));
  EXPECT_FALSE(session().pause(consumer()).has_value());
  EXPECT_EQ(actions(), Texts{"resume"});
  EXPECT_EQ(failure_of([&] { decisions()->resume("nobody", ada); }), ErrorKind::bad_configuration);
}

}  // namespace
}  // namespace onefold::conformance
