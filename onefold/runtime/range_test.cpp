#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"
#include "onefold/runtime/range_source.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"
#include "onefold/stores/memory/memory.h"

// Replays of a range of a source, with a worker that this test steps by hand.

namespace onefold {
namespace {

using std::chrono::milliseconds;

/// A log of numbered events in one partition; each takes ten bytes.
class Log final : public Source {
 public:
  Log(int count, SourceContext context) : count_{count}, context_{std::move(context)} {}
  std::vector<Delivery> receive(std::size_t limit, milliseconds /*patience*/) override {
    if (!at_) begin();
    std::vector<Delivery> deliveries;
    while (deliveries.size() < limit && *at_ < static_cast<std::uint64_t>(count_) * 10) {
      Delivery delivery;
      delivery.event.id = "e" + std::to_string(*at_ / 10);
      delivery.event.source = "shop";
      delivery.event.type = "t";
      delivery.position = Position{partition_, {0, *at_}, {0, *at_ + 10}};
      deliveries.push_back(std::move(delivery));
      *at_ += 10;
    }
    return deliveries;
  }
  void acknowledge(std::span<const Settled> /*settled*/) override {}
  void release(std::span<const Delivery> /*deliveries*/, milliseconds /*delay*/) override {}
  void reposition() override { at_.reset(); }
  bool at_end() const override { return at_ == static_cast<std::uint64_t>(count_) * 10; }
  SourceTraits traits() const override { return {.kind = SourceClass::owned_log}; }

 private:
  void begin() {
    at_ = 0;
    for (const Position& position : context_.positions()) {
      EXPECT_EQ(position.partition->source, "orders");
      EXPECT_EQ(position.partition->incarnation, "second");
      at_ = position.next.low;
    }
  }

  int count_;
  SourceContext context_;
  std::shared_ptr<const Partition> partition_ =
      std::make_shared<const Partition>(Partition{"orders", "second", ""});
  std::optional<std::uint64_t> at_;
};

class RangeTest : public testing::Test {
 protected:
  RangeTest() {
    billing_.batch_max = 4;
    billing_.on("t", [this](const Event& event, Context&) {
      if (event.id == broken_) return Answer::reject("broken");
      applied_.push_back(event.id);
      return Answer::done();
    });
    id_ = store_->housekeeping()->adopt(
        {.name = "billing", .rules = rules_of(billing_, {}), .mode = ClaimMode::claim_first}, {});
  }

  SourceFactory log(int count) const {
    SourceFactory factory;
    factory.name = "orders";
    factory.traits = {.kind = SourceClass::owned_log};
    factory.open = [count](SourceContext context) {
      return std::make_unique<Log>(count, std::move(context));
    };
    return factory;
  }
  /// The consumer's own way through the first `count` events.
  void read(int count) {
    Connection connection{*store_};
    const Subscription subscription{
        .consumer = billing_, .id = id_, .source = log(count), .id_prefixes = {}};
    Worker worker{subscription, connection, system_clock(), {}};
    while (!worker.at_end()) worker.step();
  }
  ReplayRecord start(SourceRange range, std::vector<std::int64_t> ramp = {}) {
    range.source = "orders";
    return replays_
        ->start({.id = "r1",
                 .consumer = "billing",
                 .range = range,
                 .ramp = std::move(ramp),
                 .decision = {.who = "ada", .reason = "a backup"}})
        .replay;
  }
  ReplayRecord report() { return replays_->list("r1").at(0); }

  /// A process that drives the replay.
  struct Driver {
    Driver(RangeTest& test, const ReplayRecord& replay, int count)
        : connection{*test.store_},
          subscription{.consumer = test.billing_,
                       .id = test.id_,
                       .source = range_source(
                           test.log(count), replay.range,
                           [&test] { return std::optional{test.report()}; }, system_clock(), ended),
                       .id_prefixes = {},
                       .replay = std::make_shared<const ReplayRecord>(replay)},
          worker{subscription, connection, system_clock(), {}} {}
    bool batch() {
      StepResult result = worker.step();
      const bool had_one = result == StepResult::progressed;
      while (result == StepResult::progressed && !worker.at_rest()) result = worker.step();
      return had_one;
    }
    void until(Step step) {
      do worker.step();
      while (worker.next() != step);
    }
    std::shared_ptr<bool> ended = std::make_shared<bool>(false);
    Connection connection;
    Subscription subscription;
    Worker worker;
  };

  std::unique_ptr<Store> store_ = memory::open_model();
  std::unique_ptr<Replays> replays_ = store_->replays();
  Consumer billing_{.name = "billing"};
  ConsumerId id_ = 0;
  std::string broken_;
  std::vector<std::string> applied_;
};

TEST_F(RangeTest, P9_WhatWasAppliedIsADuplicateAndTheConsumersPositionStays) {
  read(6);
  applied_.clear();
  Driver driver{*this, start({}), 9};
  while (driver.batch()) {
  }
  EXPECT_TRUE(*driver.ended);
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(report().due, 6) << "what came later is outside";
  EXPECT_EQ(report().duplicate, 6);
  const auto session = store_->connect();
  EXPECT_EQ(session->positions(id_, "orders").at(0).next.low, 60U);
  EXPECT_EQ(session->positions(id_, "replay:r1").at(0).next.low, 60U);
}

TEST_F(RangeTest, OnlyWhatLiesInTheRangeIsReadAgain) {
  read(6);
  Driver driver{*this, start({.from = 15, .to = 40}), 6};
  while (driver.batch()) {
  }
  EXPECT_EQ(report().due, 2) << "those at 20 and at 30";
  EXPECT_TRUE(*driver.ended);
}

TEST_F(RangeTest, P9_WhoeverIsKilledTheReportIsTrue) {
  read(10);
  const ReplayRecord replay = start({});
  {
    Driver killed{*this, replay, 10};
    killed.batch();
    killed.until(Step::commit);  // And no further.
  }
  EXPECT_EQ(report().due, 4);
  {
    Driver killed{*this, replay, 10};
    killed.until(Step::acknowledge);  // The COMMIT has worked.
  }
  EXPECT_EQ(report().due, 8);
  Driver driver{*this, replay, 10};
  while (driver.batch()) {
  }
  EXPECT_EQ(report().due, 10);
  EXPECT_EQ(report().duplicate, 10);
}

TEST_F(RangeTest, P9_TwoThatDriveItCountEachDeliveryOnce) {
  read(8);
  const ReplayRecord replay = start({});
  Driver one{*this, replay, 8};
  Driver other{*this, replay, 8};
  other.until(Step::identify);
  EXPECT_TRUE(one.batch());
  EXPECT_EQ(report().due, 4);
  other.batch();  // Of the same four: the positions have moved.
  EXPECT_EQ(report().due, 4);
  while (one.batch()) {
  }
  EXPECT_EQ(report().due, 8);
}

TEST_F(RangeTest, TheRampStopsAtAFailureAndGoesOnWhenAPersonSaysSo) {
  read(0);
  {
    // Passed, and yet not applied.
    const auto session = store_->connect();
    const auto transaction = session->begin();
    const Position passed{
        std::make_shared<const Partition>(Partition{"orders", "second", ""}), {0, 50}, {0, 50}};
    transaction->ledger().advance(id_, {&passed, 1});
    ASSERT_EQ(transaction->commit(), CommitResult::committed);
  }
  broken_ = "e0";
  Driver driver{*this, start({}, {1, 2}), 5};
  EXPECT_TRUE(driver.batch());
  EXPECT_FALSE(driver.batch());
  EXPECT_EQ(report().failed, 1);
  EXPECT_FALSE(driver.worker.at_end()) << "somebody has to notice it first";
  replays_->advance(id_);
  EXPECT_EQ(report().state, ReplayState::paused);
  EXPECT_FALSE(driver.batch());
  EXPECT_TRUE(driver.worker.at_end());
  replays_->change("r1", ReplayState::running, {.who = "ada", .reason = "seen"});
  EXPECT_TRUE(driver.batch());
  EXPECT_EQ(report().due, 3) << "the second stage";
  while (driver.batch()) {
  }
  EXPECT_EQ(report().due, 5);
  EXPECT_EQ(report().applied, 4);
  EXPECT_EQ(applied_, (std::vector<std::string>{"e1", "e2", "e3", "e4"}));
}

TEST_F(RangeTest, ACancelledOneCommitsNothingMore) {
  read(4);
  Driver driver{*this, start({}), 4};
  driver.until(Step::begin);
  replays_->change("r1", ReplayState::cancelled, {.who = "ada", .reason = "a mistake"});
  driver.batch();
  EXPECT_EQ(report().due, 0);
  EXPECT_TRUE(store_->connect()->positions(id_, "replay:r1").empty());
}

}  // namespace
}  // namespace onefold
