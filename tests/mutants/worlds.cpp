#include "tests/mutants/worlds.h"

#include <algorithm>
#include <utility>

#include "onefold/error.h"
#include "tests/faults/scripted_source.h"
#include "tests/lab/worlds.h"

namespace onefold::mutants {
namespace {

using lab::WorldSpec;

constexpr const char* update = "UPDATE cell SET amount = amount + :amount WHERE name = :name";

void add(Context& context, const std::string& cell, std::int64_t amount) {
  context.sql().execute(update, {{"amount", amount}, {"name", cell}}, 1);
}

Answer add_ten(const Event& event, Context& context) {
  add(context, event.subject, 10);
  return Answer::done();
}

/// Refuses after it has changed something.
Answer add_ten_and_judge(const Event& event, Context& context) {
  add(context, event.subject, 10);
  return event.id == "bad" ? Answer::reject("it is bad") : Answer::done();
}

Delivery payment(std::string id, std::string cell = "A", std::string data = "{}") {
  Event event = faults::event(std::move(id), std::move(data), "payment");
  event.subject = std::move(cell);
  return faults::delivery(std::move(event));
}

Delivery from(std::string source, Delivery delivery) {
  delivery.event.source = std::move(source);
  return delivery;
}

WorldSpec world(std::string name, SourceClass source, std::vector<Delivery> deliveries,
                std::int64_t sum) {
  WorldSpec spec{.name = std::move(name)};
  spec.source = source;
  spec.consumer.name = "billing";
  spec.consumer.batch_max = 2;
  spec.consumer.on("payment", add_ten);
  spec.deliveries = std::move(deliveries);
  spec.cells = {{"A", 0}, {"B", 0}};
  spec.expected = lab::Expected{.cells = {{"A", sum}, {"B", 0}}};
  return spec;
}

/// Each of these is written once, whatever happens.
lab::Invariant counted_once() {
  return {"what is set aside is counted once", [](const lab::Committed& committed) {
            return std::ranges::all_of(committed.deferred,
                                       [](const auto& row) { return row.count == 1; });
          }};
}

/// What is set aside and no conflict waits, and what waits is set aside.
lab::Invariant waits_as_set_aside() {
  return {"what is dead waits", [](const lab::Committed& committed) {
            const auto dead =
                std::ranges::count(committed.deferred, "dead", &DeferredRecord::reason);
            const auto waiting = std::ranges::count(committed.inbox, true, &InboxRecord::waiting);
            return dead == waiting;
          }};
}

/// The order of events is that of a queue or a log; two workers get in each other's way.
std::vector<WorldSpec> of_two_workers() {
  WorldSpec queue =
      world("queue", SourceClass::queue, {payment("a"), payment("b"), payment("a")}, 20);
  queue.faults = {.crash = 1,
                  .in_doubt = 1,
                  .refused = 1,
                  .lost_acknowledgement = 1,
                  .failed_acknowledgement = 1,
                  .redelivery = 1,
                  .disconnect = 1};
  WorldSpec log = world("log", SourceClass::owned_log,
                        {payment("a"), payment("b"), payment("a"), payment("c")}, 30);
  log.faults = {.crash = 1, .in_doubt = 1, .refused = 1, .disconnect = 1, .revoke = 1};
  WorldSpec moved =
      world("moved", SourceClass::owned_log, {payment("a"), payment("b"), payment("c")}, 30);
  moved.faults = {.revoke = 1};
  return {moved, queue, log};
}

std::vector<WorldSpec> of_one_worker() {
  WorldSpec sources = world("two_sources", SourceClass::queue,
                            {payment("a"), from("mall", payment("a")), payment("A")}, 30);
  sources.workers = 1;
  WorldSpec restored =
      world("restore", SourceClass::owned_log, {payment("a"), payment("b"), payment("c")}, 30);
  restored.workers = 1;
  restored.consumer.batch_max = 1;
  restored.faults = {.crash = 1, .restore = 1};
  WorldSpec doubts = world("doubts", SourceClass::queue, {faults::undecodable("%")}, 0);
  doubts.workers = 1;
  doubts.faults = {.in_doubt = 2, .disconnect = 1, .clock_jump = 1};
  doubts.expected->set_aside = {{"", "dead"}};
  doubts.invariants = {counted_once()};
  return {sources, restored, doubts};
}

std::vector<WorldSpec> of_failures(SourceClass source, const std::string& kind) {
  WorldSpec rerun = world("rerun_" + kind, source,
                          {payment("a"), payment("bad"), payment("b"), payment("bad")}, 20);
  rerun.consumer.handlers.clear();
  rerun.consumer.on("payment", add_ten_and_judge);
  rerun.consumer.batch_max = 3;
  rerun.rerun_max = 2;
  rerun.workers = 1;
  rerun.faults = {.crash = 1, .in_doubt = 1, .refused = 2};
  rerun.expected->set_aside = {{"bad", "dead"}};
  rerun.invariants = {counted_once(), waits_as_set_aside()};
  WorldSpec retry = world("retry_" + kind, source, {payment("never"), payment("a")}, 10);
  retry.consumer.handlers.clear();
  retry.consumer.on("payment", [](const Event& event, Context& context) {
    return event.id == "never" ? Answer::retry("not yet") : add_ten(event, context);
  });
  retry.workers = 1;
  retry.waiters = 1;
  retry.consumer.retry.attempts = 2;
  retry.expected->set_aside = {{"never", "dead"}};
  WorldSpec conflict = world("conflict_" + kind, source,
                             {payment("a"), payment("a", "A", R"({"other":1})"), payment("b"),
                              payment("b", "A", R"({"other":1})"), payment("c")},
                             30);
  conflict.workers = 1;
  conflict.consumer.batch_max = 3;
  conflict.expected->set_aside = {{"a", "conflict"}, {"b", "conflict"}};
  WorldSpec bytes = world("bytes_" + kind, source, {faults::undecodable("%"), payment("a")}, 10);
  bytes.workers = 1;
  bytes.faults = {.in_doubt = 1};
  bytes.invariants = {counted_once(), waits_as_set_aside()};
  bytes.expected->set_aside = {{"", "dead"}};
  return {rerun, retry, conflict, bytes};
}

Answer swallow(const Event& /*event*/, Context& context) {
  try {
    context.sql().execute(update, {{"amount", 1}, {"name", "no such cell"}}, 1);
    static_cast<void>(context.sql().query("no such query", {}));
  } catch (const Error&) {  // NOLINT: what a careless handler does
  }
  return Answer::done();
}

std::vector<WorldSpec> of_handlers() {
  WorldSpec careless = world("careless", SourceClass::queue, {payment("a")}, 0);
  careless.consumer.handlers.clear();
  careless.consumer.on({.name = "careless", .type = "payment", .handle = swallow});
  careless.consumer.on({.name = "innocent", .type = "payment", .handle = add_ten});
  careless.workers = 1;
  careless.dialect = lab::Dialect::mariadb;
  careless.expected->set_aside = {{"a", "dead"}};
  careless.invariants = {{"nobody else is blamed", [](const lab::Committed& committed) {
                            return std::ranges::all_of(committed.deferred, [](const auto& row) {
                              return row.handler == "careless";
                            });
                          }}};
  WorldSpec violation = world("violation", SourceClass::queue, {payment("a")}, 0);
  violation.consumer.handlers.clear();
  violation.consumer.on("payment", [](const Event&, Context&) -> Answer {
    throw Error{ErrorKind::contract_violation, "A handler has ended the transaction."};
  });
  violation.workers = 1;
  violation.stops = true;
  violation.expected.reset();
  WorldSpec batches =
      world("batch_handler", SourceClass::queue, {payment("a"), payment("bad"), payment("b")}, 20);
  batches.consumer.handlers.clear();
  batches.consumer.on(
      {.name = "batch", .type = "payment", .handle_batch = [](auto events, Context& context) {
         std::vector<Answer> answers;
         for (const Event* event : events) answers.push_back(add_ten_and_judge(*event, context));
         return answers;
       }});
  batches.consumer.batch_max = 3;
  batches.workers = 1;
  batches.expected->set_aside = {{"bad", "dead"}};
  return {careless, violation, batches};
}

WorldSpec of_scopes(SourceClass source, const std::string& kind) {
  WorldSpec parts = world("parts_" + kind, source, {payment("a"), payment("b")}, 20);
  parts.consumer.handlers.clear();
  parts.consumer.on({.name = "first", .type = "payment", .handle = add_ten});
  parts.consumer.on(
      {.name = "second", .type = "payment", .handle = [](const Event&, Context& context) {
         add(context, "B", 1);
         return Answer::done();
       }});
  parts.consumer.scope = Scope::handler;
  parts.consumer.batch_max = 1;
  parts.workers = 1;
  parts.expected->cells["B"] = 2;
  parts.faults = {.crash = 1, .refused = 1};
  return parts;
}

/// The publisher says the same payment twice, under another id; and another amount for a third.
std::vector<WorldSpec> of_keys() {
  const char* const p1 = R"({"payment":"p1","amount":1,"at":1})";
  const char* const p1_again = R"({"payment":"p1","amount":1,"at":2})";
  const char* const p2 = R"({"payment":"p2","amount":1,"at":3})";
  WorldSpec keys = world("keys", SourceClass::queue,
                         {payment("a", "A", p1), payment("b", "A", p1_again),
                          payment("b", "A", p1_again), payment("c", "A", p2)},
                         20);
  keys.consumer.keys = {KeySpec{}, KeySpec{.rule = "payment", .values = {"/payment"}}};
  keys.consumer.handlers[0].fingerprint_of = {"/amount"};
  keys.workers = 1;
  keys.faults = {.crash = 1};
  return {keys};
}

}  // namespace

std::vector<lab::WorldSpec> worlds() {
  std::vector<WorldSpec> all;
  const auto append = [&](std::vector<WorldSpec> some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  append(of_one_worker());
  append(of_failures(SourceClass::queue, "queue"));
  append(of_failures(SourceClass::owned_log, "log"));
  append(of_handlers());
  append({of_scopes(SourceClass::queue, "queue"), of_scopes(SourceClass::owned_log, "log")});
  append(of_keys());
  append(lab::worlds::of_waiting());
  append(lab::worlds::of_waiting_in_order());
  append(of_two_workers());  // Last: they have by far the most schedules.
  return all;
}

}  // namespace onefold::mutants
