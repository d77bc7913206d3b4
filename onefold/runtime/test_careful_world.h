#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onefold/runtime/careful.h"
#include "onefold/runtime/retry_source.h"
#include "onefold/runtime/test_watched_runs.h"
#include "onefold/runtime/test_world.h"

namespace onefold::test {

/// A world in which processes die: a handler throws `faults::Crash`, and what remains is what the
/// database and the broker have.
class CarefulWorld : public World {
 public:
  using World::World;

  /// A process with one worker, of the source or of what waits.
  struct Alive {
    Alive(CarefulWorld& world, std::int64_t number, bool of_waiting, std::string host)
        : connection{world.watched},
          subscription{.consumer = world.consumer,
                       .id = world.adopt(),
                       .source = of_waiting
                                     ? retry_source(world.adopt(), connection, world.clock, {})
                                     : world.broker.factory(),
                       .mode = !of_waiting && world.is_log() ? ClaimMode::optimistic
                                                             : ClaimMode::claim_first,
                       .id_prefixes = {},
                       .of_waiting = of_waiting},
          careful{subscription,
                  {.store = world.watched,
                   .connection = connection,
                   .clock = world.clock,
                   .reports = world.reports,
                   .notify = [&world](const Notice& one) { world.notices.push_back(one.text); },
                   .process = {.host = std::move(host), .number = number, .started = 7},
                   .lives =
                       [&world](std::int64_t other, std::int64_t started) {
                         return started == 7 && world.living.contains(other);
                       }}},
          worker{subscription, connection, world.clock, {.careful = &careful}} {}
    Connection connection;
    Subscription subscription;
    Careful careful;
    Worker worker;
  };

  bool is_log() { return broker.factory().traits.kind == SourceClass::owned_log; }

  std::unique_ptr<Alive> begin(bool of_waiting = false, std::string host = "here") {
    living.insert(++last_process);
    return std::make_unique<Alive>(*this, last_process, of_waiting, std::move(host));
  }

  /// Steps until nothing is left to do, and ends as it should. False: it has died.
  bool finish(Alive& alive, int steps_max = 10'000) {
    try {
      for (;;) {
        const StepResult result = alive.worker.step();
        if (result == StepResult::waiting) clock.pass(std::chrono::seconds{1});
        if (result == StepResult::idle && alive.worker.at_end()) break;
        if (--steps_max == 0) {
          ADD_FAILURE() << "the worker does not come to rest";
          break;
        }
      }
    } catch (const faults::Crash&) {
      living.erase(number_of(alive));
      return false;
    }
    alive.careful.end();
    living.erase(number_of(alive));
    return true;
  }

  /// Steps until so many events are applied, or dies before; and is then killed.
  void kill_after(Alive& alive, std::int64_t applied) {
    while (alive.worker.totals()[Outcome::applied] < applied) {
      if (alive.worker.step() == StepResult::idle) break;
    }
    living.erase(number_of(alive));
  }

  bool run_process(bool of_waiting = false) {
    const auto alive = begin(of_waiting);
    return finish(*alive);
  }

  /// Starts processes until one ends as it should; how many have died before.
  int deaths(bool of_waiting = false, int deaths_max = 100) {
    for (int count = 0; count < deaths_max; ++count) {
      if (run_process(of_waiting)) return count;
    }
    ADD_FAILURE() << "it kills for ever";
    return deaths_max;
  }

  static std::int64_t number_of(const Alive& alive) { return alive.careful.process().number; }
  Caution caution(const char* source = "orders") { return model->runs()->caution(adopt(), source); }
  std::vector<RunRecord> open_runs(const char* source = "orders") {
    return model->runs()->open(adopt(), source);
  }

  WatchedRuns::Wishes wishes;
  WatchedStore watched{*store, wishes};
  CrashReports reports;
  std::set<std::int64_t> living;
  std::int64_t last_process = 1000;
};

}  // namespace onefold::test
