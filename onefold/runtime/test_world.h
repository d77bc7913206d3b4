#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/housekeeping.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"
#include "onefold/stores/memory/memory.h"
#include "tests/faults/faulty_store.h"
#include "tests/faults/scripted_source.h"

namespace onefold::test {

/// Time that moves only when a test says so.
class FakeClock final : public Clock {
 public:
  Timestamp now() override { return now_; }
  std::chrono::steady_clock::time_point ticks() override { return ticks_; }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    ticks_ += time;
  }

 private:
  Timestamp now_{std::chrono::seconds{1'700'000'000}};
  std::chrono::steady_clock::time_point ticks_{std::chrono::hours{1}};
};

/// Adds 10 to the cell that the event's subject names.
inline Answer add_ten(const Event& event, Context& context) {
  context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                        {{"amount", 10}, {"name", event.subject}}, 1);
  return Answer::done();
}

inline Event payment(std::string id, std::string cell = "A", std::string data = "{}") {
  Event event = faults::event(std::move(id), std::move(data), "payment");
  event.subject = std::move(cell);
  return event;
}

/// A broker, a database in memory, and one worker between them, which a test can kill and restart.
class World {
 public:
  explicit World(SourceClass kind = SourceClass::owned_log)
      : broker{"orders", kind}, model{memory::open_model()}, store{faults::faulty(*model, script)} {
    for (const char* cell : {"A", "B", "C"}) model->put(cell, 0);
    consumer.name = "billing";
    consumer.on("payment", add_ten);
  }

  /// A new process: nothing of the old one is left but what the database and the broker have.
  void start() {
    stop();
    subscription = std::make_unique<Subscription>(Subscription{
        .consumer = consumer,
        .id = adopt(),
        .source = broker.factory(),
        .mode = broker.factory().traits.kind == SourceClass::owned_log ? ClaimMode::optimistic
                                                                       : ClaimMode::claim_first,
        .id_prefixes = {}});
    connection = std::make_unique<Connection>(*store);
    worker = std::make_unique<Worker>(
        *subscription, *connection, clock,
        Worker::Options{.patience = {}, .rerun_max = 64, .notify = [this](const Notice& notice) {
                          notices.push_back(notice.text);
                        }});
  }

  void stop() {
    if (worker) totals += worker->totals();
    worker.reset();
    connection.reset();
    subscription.reset();
  }

  /// One step, over the pauses.
  StepResult step() {
    StepResult result = worker->step();
    while (result == StepResult::waiting) {
      clock.pass(std::chrono::seconds{1});
      result = worker->step();
    }
    return result;
  }

  /// Steps until the source has nothing more. Fails the test if that takes too long.
  void run(int steps_max = 10'000) {
    if (!worker) start();
    while (step() != StepResult::idle || !worker->at_end()) {
      ASSERT_GT(--steps_max, 0) << "the worker does not come to rest";
    }
  }

  /// Everything, in a process of its own.
  void run_once() {
    start();
    run();
    stop();
  }
  std::int64_t count(Outcome outcome) const {
    return totals[outcome] + (worker ? worker->totals()[outcome] : 0);
  }
  std::int64_t cell(const std::string& name) const { return model->cells().at(name); }
  std::vector<DeferredRecord> deferred() { return model->records()->deferred({}); }

  FakeClock clock;
  faults::Script script;
  faults::ScriptedBroker broker;
  std::unique_ptr<memory::Model> model;
  std::unique_ptr<Store> store;
  Consumer consumer;
  std::vector<std::string> notices;
  Totals totals;  ///< Of the processes that have ended.

  std::unique_ptr<Subscription> subscription;
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Worker> worker;

  ConsumerId adopt() {
    const std::vector<SourceFactory> sources{broker.factory()};
    const auto housekeeping = model->housekeeping();
    housekeeping->migrate();
    const std::string rules = rules_of(consumer, sources);
    return housekeeping->adopt(
        {.name = consumer.name, .rules = rules, .mode = ClaimMode::claim_first}, {});
  }
};

/// Every promise holds for both ways to claim: an owned log is optimistic, a queue claims first.
class BothWays : public testing::TestWithParam<SourceClass> {
 protected:
  World world{GetParam()};
};
inline const auto both_ways = testing::Values(SourceClass::owned_log, SourceClass::queue);
inline std::string way(const testing::TestParamInfo<SourceClass>& one) {
  return one.param == SourceClass::owned_log ? "Optimistic" : "ClaimFirst";
}

}  // namespace onefold::test
