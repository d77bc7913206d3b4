#include <cstdint>
#include <exception>
#include <iostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/sqlite/sqlite.h"

using onefold::Answer;

/// Credits all payments of a batch with one statement.
std::vector<Answer> credit(std::span<const onefold::Event* const> events,
                           onefold::Context& context) {
  std::string payments;  // [account, amount] of each, as JSON. A wrong field throws.
  std::set<std::int64_t> accounts;
  for (const onefold::Event* event : events) {
    const onefold::Fields fields{*event};
    const std::int64_t account = fields.int64("/account_id");
    accounts.insert(account);
    payments += payments.empty() ? "[" : ",";
    payments += '[' + std::to_string(account) + ',' + std::to_string(fields.int64("/amount")) + ']';
  }
  context.sql().execute(
      "UPDATE account SET balance = balance + paid.amount FROM "
      "(SELECT value ->> 0 AS id, sum(value ->> 1) AS amount FROM json_each(:payments) GROUP BY 1)"
      " AS paid WHERE account.id = paid.id",
      {{"payments", payments + ']'}},
      static_cast<std::int64_t>(accounts.size()));  // All of them, or each event comes alone.
  return {};                                        // No answers: all are done.
}

int main() try {
  auto store = onefold::sqlite::open_store({.path = "shop.db"});
  onefold::Consumer billing{.name = "billing"};
  billing.on({.name = "credit", .type = "payment.received", .handle_batch = credit});

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
  std::cerr << "batch_handler: " << error.what() << '\n';
  return 1;
}
