#include "tests/lab/worlds.h"

#include "onefold/formats/fields.h"

namespace onefold::lab::worlds {
namespace {

Answer credit(const Event& event, Context& context) {
  const Fields fields{event};
  context.sql().execute("UPDATE cell SET amount = amount + :amount WHERE name = :name",
                        {{"amount", fields.int64("/n")}, {"name", event.subject}}, 1);
  return Answer::done();
}

}  // namespace

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

WorldSpec p1_queue() {
  return {.name = "p1_queue",
          .consumer = billing(2),
          .deliveries = {payment("e1"), payment("e2", "B"), payment("e1"), payment("e3")},
          .cells = {{"A", 0}, {"B", 0}},
          .source = SourceClass::queue,
          .faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1},
          .expected = Expected{.cells = {{"A", 20}, {"B", 10}}},
          .must_reach = {Landmark::duplicate_before_commit, Landmark::duplicate_after_commit,
                         Landmark::in_doubt_committed, Landmark::in_doubt_rolled_back,
                         Landmark::blocked, Landmark::lost_acknowledgement}};
}

WorldSpec p1_log() {
  WorldSpec world = p1_queue();
  world.name = "p1_log";
  world.source = SourceClass::owned_log;
  world.faults = {.crash = 1, .in_doubt = 1, .revoke = 1};
  world.must_reach = {Landmark::duplicate_after_commit, Landmark::in_doubt_committed,
                      Landmark::in_doubt_rolled_back, Landmark::blocked, Landmark::zombie_refused};
  return world;
}

std::vector<WorldSpec> closed() {
  return {p1_queue(), p1_log()};
}

}  // namespace onefold::lab::worlds
