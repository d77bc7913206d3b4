#include "tests/faults/scripted_source.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace onefold::faults {
namespace {

using std::chrono::milliseconds;

std::vector<std::string> ids(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> ids;
  for (const Delivery& delivery : deliveries) ids.push_back(delivery.event.id);
  return ids;
}

void acknowledge(Source& source, const Delivery& delivery) {
  const Settled settled{&delivery, Outcome::applied, "ok"};
  source.acknowledge({&settled, 1});
}

using Ids = std::vector<std::string>;

TEST(ScriptedBroker, AQueueDeliversAgainWhatWasNotAcknowledged) {
  ScriptedBroker broker;
  for (const char* id : {"a", "b", "c"}) broker.add(event(id));
  auto source = broker.factory().open({});
  const auto received = source->receive(2, milliseconds{0});
  EXPECT_EQ(ids(received), (Ids{"a", "b"}));
  EXPECT_FALSE(source->at_end());
  acknowledge(*source, received[0]);
  EXPECT_EQ(ids(source->receive(9, milliseconds{0})), Ids{"c"});
  EXPECT_TRUE(source->at_end());
  source = broker.factory().open({});
  const auto again = source->receive(9, milliseconds{0});
  EXPECT_EQ(ids(again), (Ids{"b", "c"}));
  EXPECT_EQ(again[0].broker_attempt, 2);
  EXPECT_EQ(broker.unacknowledged(), 2U);
  ASSERT_EQ(broker.acknowledged().size(), 1U);
  EXPECT_EQ(broker.acknowledged()[0].event_id, "a");
  EXPECT_EQ(broker.acknowledged()[0].result, "ok");
}

TEST(ScriptedBroker, AQueueTakesBackWhatIsReleased) {
  ScriptedBroker broker;
  broker.add(event("a"));
  const auto source = broker.factory().open({});
  const auto received = source->receive(9, milliseconds{0});
  source->release(received, milliseconds{0});
  EXPECT_EQ(broker.released(), std::vector{received[0].receipt});
  EXPECT_EQ(ids(source->receive(9, milliseconds{0})), Ids{"a"});
}

TEST(ScriptedBroker, ALogStartsAtThePositionOfTheDatabase) {
  ScriptedBroker broker{"orders", SourceClass::owned_log};
  for (const char* id : {"a", "b", "c"}) broker.add(event(id));
  std::vector<Position> stored;
  auto source = broker.factory().open({.positions = [&] { return stored; }, .notify = {}});
  const auto received = source->receive(2, milliseconds{0});
  ASSERT_EQ(ids(received), (Ids{"a", "b"}));
  acknowledge(*source, received[0]);
  acknowledge(*source, received[1]);
  stored = {*received[0].position};
  source = broker.factory().open({.positions = [&] { return stored; }, .notify = {}});
  EXPECT_EQ(ids(source->receive(9, milliseconds{0})), (Ids{"b", "c"}));
  source->reposition();
  EXPECT_EQ(ids(source->receive(9, milliseconds{0})), (Ids{"b", "c"}));
  EXPECT_EQ(broker.opened(), 2);
  EXPECT_EQ(broker.repositioned(), 1);
}

TEST(ScriptedBroker, B16_ALogCreatedAnewIsReadFromItsStart) {
  ScriptedBroker broker{"orders", SourceClass::owned_log};
  broker.add(event("a"));
  std::vector<Position> stored{{broker.partition(), {0, 0}, {0, 1}}};
  broker.recreate("second");
  broker.add(event("b"));
  const auto source = broker.factory().open({.positions = [&] { return stored; }, .notify = {}});
  EXPECT_EQ(ids(source->receive(9, milliseconds{0})), Ids{"b"});
}

TEST(ScriptedBroker, ReceivingAndAcknowledgingFailOnDemand) {
  ScriptedBroker broker;
  broker.add(event("a"));
  broker.fail_receive(Error{ErrorKind::unavailable, "gone"});
  broker.fail_acknowledge(Error{ErrorKind::unavailable, "gone"});
  const auto source = broker.factory().open({});
  EXPECT_THROW(source->receive(9, milliseconds{0}), Error);
  const auto received = source->receive(9, milliseconds{0});
  EXPECT_THROW(acknowledge(*source, received[0]), Error);
  EXPECT_EQ(broker.unacknowledged(), 1U);
  acknowledge(*source, received[0]);
  EXPECT_EQ(broker.unacknowledged(), 0U);
}

TEST(ScriptedBroker, OnlyWhatASourceHasInHandCanBeAcknowledged) {
  ScriptedBroker broker;
  broker.add(undecodable("{"));
  const auto before = broker.factory().open({});
  const auto received = before->receive(9, milliseconds{0});
  const auto source = broker.factory().open({});
  EXPECT_THROW(acknowledge(*source, received[0]), std::logic_error);
}

}  // namespace
}  // namespace onefold::faults
