#include <algorithm>
#include <utility>

#include "tests/lab/handlers.h"
#include "tests/lab/worlds.h"

// Events that wait: for their time, for an earlier one, for a person.

namespace onefold::lab::worlds {

namespace {

/// An event that can be applied only after another one, in a batch before it.
WorldSpec waiting(std::string name, SourceClass source) {
  WorldSpec world = payments(std::move(name), source);
  world.consumer.batch_max = 1;
  world.consumer.retry.attempts = 4;
  world.consumer.on({.name = "patient", .type = "after", .handle = credit_after_b});
  world.deliveries = {typed(payment("e1"), "after"), payment("e2", "B"),
                      typed(payment("e1"), "after")};
  world.expected = Expected{.cells = {{"A", 10}, {"B", 10}}};
  world.waiters = 1;
  world.workers = 1;
  world.additive = false;  // Alone, the event has no effect.
  world.must_reach = {Landmark::retried};
  return world;
}

Delivery about(const std::string& entity, Delivery delivery) {
  delivery.event.data = "{\"n\":10,\"e\":\"" + entity + "\"}";
  delivery.raw = "{\"id\":\"" + delivery.event.id + "\",\"d\":" + *delivery.event.data + "}";
  return delivery;
}

/// Events of one entity, of which the first can be applied only after one of another entity.
WorldSpec behind(std::string name, SourceClass source) {
  WorldSpec world = waiting(std::move(name), source);
  world.consumer.order = OrderRule{.entity = "/e"};
  world.consumer.handlers[1].handle = replace_after_b;
  world.consumer.on({.name = "last", .type = "last", .handle = replace});
  Delivery last = typed(about("a", payment("e3")), "last");
  last.event.data = R"({"n":7,"e":"a"})";
  world.deliveries = {typed(about("a", payment("e1")), "after"), last,
                      about("b", payment("e2", "B"))};
  world.expected = Expected{.cells = {{"A", 7}, {"B", 10}}};
  world.must_reach = {Landmark::retried, Landmark::behind};
  return world;
}

}  // namespace

std::vector<WorldSpec> of_waiting() {
  WorldSpec queue = waiting("p3_retry_queue", SourceClass::queue);
  queue.workers = 2;
  queue.faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1, .early = 1};
  WorldSpec log = waiting("p3_retry_log", SourceClass::owned_log);
  log.faults = {.crash = 1, .in_doubt = 1, .revoke = 1, .early = 1};
  WorldSpec two = waiting("p1_retry_two_waiters", SourceClass::queue);
  two.consumer.handlers[1].handle = credit_and_ask_for_b;
  two.waiters = 2;
  two.faults = {.crash = 1, .in_doubt = 1, .redelivery = 1, .disconnect = 1};
  two.must_reach = {Landmark::retried, Landmark::settled_by_another};
  WorldSpec sqlite = waiting("p1_retry_sqlite", SourceClass::queue);
  sqlite.dialect = Dialect::sqlite;
  sqlite.faults = {.crash_all = 1, .in_doubt = 1, .lost_acknowledgement = 1, .early = 1};
  WorldSpec restored = waiting("p10_retry_restore", SourceClass::owned_log);
  restored.faults = {.crash = 1, .restore = 1};
  restored.must_reach = {Landmark::retried, Landmark::restore_healed};

  // The attempts are used up, however often the database fails meanwhile.
  WorldSpec used_up = waiting("p9_attempts", SourceClass::queue);
  used_up.consumer.retry.attempts = 2;
  used_up.consumer.handlers[1].handle = ask_for_retries;
  used_up.waiters = 2;
  used_up.expected = Expected{.cells = {{"A", 0}, {"B", 10}}, .set_aside = {{"e1", "dead"}}};
  used_up.faults = {.crash = 1, .in_doubt = 1, .refused = 1, .disconnect = 1};
  used_up.must_reach = {Landmark::dead_letter};

  WorldSpec replayed = waiting("p9_replay", SourceClass::queue);
  replayed.consumer.retry.attempts = 1;
  replayed.replays_at_end = true;
  replayed.workers = 2;
  replayed.faults = {.crash = 1, .in_doubt = 1, .redelivery = 1, .replay = 2};
  replayed.must_reach = {Landmark::retried, Landmark::replayed};

  // Whoever is first: the person who gives it up, or the worker who applies it.
  WorldSpec discarded = waiting("p1_discard", SourceClass::queue);
  discarded.expected.reset();
  discarded.open_end = true;
  discarded.invariants = {{"applied exactly if the inbox says so", [](const Committed& committed) {
                             const bool applied =
                                 std::ranges::any_of(committed.inbox, [](const InboxRecord& row) {
                                   return row.event_id == "e1" && row.outcome == Outcome::applied;
                                 });
                             return committed.cells.at("A") == (applied ? 10 : 0);
                           }}};
  discarded.faults = {.crash = 1, .in_doubt = 1, .early = 1, .discard = 1};
  discarded.must_reach = {Landmark::settled_by_another};
  return {queue, log, two, sqlite, restored, used_up, replayed, discarded};
}

std::vector<WorldSpec> of_waiting_in_order() {
  WorldSpec log = behind("p5_behind_log", SourceClass::owned_log);
  log.faults = {.crash = 1, .in_doubt = 1, .early = 1};
  WorldSpec two = behind("p5_behind_two_waiters", SourceClass::owned_log);
  two.waiters = 2;
  two.faults = {.crash = 1, .in_doubt = 1, .early = 1};
  two.must_reach.push_back(Landmark::settled_by_another);
  // All of them in one batch, and what is behind in the transaction of the one in front.
  WorldSpec batch = behind("p5_behind_in_a_batch", SourceClass::owned_log);
  batch.consumer.batch_max = 3;
  batch.faults = {.crash = 1, .in_doubt = 1};
  // A dead front lets the others pass.
  WorldSpec dead = behind("p5_behind_a_dead_one", SourceClass::owned_log);
  dead.consumer.retry.attempts = 2;
  dead.consumer.handlers[1].handle = ask_for_retries;
  dead.expected = Expected{.cells = {{"A", 7}, {"B", 10}}, .set_aside = {{"e1", "dead"}}};
  dead.faults = {.crash = 1, .in_doubt = 1, .early = 1};
  WorldSpec moving = behind("p5_behind_moving_log", SourceClass::owned_log);
  moving.workers = 2;
  moving.faults = {.in_doubt = 1, .revoke = 1, .early = 1};
  return {log, two, batch, dead, moving};
}

}  // namespace onefold::lab::worlds
