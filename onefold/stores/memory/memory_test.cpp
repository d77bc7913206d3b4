#include "onefold/stores/memory/memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "onefold/error.h"
#include "onefold/housekeeping.h"

namespace onefold::memory {
namespace {

/// What only the model can do: the contract that it shares with all stores is in
/// tests/conformance.
class MemoryModel : public testing::Test {
 protected:
  static Key key(int number) {
    Key key{1, {}};
    key.bytes.back() = static_cast<std::uint8_t>(number);
    return key;
  }
  static ClaimState claim(Transaction& transaction, int number) {
    Evidence evidence;
    evidence.key = key(number);
    return transaction.ledger().claim({&evidence, 1}, ClaimMode::claim_first).at(0).state;
  }
  static std::int64_t add(Transaction& transaction, const std::string& name, std::int64_t amount) {
    return transaction.statements().change(
        "UPDATE cell SET amount = amount + :amount WHERE name = :name",
        {{"name", name}, {"amount", amount}});
  }
  /// The session that a call is blocked by; 0 if it is not.
  static int holder_for(const std::function<void()>& call) {
    try {
      call();
    } catch (const Blocked& blocked) {
      return blocked.holder;
    }
    return 0;
  }

  std::unique_ptr<Model> model_ = open_model();
  std::unique_ptr<Session> first_ = model_->connect();
  std::unique_ptr<Session> second_ = model_->connect();
};

TEST_F(MemoryModel, B03_ABlockedCallNamesTheHolderAndHasWrittenNothing) {
  auto holder = second_->begin();
  claim(*holder, 2);
  const auto waiter = first_->begin();
  std::vector<Evidence> wanted(3);
  for (int i = 0; i < 3; ++i) wanted[static_cast<std::size_t>(i)].key = key(i + 1);
  EXPECT_EQ(holder_for([&] { waiter->ledger().claim(wanted, ClaimMode::claim_first); }), 2);
  const auto other = model_->connect();
  const auto third = other->begin();
  EXPECT_EQ(claim(*third, 1), ClaimState::fresh);
  EXPECT_EQ(claim(*third, 3), ClaimState::fresh);
}

TEST_F(MemoryModel, ABlockedTransactionIsNotPoisoned) {
  auto holder = second_->begin();
  claim(*holder, 1);
  const auto waiter = first_->begin();
  EXPECT_EQ(holder_for([&] { claim(*waiter, 1); }), 2);
  EXPECT_EQ(claim(*waiter, 2), ClaimState::fresh);
  holder.reset();
  EXPECT_EQ(claim(*waiter, 1), ClaimState::fresh);
  EXPECT_EQ(waiter->commit(), CommitResult::committed);
}

TEST_F(MemoryModel, UndoTakesBackTheStepAndKeepsWhatCameBefore) {
  model_->put("a", 1);
  const auto transaction = first_->begin();
  add(*transaction, "a", 10);
  model_->mark_step(1);
  add(*transaction, "a", 100);
  claim(*transaction, 1);
  model_->undo_step(1, Redo::all);
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  EXPECT_EQ(model_->cells(), (Cells{{"a", 11}}));
}

TEST_F(MemoryModel, UndoTakesBackThePoisonAndTheSavepointOfTheStep) {
  const auto transaction = first_->begin();
  model_->mark_step(1);
  transaction->savepoint();
  EXPECT_THROW(transaction->statements().query("NO SUCH STATEMENT", {}), Error);
  EXPECT_THROW(claim(*transaction, 1), Error);
  model_->undo_step(1, Redo::all);
  EXPECT_THROW(transaction->rollback_to_savepoint(), std::logic_error);
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
}

TEST_F(MemoryModel, AStepThatGoesOnInItsMiddleKeepsWhatItHadRead) {
  model_->put("a", 1);
  const auto holder = second_->begin();
  add(*holder, "a", 10);
  const auto waiter = first_->begin();
  // Reads, then writes what it has computed: its lock comes too late.
  const auto step = [&] {
    model_->mark_step(1);
    Statements& sql = waiter->statements();
    const auto rows = sql.query("SELECT amount FROM cell WHERE name = :name", {{"name", "a"}});
    sql.execute("UPDATE cell SET amount = :amount WHERE name = :name",
                {{"name", "a"}, {"amount", std::get<std::int64_t>(rows[0][0]) + 100}}, 1);
  };
  EXPECT_EQ(holder_for(step), 2);
  model_->undo_step(1, Redo::rest);
  EXPECT_EQ(holder->commit(), CommitResult::committed);
  step();
  EXPECT_EQ(waiter->commit(), CommitResult::committed);
  EXPECT_EQ(model_->cells(), (Cells{{"a", 101}}));
}

TEST_F(MemoryModel, WithoutATransactionThereIsNothingToMarkOrUndo) {
  model_->mark_step(1);
  model_->undo_step(1, Redo::all);
  const auto transaction = first_->begin();
  EXPECT_THROW(model_->undo_step(1, Redo::all), std::logic_error);
}

TEST_F(MemoryModel, ACircleOfThreeWaitersIsContention) {
  for (const char* name : {"a", "b", "c"}) model_->put(name, 0);
  const auto third_session = model_->connect();
  const auto first = first_->begin();
  const auto second = second_->begin();
  auto third = third_session->begin();
  add(*first, "a", 1);
  add(*second, "b", 1);
  add(*third, "c", 1);
  EXPECT_EQ(holder_for([&] { add(*first, "b", 1); }), 2);
  EXPECT_EQ(holder_for([&] { add(*second, "c", 1); }), 3);
  try {
    add(*third, "a", 1);
    FAIL() << "the circle was not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::contention);
  }
  third.reset();
  EXPECT_EQ(add(*second, "c", 1), 1);
}

TEST_F(MemoryModel, ARowThatARivalHasInsertedIsWaitedForByAnUpdateToo) {
  const auto holder = second_->begin();
  holder->statements().change("INSERT INTO cell (name, amount) VALUES (:name, :amount)",
                              {{"name", std::string{"a"}}, {"amount", std::int64_t{1}}});
  const auto waiter = first_->begin();
  EXPECT_EQ(holder_for([&] { add(*waiter, "a", 1); }), 2);
}

TEST_F(MemoryModel, ScopesAndRulesWaitForTheRowOfTheirConsumer) {
  const auto housekeeping = model_->housekeeping();
  const ConsumerId consumer = housekeeping->adopt({"billing", "a = b\n"}, {});
  auto holder = second_->begin();
  holder->ledger().advance(consumer, {});
  EXPECT_EQ(holder_for([&] { first_->scope({consumer, {}, "shop", "uuid"}); }), 2);
  EXPECT_EQ(holder_for([&] { housekeeping->adopt({"billing", "a = b\n"}, {}); }), 2);
  holder.reset();
  EXPECT_TRUE(first_->scope({consumer, {}, "shop", "uuid"}).has_value());
}

TEST_F(MemoryModel, AnUnknownConsumerGetsNoScope) {
  try {
    first_->scope({17, {}, "shop", "uuid"});
    FAIL() << "a scope without a consumer";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
  }
}

TEST_F(MemoryModel, TheSchemaIsMissingUntilMigrated) {
  EXPECT_THROW(model_->housekeeping()->check_schema(), Error);
  EXPECT_TRUE(model_->housekeeping()->migrate().at(0).applied_now);
  EXPECT_NO_THROW(model_->housekeeping()->check_schema());
}

TEST_F(MemoryModel, ARestoreTakesBackCommitsAndBreaksSessions) {
  model_->put("a", 1);
  const auto backup = model_->snapshot();
  const auto transaction = first_->begin();
  claim(*transaction, 1);
  add(*transaction, "a", 1);
  EXPECT_EQ(transaction->commit(), CommitResult::committed);
  const auto open = second_->begin();
  model_->restore(backup);
  EXPECT_EQ(model_->cells(), (Cells{{"a", 1}}));
  EXPECT_FALSE(model_->records()->evidence(key(1)).has_value());
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { first_->begin(); }, [&] { open->commit(); },
                                          [&] { second_->positions(1, "s"); }}) {
    try {
      call();
      ADD_FAILURE() << "a session of the lost database went on";
    } catch (const Error& error) {
      EXPECT_TRUE(error.needs_reconnect());
    }
  }
  EXPECT_EQ(claim(*model_->connect()->begin(), 1), ClaimState::fresh);
}

TEST_F(MemoryModel, ATransactionDoesNotOutliveItsSession) {
  model_->put("a", 1);
  const auto transaction = first_->begin();
  add(*transaction, "a", 1);
  first_.reset();
  EXPECT_THROW(transaction->commit(), Error);
  EXPECT_EQ(model_->cells(), (Cells{{"a", 1}}));
  EXPECT_EQ(add(*second_->begin(), "a", 1), 1);
}

TEST_F(MemoryModel, MisuseIsALogicError) {
  const auto transaction = first_->begin();
  EXPECT_THROW(first_->begin(), std::logic_error);
  EXPECT_THROW(first_->scope({1, {}, "shop", "uuid"}), std::logic_error);
  EXPECT_THROW(transaction->rollback_to_savepoint(), std::logic_error);
  Evidence unclaimed;
  EXPECT_THROW(transaction->ledger().record({&unclaimed, 1}, ClaimMode::claim_first),
               std::logic_error);
  const Delivery delivery;
  Deferral unheld;
  unheld.delivery = &delivery;
  EXPECT_THROW(transaction->ledger().defer({&unheld, 1}), std::logic_error);
}

TEST_F(MemoryModel, ASumBeyond64BitsIsPermanent) {
  model_->put("a", INT64_MAX);
  try {
    add(*first_->begin(), "a", 1);
    FAIL() << "the sum was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::permanent);
  }
}

TEST(PipelinedMemoryModel, AFailureOfExecuteSurfacesAtTheNextCall) {
  const auto model = open_model({.late_errors = true});
  const auto session = model->connect();
  const auto transaction = session->begin();
  EXPECT_NO_THROW(transaction->statements().execute("NO SUCH STATEMENT", {}));
  EXPECT_THROW(transaction->savepoint(), Error);
  EXPECT_THROW(transaction->commit(), Error);
}

TEST(MemoryModelOptions, TheLimitOfSourcesCanBeMadeSmall) {
  const auto model = open_model({.sources_max = 1});
  const ConsumerId consumer = model->housekeeping()->adopt({"billing", ""}, {});
  const auto session = model->connect();
  EXPECT_TRUE(session->scope({consumer, {}, "shop", "uuid"}).has_value());
  EXPECT_FALSE(session->scope({consumer, {}, "other", "uuid"}).has_value());
}

}  // namespace
}  // namespace onefold::memory
