// Handlers that take several events in one call.

#include <gtest/gtest.h>

#include "onefold/runtime/test_world.h"

namespace onefold {
namespace {

using test::payment;
using Calls = std::vector<std::vector<std::string>>;

/// Adds 10 for each event in one statement a cell, and refuses what belongs to no cell.
class BatchHandlerTest : public test::BothWays {
 protected:
  void SetUp() override {
    world.consumer.handlers.clear();
    world.consumer.on(
        {.name = "add", .type = "payment", .handle_batch = [this](auto events, auto& context) {
           return add(events, context);
         }});
    for (const char* id : {"e1", "e2", "e1", "e3"}) world.broker.add(payment(id));
  }

  std::vector<Answer> add(std::span<const Event* const> events, Context& context) {
    calls.emplace_back();
    std::map<std::string, std::int64_t> sums;
    for (const Event* event : events) {
      calls.back().push_back(event->id);
      sums[event->subject] += 10;
    }
    for (const auto& [cell, sum] : sums) {
      context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                            {{"amount", sum}, {"name", cell}}, 1);
    }
    std::vector<Answer> answers;
    for (const Event* event : events) answers.push_back(Answer::done("did " + event->id));
    return answers;
  }

  Calls calls;
};
INSTANTIATE_TEST_SUITE_P(Sources, BatchHandlerTest, test::both_ways, test::way);

TEST_P(BatchHandlerTest, OneCallForAllFreshEventsOfABatch) {
  world.run_once();
  EXPECT_EQ(calls, (Calls{{"e1", "e2", "e3"}}));
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.count(Outcome::applied), 3);
  EXPECT_EQ(world.count(Outcome::duplicate), 1);
  for (const InboxRecord& row : world.model->records()->inbox({}).records) {
    EXPECT_EQ(row.result, "did " + row.event_id);
    EXPECT_EQ(row.handled_by, "add@1");
  }
}

TEST_P(BatchHandlerTest, ExactlyTheFailingEventIsSetAside) {
  world.broker.add(payment("bad", "no such cell"));
  world.broker.add(payment("e4", "B"));
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.cell("B"), 10);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].event.id, "bad");
  EXPECT_EQ(calls.size(), 6U);  // All together once, then each alone.
}

TEST_P(BatchHandlerTest, AnAnswerForEachEventAndARefusalIsThatEventsAlone) {
  world.consumer.handlers[0].handle_batch = [this](auto events, auto& context) {
    std::vector<Answer> answers = add(events, context);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i]->id == "e2") answers[i] = Answer::reject("not this one");
    }
    return answers;
  };
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].errors, std::vector<std::string>{"add: not this one"});
}

TEST_P(BatchHandlerTest, NoAnswersMeansAllAreDone) {
  world.consumer.handlers[0].handle_batch = [this](auto events, auto& context) {
    add(events, context);
    return std::vector<Answer>{};
  };
  world.run_once();
  EXPECT_EQ(world.cell("A"), 30);
  EXPECT_EQ(world.count(Outcome::applied), 3);
}

TEST_P(BatchHandlerTest, AnotherNumberOfAnswersStopsTheConsumerAndLosesNothing) {
  world.consumer.handlers[0].handle_batch = [this](auto events, auto& context) {
    add(events, context);
    return std::vector<Answer>(events.size() + 1);
  };
  try {
    world.run_once();
    FAIL() << "the consumer goes on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
    EXPECT_NE(std::string{error.what()}.find("handler 'add' gave 4 answers for 3 events"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(world.cell("A"), 0);
  EXPECT_EQ(world.model->records()->inbox({}).records.size(), 0U);
}

TEST_P(BatchHandlerTest, AThrowOfAnyKindIsFoundOutAlone) {
  world.consumer.handlers[0].handle_batch = [this](auto events, auto& context) {
    const bool bad = std::ranges::any_of(events, [](const Event* e) { return e->id == "e2"; });
    auto answers = add(events, context);
    if (bad) throw std::runtime_error{"e2 is among them"};
    return answers;
  };
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].reason, "retry");
  EXPECT_EQ(world.deferred()[0].attempts, 1);
}

TEST_P(BatchHandlerTest, OrderIsKeptBetweenHandlers) {
  std::vector<std::string> order;
  world.consumer.handlers[0].handle_batch = [&](auto events, auto&) {
    std::string ids;
    for (const Event* event : events) ids += event->id + " ";
    order.push_back(ids);
    return std::vector<Answer>{};
  };
  world.consumer.on("refund", [&](const Event& event, Context&) {
    order.push_back(event.id);
    return Answer::done();
  });
  world.broker.add(faults::event("r1", "{}", "refund"));
  world.broker.add(payment("e4"));
  world.run_once();
  EXPECT_EQ(order, (std::vector<std::string>{"e1 e2 e3 ", "r1", "e4 "}));
}

TEST_P(BatchHandlerTest, BesideAnotherHandlerOfTheSameEventItGetsEachAlone) {
  world.consumer.on("payment", test::add_ten);
  world.run_once();
  EXPECT_EQ(world.cell("A"), 60);
  EXPECT_EQ(calls, (Calls{{"e1"}, {"e2"}, {"e3"}}));
}

TEST_P(BatchHandlerTest, ASwallowedErrorIsNobodyElsesFault) {
  world.consumer.handlers[0].handle_batch = [this](auto events, auto& context) {
    auto answers = add(events, context);
    if (events.front()->id == "e1") {
      // Kept to itself.
      EXPECT_THROW(context.sql().query("SELECT nonsense", {}), Error);
    }
    return answers;
  };
  world.run_once();
  EXPECT_EQ(world.cell("A"), 20);
  ASSERT_EQ(world.deferred().size(), 1U);
  EXPECT_EQ(world.deferred()[0].event.id, "e1");
}

}  // namespace
}  // namespace onefold
