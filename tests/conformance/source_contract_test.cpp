#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"
#include "tests/conformance/source_contract.h"

namespace onefold::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Texts = std::vector<std::string>;

std::string text_of(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"paid"})";
}

Texts texts(int count) {
  Texts result;
  for (int i = 1; i <= count; ++i) result.push_back(text_of(std::to_string(i)));
  return result;
}

/// "1", "2", ... "count".
Texts numbers(int first, int last) {
  Texts result;
  for (int i = first; i <= last; ++i) result.push_back(std::to_string(i));
  return result;
}

Texts ids(const std::vector<Delivery>& deliveries) {
  Texts result;
  for (const Delivery& delivery : deliveries) result.push_back(delivery.event.id);
  return result;
}

class Subscription {
 public:
  explicit Subscription(const SourceCase& source) : rig_{source.make()} {}

  void publish(const Texts& published) { rig_->publish(published); }
  SourceFactory factory() { return rig_->factory(); }
  void open() {
    source_.reset();
    source_ = rig_->factory().open(
        {.positions = [this] { return look_up(); }, .notify = [](const Notice&) {}});
  }
  Source& source() { return *source_; }
  std::vector<Delivery> receive(std::size_t limit) {
    return source_->receive(limit, milliseconds{100});
  }
  std::vector<Delivery> drain(std::size_t limit = 100) {
    std::vector<Delivery> all;
    const auto deadline = steady_clock::now() + std::chrono::seconds{30};
    do {
      for (Delivery& delivery : receive(limit)) all.push_back(std::move(delivery));
    } while (!source_->at_end() && steady_clock::now() < deadline);
    return all;
  }
  /// What a store does: one position per partition, forward only.
  void commit(const std::vector<Delivery>& deliveries) {
    for (const Delivery& delivery : deliveries) {
      const Position& reached = delivery.position.value();
      Position& stored = stored_[*reached.partition];
      if (reached.next > stored.next) stored = {nullptr, reached.next, reached.next, reached.mark};
    }
  }
  int look_ups_that_fail = 0;

 private:
  std::vector<Position> look_up() {
    if (look_ups_that_fail-- > 0) throw Error{ErrorKind::unavailable, "the database is away"};
    std::vector<Position> result;
    for (const auto& [partition, position] : stored_) {
      result.push_back(position);
      result.back().partition = std::make_shared<const Partition>(partition);
    }
    return result;
  }
  std::unique_ptr<SourceRig> rig_;
  std::unique_ptr<Source> source_;
  std::map<Partition, Position> stored_;
};

class Contract : public testing::TestWithParam<SourceCase> {
 protected:
  Subscription subscription{GetParam()};
};
class SourceContract : public Contract {};
class OwnedLogContract : public Contract {};

TEST_P(SourceContract, TheFactoryAndTheSourceSayTheSame) {
  subscription.open();
  const SourceTraits expected = GetParam().traits;
  for (const SourceTraits& traits :
       {subscription.factory().traits, subscription.source().traits()}) {
    EXPECT_EQ(traits.kind, expected.kind);
    EXPECT_EQ(traits.ordered, expected.ordered);
    EXPECT_EQ(traits.can_delay, expected.can_delay);
  }
  EXPECT_EQ(subscription.factory().name, "orders");
  EXPECT_FALSE(subscription.factory().identity.empty());
}

TEST_P(SourceContract, EverythingIsDeliveredWithItsBytes) {
  subscription.publish(texts(50));
  subscription.open();
  auto deliveries = subscription.drain(7);
  if (!GetParam().traits.ordered) {
    std::ranges::sort(deliveries, {}, [](const Delivery& one) { return std::stoi(one.event.id); });
  }
  ASSERT_EQ(ids(deliveries), numbers(1, 50));
  for (const Delivery& delivery : deliveries) {
    EXPECT_EQ(delivery.raw, text_of(delivery.event.id));
    EXPECT_EQ(delivery.event.source, "shop");
    EXPECT_EQ(delivery.event.type, "paid");
    EXPECT_EQ(delivery.defect, "");
    EXPECT_GE(delivery.broker_attempt, 1);
  }
  EXPECT_TRUE(subscription.source().at_end());
}

TEST_P(SourceContract, ALimitIsKept) {
  subscription.publish(texts(5));
  subscription.open();
  const auto first = subscription.receive(2);
  EXPECT_LE(first.size(), 2U);
  EXPECT_FALSE(subscription.source().at_end());
  EXPECT_EQ(first.size() + subscription.drain(1).size(), 5U);
}

TEST_P(SourceContract, ALimitOfZeroReturnsNothingAndLosesNothing) {
  subscription.publish(texts(3));
  subscription.open();
  EXPECT_TRUE(subscription.receive(0).empty());
  EXPECT_FALSE(subscription.source().at_end());
  EXPECT_EQ(subscription.drain().size(), 3U);
  EXPECT_TRUE(subscription.receive(0).empty());
  EXPECT_TRUE(subscription.source().at_end());
}

TEST_P(SourceContract, PatienceEnds) {
  subscription.publish({text_of("1")});
  subscription.open();
  subscription.drain();
  const auto start = steady_clock::now();
  EXPECT_TRUE(subscription.source().receive(10, milliseconds{30}).empty());
  // Not at once, which would keep a core busy; and not for ever.
  EXPECT_GE(steady_clock::now() - start, milliseconds{30});
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds{20});
}

TEST_P(SourceContract, WhatCannotBeDecodedIsDeliveredToo) {
  const Texts bad{R"({"id":nul})", R"({"type":"paid"})", "[1]", R"({"id":"","type":"paid"})"};
  Texts published{text_of("1")};
  for (const std::string& text : bad) published.push_back(text);
  published.push_back(text_of("2"));
  subscription.publish(published);
  subscription.open();
  const auto deliveries = subscription.drain();
  ASSERT_EQ(deliveries.size(), published.size());
  for (const Delivery& delivery : deliveries) {
    const bool is_bad = std::ranges::find(bad, delivery.raw) != bad.end();
    EXPECT_EQ(!delivery.defect.empty(), is_bad) << delivery.raw;
    EXPECT_TRUE(!is_bad || delivery.defect.find(": ") != std::string::npos) << delivery.defect;
  }
}

TEST_P(SourceContract, OnlyLogsHavePositions) {
  subscription.publish({text_of("1"), "[]", text_of("2")});
  subscription.open();
  for (const Delivery& delivery : subscription.drain()) {
    EXPECT_EQ(delivery.position.has_value(), GetParam().traits.kind != SourceClass::queue);
  }
}

TEST_P(SourceContract, AcknowledgedEventsDoNotComeAgain) {
  subscription.publish(texts(4));
  subscription.open();
  const auto first = subscription.receive(2);
  std::vector<Settled> settled;
  for (const Delivery& delivery : first) settled.push_back({&delivery, Outcome::applied, {}});
  subscription.source().acknowledge(settled);
  const auto rest = ids(subscription.drain());
  EXPECT_EQ(rest.size() + first.size(), 4U);
  for (const std::string& id : ids(first)) EXPECT_EQ(std::ranges::count(rest, id), 0);
}

TEST_P(OwnedLogContract, PositionsGoForwardWithinTheirPartition) {
  subscription.publish({text_of("1"), "[]", text_of("2"), text_of("3")});
  subscription.open();
  std::map<Partition, Offset> reached;
  for (const Delivery& delivery : subscription.drain(2)) {
    const Position& position = delivery.position.value();
    ASSERT_NE(position.partition, nullptr);
    EXPECT_EQ(position.partition->source, "orders");
    EXPECT_LT(position.at, position.next);
    EXPECT_GE(position.at, reached[*position.partition]);
    reached[*position.partition] = position.next;
  }
}

TEST_P(OwnedLogContract, ReadingStartsAtTheCommittedPosition) {
  const int count = 9;
  subscription.publish(texts(count));
  for (int done = 0; done <= count; ++done) {
    subscription.open();
    EXPECT_EQ(ids(subscription.drain()), numbers(done + 1, count));
    subscription.open();
    subscription.commit(subscription.receive(1));
  }
}

TEST_P(OwnedLogContract, RepositionForgetsWhatWasHandedOut) {
  subscription.publish(texts(6));
  subscription.open();
  subscription.commit(subscription.receive(2));
  EXPECT_EQ(ids(subscription.receive(2)), numbers(3, 4));
  subscription.source().reposition();
  EXPECT_FALSE(subscription.source().at_end());
  EXPECT_EQ(ids(subscription.drain()), numbers(3, 6));
  subscription.source().reposition();
  EXPECT_EQ(ids(subscription.drain()), numbers(3, 6));
}

TEST_P(OwnedLogContract, ReleasedEventsComeAgainAfterRepositionAndNotTwice) {
  subscription.publish(texts(3));
  subscription.open();
  const auto all = subscription.drain();
  subscription.source().release(all, milliseconds{0});
  subscription.source().reposition();
  EXPECT_EQ(ids(subscription.drain()), numbers(1, 3));
}

TEST_P(OwnedLogContract, AFailedLookUpSkipsNothing) {
  subscription.publish(texts(3));
  subscription.look_ups_that_fail = 1;
  try {
    subscription.open();
    subscription.receive(10);
    FAIL() << "the failure of the database was swallowed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  }
  subscription.open();
  EXPECT_EQ(ids(subscription.drain()), numbers(1, 3));
}

std::string name_of(const testing::TestParamInfo<SourceCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Brokers, SourceContract, testing::ValuesIn(sources()), name_of);
INSTANTIATE_TEST_SUITE_P(Brokers, OwnedLogContract, testing::ValuesIn(owned_logs()), name_of);

}  // namespace
}  // namespace onefold::contract
