#include <cstdint>
#include <iostream>
#include <string>
#include <variant>

#include "onefold/formats/fields.h"
#include "onefold/lab/lab.h"

// Two handlers that add a payment to an account. The disorder lab runs both through every order of
// steps, crashes, lost answers and redeliveries of a small world.

using onefold::Answer;
using onefold::Context;
using onefold::Event;
namespace lab = onefold::lab;

namespace {

/// Looks right, and is right as long as it is alone: between the two statements another worker can
/// commit, and what it has added is overwritten.
Answer credit_in_two_statements(const Event& event, Context& context) {
  const auto rows =
      context.sql().query("SELECT amount FROM cell WHERE name = :name", {{"name", event.subject}});
  const std::int64_t sum =
      std::get<std::int64_t>(rows.at(0).at(0)) + onefold::Fields{event}.int64("/amount");
  context.sql().execute("UPDATE cell SET amount = :amount WHERE name = :name",
                        {{"name", event.subject}, {"amount", sum}}, 1);
  return Answer::done();
}

/// The database adds: the row is locked before it is read.
Answer credit_in_one_statement(const Event& event, Context& context) {
  context.sql().execute(
      "UPDATE cell SET amount = amount + :amount WHERE name = :name",
      {{"name", event.subject}, {"amount", onefold::Fields{event}.int64("/amount")}}, 1);
  return Answer::done();
}

onefold::Delivery payment(const std::string& id, const std::string& account, int amount) {
  onefold::Delivery delivery;
  delivery.event.id = id;
  delivery.event.source = "shop";
  delivery.event.type = "payment";
  delivery.event.subject = account;
  delivery.event.data = R"({"amount":)" + std::to_string(amount) + "}";
  delivery.raw = id + ' ' + account + ' ' + *delivery.event.data;
  return delivery;
}

/// Two workers, two payments to one account, one of them delivered twice.
lab::WorldSpec world(const std::string& name, const onefold::Handler& credit) {
  onefold::Consumer billing{.name = "billing"};
  billing.on("payment", credit);
  billing.batch_max = 1;
  return {.name = name,
          .consumer = billing,
          .deliveries = {payment("evt_1", "alice", 10), payment("evt_2", "alice", 5),
                         payment("evt_1", "alice", 10)},
          .cells = {{"alice", 0}},
          .faults = {.crash = 1, .in_doubt = 1, .lost_acknowledgement = 1},
          .must_reach = {lab::Landmark::duplicate_before_commit, lab::Landmark::blocked}};
}

void test(const lab::WorldSpec& world) {
  const lab::Report report = lab::explore({&world, 1}, {.schedules_max = 1'000'000});
  std::cout << "== " << world.name << '\n';
  if (report.violation) {
    std::cout << report.violation->timeline << '\n';
  } else {
    std::cout << "converges, whatever happens when"
              << (report.worlds.front().closed ? ": every schedule was tried\n" : "\n");
  }
}

}  // namespace

int main() {
  test(world("two_statements", credit_in_two_statements));
  test(world("one_statement", credit_in_one_statement));
}
