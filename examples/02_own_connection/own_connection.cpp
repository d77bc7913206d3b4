#include <sqlite3.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/sqlite/sqlite.h"

/// The shop's own code, as it was before: it takes a connection and knows nothing of events.
class Accounts {
 public:
  explicit Accounts(sqlite3* database) : database_{database} {}

  /// False if there is no such account.
  bool credit(std::int64_t account, std::int64_t amount) {
    sqlite3_stmt* prepared = nullptr;
    sqlite3_prepare_v2(database_, "UPDATE account SET balance = balance + ? WHERE id = ?", -1,
                       &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> update{prepared, sqlite3_finalize};
    sqlite3_bind_int64(update.get(), 1, amount);
    sqlite3_bind_int64(update.get(), 2, account);
    if (sqlite3_step(update.get()) != SQLITE_DONE) throw std::runtime_error{"cannot credit"};
    return sqlite3_changes(database_) == 1;
  }

 private:
  sqlite3* database_;
};

int main() try {
  auto store = onefold::sqlite::open_store({.path = "shop.db"});

  onefold::Consumer billing{.name = "billing"};
  billing.on("payment.received", [](const onefold::Event& event, onefold::Context& context) {
    const onefold::Fields fields{event};
    // The connection on which the claim stands: what the shop's code changes commits with it.
    Accounts accounts{onefold::sqlite::connection(context.transaction())};
    if (!accounts.credit(fields.int64("/account_id"), fields.int64("/amount")))
      return onefold::Answer::reject("there is no such account");
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
  std::cerr << "own_connection: " << error.what() << '\n';
  return 1;
}
