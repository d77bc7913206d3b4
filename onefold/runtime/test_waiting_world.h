#pragma once

#include <memory>

#include "onefold/runtime/retry_source.h"
#include "onefold/runtime/test_world.h"

namespace onefold::test {

/// A world with a waiting room that is served.
class WaitingWorld : public World {
 public:
  using World::World;

  /// The worker of the waiting room, on a session of its own, to be stepped by a test.
  struct Waiters {
    explicit Waiters(WaitingWorld& world)
        : connection{std::make_unique<Connection>(*world.store)},
          subscription{std::make_unique<Subscription>(Subscription{
              .consumer = world.consumer,
              .id = world.adopt(),
              .source = retry_source(world.adopt(), *connection, world.clock, world.decoders),
              .mode = ClaimMode::claim_first,
              .id_prefixes = {},
              .of_waiting = true})},
          worker{std::make_unique<Worker>(*subscription, *connection, world.clock,
                                          Worker::Options{})} {}
    std::unique_ptr<Connection> connection;
    std::unique_ptr<Subscription> subscription;
    std::unique_ptr<Worker> worker;
  };

  /// What waits and is due, until nothing is. Fails the test if that takes too long.
  void run_waiting(int steps_max = 10'000) {
    const Waiters waiters{*this};
    while (waiters.worker->step() != StepResult::idle || !waiters.worker->at_end()) {
      ASSERT_GT(--steps_max, 0) << "the waiting room does not come to rest";
      clock.pass(std::chrono::seconds{1});
    }
    totals += waiters.worker->totals();
  }

  Decoders decoders;  ///< For what could not be decoded.
};

}  // namespace onefold::test
