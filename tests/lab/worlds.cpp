#include "tests/lab/worlds.h"

#include <algorithm>
#include <utility>

#include "tests/lab/handlers.h"

namespace onefold::lab::worlds {

Delivery payment(const std::string& id, const std::string& cell, int amount) {
  Delivery delivery;
  delivery.event.id = id;
  delivery.event.source = "shop";
  delivery.event.type = "pay";
  delivery.event.subject = cell;
  delivery.event.data = "{\"n\":" + std::to_string(amount) + "}";
  delivery.raw = "{\"id\":\"" + id + "\",\"n\":" + std::to_string(amount) + "}";
  return delivery;
}

Delivery undecodable(const std::string& raw) {
  Delivery delivery;
  delivery.raw = raw;
  delivery.defect = "BAD_JSON: it is cut off";
  return delivery;
}

Consumer billing(std::size_t batch_max) {
  Consumer consumer{.name = "billing"};
  consumer.on({.name = "credit", .type = "pay", .handle = credit});
  consumer.batch_max = batch_max;
  return consumer;
}

WorldSpec payments(std::string name, SourceClass source) {
  return {.name = std::move(name),
          .consumer = billing(2),
          .deliveries = {payment("e1"), payment("e2", "B"), payment("e1"), payment("e3")},
          .cells = {{"A", 0}, {"B", 0}},
          .source = source,
          .expected = Expected{.cells = {{"A", 20}, {"B", 10}}}};
}

Delivery typed(Delivery delivery, const std::string& type) {
  delivery.event.type = type;
  return delivery;
}

namespace {

const Cells empty_cells{{"A", 0}, {"B", 0}, {"C", 0}};

/// A batch of three, of which the second is refused after it has touched the database.
WorldSpec refusal(std::string name, SourceClass source) {
  WorldSpec world = payments(std::move(name), source);
  world.consumer.batch_max = 3;
  world.rerun_max = 2;
  world.deliveries = {payment("e1"), payment("bad", "none"), payment("e2", "B"), payment("e1")};
  world.expected = Expected{.cells = {{"A", 10}, {"B", 10}}, .set_aside = {{"bad", "dead"}}};
  world.must_reach = {Landmark::rerun, Landmark::dead_letter};
  return world;
}

}  // namespace

std::vector<WorldSpec> of_effects() {
  WorldSpec queue = payments("p1_queue", SourceClass::queue);
  queue.faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1};
  queue.must_reach = {Landmark::duplicate_before_commit,
                      Landmark::duplicate_after_commit,
                      Landmark::in_doubt_committed,
                      Landmark::in_doubt_rolled_back,
                      Landmark::blocked,
                      Landmark::crash_in_hand,
                      Landmark::lost_acknowledgement};

  WorldSpec log = payments("p1_log", SourceClass::owned_log);
  log.faults = {.crash = 1, .in_doubt = 1, .failed_acknowledgement = 1, .revoke = 1};
  log.must_reach = {Landmark::duplicate_after_commit, Landmark::in_doubt_committed,
                    Landmark::in_doubt_rolled_back, Landmark::blocked, Landmark::zombie_refused};

  WorldSpec first = log;
  first.name = "p1_log_claim_first";
  first.claim = ClaimMode::claim_first;

  WorldSpec redelivered = payments("p1_redelivery", SourceClass::queue);
  redelivered.deliveries = {payment("e1"), payment("e2")};
  redelivered.faults = {.crash = 1, .in_doubt = 1, .redelivery = 2};
  redelivered.expected = Expected{.cells = {{"A", 20}, {"B", 0}}};
  redelivered.must_reach = {Landmark::blocked};

  // Without versions the order that is kept is that of a log with one owner.
  WorldSpec order = payments("p5_order_of_a_log", SourceClass::owned_log);
  order.consumer.handlers[0].handle = replace;
  order.deliveries = {payment("e1", "A", 1), payment("e2", "A", 2), payment("e1", "A", 1),
                      payment("e3", "A", 3)};
  order.expected = Expected{.cells = {{"A", 3}, {"B", 0}}};
  order.additive = false;
  order.faults = {.crash = 1, .in_doubt = 1, .failed_acknowledgement = 1, .revoke = 1};

  WorldSpec cut = payments("p3_disconnect_queue", SourceClass::queue);
  cut.faults = {.crash_all = 1, .disconnect = 2};
  WorldSpec cut_log = payments("p3_disconnect_log", SourceClass::owned_log);
  cut_log.faults = {.crash_all = 1, .disconnect = 2, .revoke = 1};
  return {queue, log, first, redelivered, order, cut, cut_log};
}

std::vector<WorldSpec> of_answers() {
  WorldSpec answers = payments("p2_acknowledgements", SourceClass::queue);
  answers.faults = {.refused = 1, .lost_acknowledgement = 1, .failed_acknowledgement = 1};
  answers.must_reach = {Landmark::refused_commit, Landmark::lost_acknowledgement};

  WorldSpec doubt = payments("p4_in_doubt_queue", SourceClass::queue);
  doubt.deliveries = {payment("e1"), payment("e2", "B"), payment("e1")};
  doubt.expected = Expected{.cells = {{"A", 10}, {"B", 10}}};
  doubt.faults = {.in_doubt = 2, .refused = 1, .disconnect = 1};
  doubt.must_reach = {Landmark::in_doubt_committed, Landmark::in_doubt_rolled_back};

  WorldSpec doubt_log = doubt;
  doubt_log.name = "p4_in_doubt_log";
  doubt_log.source = SourceClass::owned_log;
  doubt_log.faults = {.in_doubt = 2, .refused = 1, .revoke = 1, .clock_jump = 1};

  // No duplicate: every outcome must be counted once.
  WorldSpec counted = refusal("p4_in_doubt_refusal", SourceClass::queue);
  counted.deliveries.pop_back();
  counted.faults = {.in_doubt = 2, .refused = 1, .clock_jump = 1};
  return {answers, doubt, doubt_log, counted};
}

namespace {

/// Every way for an event to be set aside.
std::vector<WorldSpec> of_dead_letters() {
  WorldSpec kinds = payments("p9_dead_letters_queue", SourceClass::queue);
  kinds.consumer.retry.attempts = 1;
  kinds.consumer.batch_max = 3;
  kinds.consumer.on({.name = "reject", .type = "no", .handle = reject});
  kinds.consumer.on({.name = "retry", .type = "later", .handle = ask_for_retries});
  kinds.consumer.on({.name = "swallow", .type = "swallow", .handle = swallow_a_failure});
  kinds.deliveries = {payment("e1"),
                      typed(payment("no"), "no"),
                      typed(payment("later"), "later"),
                      typed(payment("x"), "unheard"),
                      typed(payment("s"), "swallow"),
                      undecodable("{\"id")};
  kinds.expected = Expected{
      .cells = {{"A", 10}, {"B", 0}},
      .set_aside = {{"no", "dead"}, {"later", "dead"}, {"x", "dead"}, {"s", "dead"}, {"", "dead"}}};
  kinds.faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1};
  kinds.must_reach = {Landmark::dead_letter};
  WorldSpec kinds_log = kinds;
  kinds_log.name = "p9_dead_letters_log";
  kinds_log.source = SourceClass::owned_log;
  kinds_log.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};

  WorldSpec ignored = payments("p9_ignored", SourceClass::queue);
  ignored.consumer.unsupported = Unsupported::ignore;
  ignored.deliveries = {payment("e1"), typed(payment("x"), "unheard"), payment("e1")};
  ignored.expected = Expected{.cells = {{"A", 10}, {"B", 0}}};
  ignored.faults = {.crash = 1, .in_doubt = 1};

  return {kinds, kinds_log, ignored};
}

}  // namespace

std::vector<WorldSpec> of_refusals() {
  WorldSpec queue = refusal("p9_rerun_queue", SourceClass::queue);
  queue.faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1};
  WorldSpec log = refusal("p9_rerun_log", SourceClass::owned_log);
  log.faults = {.crash = 1, .in_doubt = 1, .refused = 1, .revoke = 1};

  WorldSpec together = refusal("p9_batch_handler", SourceClass::queue);
  together.consumer = Consumer{.name = "billing"};
  together.consumer.batch_max = 4;
  together.consumer.on({.name = "credit", .type = "pay", .handle_batch = credit_together});
  together.faults = {.crash = 1, .in_doubt = 1};
  together.must_reach = {Landmark::dead_letter};

  // Nothing comes after the statement that fails late: it surfaces where the position is moved.
  WorldSpec last = payments("p9_last_of_a_log", SourceClass::owned_log);
  last.claim = ClaimMode::claim_first;
  last.deliveries = {payment("e1"), payment("bad", "none"), payment("e1")};
  last.expected = Expected{.cells = {{"A", 10}, {"B", 0}}, .set_aside = {{"bad", "dead"}}};
  last.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};

  // Refused after all, by a handler whose statements have worked.
  WorldSpec regret = refusal("p9_regret", SourceClass::queue);
  regret.consumer.on({.name = "regret", .type = "oops", .handle = credit_and_regret});
  regret.deliveries[1] = typed(payment("bad"), "oops");
  regret.faults = {.crash = 1, .in_doubt = 1};

  // Who has swallowed a failure is to blame, and not the handler that runs next.
  WorldSpec swallowed = payments("p9_swallowed", SourceClass::queue);
  swallowed.dialect = Dialect::mariadb;
  swallowed.consumer.on({.name = "swallow", .type = "two", .handle = swallow_a_failure});
  swallowed.consumer.on({.name = "second", .type = "two", .handle = credit});
  swallowed.deliveries = {payment("e1"), typed(payment("bad"), "two"), payment("e1")};
  swallowed.expected = Expected{.cells = {{"A", 10}, {"B", 0}}, .set_aside = {{"bad", "dead"}}};
  swallowed.invariants = {{"the one who swallowed it is blamed", [](const Committed& committed) {
                             return std::ranges::all_of(committed.deferred, [](const auto& row) {
                               return row.handler == "swallow";
                             });
                           }}};
  swallowed.faults = {.crash = 1, .in_doubt = 1};

  WorldSpec contract = payments("p9_broken_contract", SourceClass::queue);
  contract.consumer.handlers[0].handle = break_the_contract;
  contract.stops = true;
  contract.expected.reset();
  contract.faults = {.crash = 1};
  contract.must_reach = {Landmark::stopped};
  std::vector<WorldSpec> worlds{queue, log, together, last, regret, swallowed, contract};
  for (WorldSpec& world : of_dead_letters()) worlds.push_back(std::move(world));
  return worlds;
}

std::vector<WorldSpec> of_restores() {
  WorldSpec restore = payments("p10_restore_log", SourceClass::owned_log);
  restore.faults = {.crash = 1, .restore = 1};
  restore.must_reach = {Landmark::restore_healed};
  WorldSpec twice = payments("p10_restore_in_doubt", SourceClass::owned_log);
  twice.workers = 1;
  twice.faults = {.in_doubt = 1, .disconnect = 1, .restore = 2};
  twice.must_reach = {Landmark::restore_healed};
  WorldSpec promote = payments("p10_failover_log", SourceClass::owned_log);
  promote.faults = {.in_doubt = 1, .revoke = 1, .promote = 1};
  promote.must_reach = {Landmark::restore_healed};
  WorldSpec both = payments("p10_restore_queue", SourceClass::queue);
  both.faults = {.crash = 1, .restore = 1};
  both.must_reach = {Landmark::restore_healed};
  return {restore, twice, promote, both};
}

namespace {

/// Two handlers with scopes of their own, the first with a business key besides the event's.
Consumer keyed() {
  Consumer consumer = billing(3);
  consumer.scope = Scope::handler;
  consumer.handlers[0].keys = {KeySpec{}, KeySpec{.rule = "payment", .values = {"/p"}}};
  consumer.handlers[0].fingerprint_of = {"/n"};
  consumer.on({.name = "count", .type = "pay", .handle = count_most});
  return consumer;
}

Delivery with_payment(const std::string& id, const std::string& payment_id, int amount,
                      const std::string& cell = "A") {
  Delivery delivery = payment(id, cell, amount);
  delivery.event.data =
      "{\"p\":\"" + payment_id + "\",\"n\":" + std::to_string(amount) + ",\"by\":\"" + id + "\"}";
  delivery.raw = "{\"id\":\"" + id + "\",\"d\":" + *delivery.event.data + "}";
  return delivery;
}

Delivery from(Delivery delivery, const std::string& source) {
  delivery.event.source = source;
  return delivery;
}

}  // namespace

std::vector<WorldSpec> of_identities() {
  WorldSpec conflict = payments("p11_conflict_queue", SourceClass::queue);
  conflict.deliveries = {payment("e1"), payment("e1", "A", 20), payment("e2", "B")};
  conflict.expected.reset();  // Whichever came first.
  conflict.invariants = {{"one of the two", [](const Committed& committed) {
                            const std::int64_t amount = committed.cells.at("A");
                            return amount == 0 || amount == 10 || amount == 20;
                          }}};
  conflict.faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1};
  conflict.must_reach = {Landmark::conflict};
  WorldSpec conflict_log = conflict;
  conflict_log.name = "p11_conflict_log";
  conflict_log.source = SourceClass::owned_log;
  conflict_log.deliveries.push_back(payment("e1", "A", 20));
  conflict_log.expected =
      Expected{.cells = {{"A", 10}, {"B", 10}}, .set_aside = {{"e1", "conflict"}}};
  conflict_log.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};

  WorldSpec dead_first = payments("p11_dead_then_again", SourceClass::owned_log);
  dead_first.deliveries = {payment("e1", "none"), payment("e1", "none"), payment("e2", "B")};
  dead_first.expected = Expected{.cells = {{"A", 0}, {"B", 10}}, .set_aside = {{"e1", "dead"}}};
  dead_first.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};

  WorldSpec names = payments("p1_names", SourceClass::owned_log);
  names.deliveries = {payment("e1"), payment("E1"), from(payment("e1"), "mall"), payment("e1")};
  names.expected = Expected{.cells = {{"A", 30}, {"B", 0}}};
  names.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};

  WorldSpec keys = payments("p1_keys_log", SourceClass::owned_log);
  keys.consumer = keyed();
  keys.cells = empty_cells;
  keys.deliveries = {with_payment("e1", "p1", 10), with_payment("e2", "p1", 10),
                     with_payment("e3", "p2", 10, "B"), with_payment("e3", "p2", 10, "B"),
                     with_payment("e4", "p1", 20)};
  keys.expected = Expected{.cells = {{"A", 10}, {"B", 10}, {"C", 3}},
                           .set_aside = {{"e3", "dead"}, {"e4", "conflict"}}};
  keys.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};
  WorldSpec keys_queue = keys;
  keys_queue.name = "p1_keys_queue";
  keys_queue.source = SourceClass::queue;
  keys_queue.deliveries.resize(3);
  keys_queue.expected =
      Expected{.cells = {{"A", 10}, {"B", 10}, {"C", 2}}, .set_aside = {{"e3", "dead"}}};
  keys_queue.faults = {.crash = 1, .in_doubt = 1, .redelivery = 1};

  // "credit" had no use for the first e2, whose payment was known, and gave its id back: the second
  // is another payment. For "count" it is a conflict. Late copies of the first would be one, too.
  WorldSpec given_back = keys;
  given_back.name = "p1_keys_given_back";
  given_back.workers = 1;
  given_back.deliveries = {with_payment("e1", "p1", 10), with_payment("e2", "p1", 10),
                           with_payment("e2", "p3", 10)};
  given_back.expected =
      Expected{.cells = {{"A", 20}, {"B", 0}, {"C", 2}}, .set_aside = {{"e2", "conflict"}}};
  given_back.faults = {.crash = 1, .in_doubt = 1, .refused = 1};
  return {conflict, conflict_log, dead_first, names, keys, keys_queue, given_back};
}

std::vector<WorldSpec> of_dialects() {
  // Each worker holds what the other wants next.
  WorldSpec crossed = payments("p3_deadlock_postgres", SourceClass::queue);
  crossed.deliveries = {payment("e1"), payment("e2", "B"), payment("e3", "B"), payment("e4")};
  crossed.expected = Expected{.cells = {{"A", 20}, {"B", 20}}};
  crossed.faults = {.crash = 1, .in_doubt = 1};
  crossed.must_reach = {Landmark::deadlock};
  WorldSpec smaller = crossed;
  smaller.name = "p3_deadlock_mariadb";
  smaller.dialect = Dialect::mariadb;

  WorldSpec turns = refusal("p1_sqlite", SourceClass::queue);
  turns.dialect = Dialect::sqlite;
  turns.faults = {.crash_all = 1, .in_doubt = 1, .lost_acknowledgement = 1};
  return {crossed, smaller, turns};
}

std::vector<WorldSpec> all() {
  std::vector<WorldSpec> worlds;
  for (const auto& some : {of_effects(), of_answers(), of_refusals(), of_restores(),
                           of_identities(), of_dialects(), of_waiting(), of_waiting_in_order()}) {
    worlds.insert(worlds.end(), some.begin(), some.end());
  }
  return worlds;
}

}  // namespace onefold::lab::worlds
