#include <exception>
#include <iostream>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/sqlite/sqlite.h"

int main() try {
  auto store = onefold::sqlite::open_store({.path = "shop.db"});

  onefold::Consumer billing{.name = "billing"};
  billing.on("payment.received", [](const onefold::Event& event, onefold::Context& context) {
    onefold::Fields fields{event};
    context.sql().execute(
        "UPDATE account SET balance = balance + :amount WHERE id = :account",
        {{"amount", fields.int64("/amount")}, {"account", fields.int64("/account_id")}},
        1);  // Exactly one row, or the event is set aside.
    return onefold::Answer::done();
  });

  onefold::Runner runner{*store};
  runner.add(billing,
             onefold::file::source({
                 .path = "payments.jsonl",
                 .format = onefold::file::Format::json,
                 .identity = {.id = "/event_id", .source = "literal:shop", .type = "/type"},
             }));
  const auto totals = runner.run_until_idle();
  std::cout << totals.received() << " received, " << totals[onefold::Outcome::applied]
            << " applied, " << totals[onefold::Outcome::duplicate] << " duplicate, "
            << totals[onefold::Outcome::dead] << " set aside\n";
} catch (const std::exception& error) {
  std::cerr << "first_consumer: " << error.what() << '\n';  // What was committed stays committed.
  return 1;
}
