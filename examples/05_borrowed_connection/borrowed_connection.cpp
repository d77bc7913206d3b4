#include <libpq-fe.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/postgres/postgres.h"

/// The shop's own code, as it was before: it takes a connection and knows nothing of events.
class Accounts {
 public:
  explicit Accounts(PGconn* database) : database_{database} {}

  /// False if there is no such account.
  bool credit(std::int64_t account, std::int64_t amount) {
    const std::string id = std::to_string(account);
    const std::string more = std::to_string(amount);
    const char* const values[] = {more.c_str(), id.c_str()};
    const std::unique_ptr<PGresult, decltype(&PQclear)> updated{
        PQexecParams(database_, "UPDATE account SET balance = balance + $1 WHERE id = $2", 2,
                     nullptr, values, nullptr, nullptr, 0),
        PQclear};
    if (PQresultStatus(updated.get()) != PGRES_COMMAND_OK)
      throw std::runtime_error{"cannot credit"};
    return std::string{PQcmdTuples(updated.get())} == "1";
  }

 private:
  PGconn* database_;
};

int main(int count, char** arguments) try {
  if (count != 2)
    throw std::runtime_error{"usage: borrowed_connection postgres://user@host/database"};
  // The shop's own connection: it opens it, with its own settings, and closes it.
  const std::unique_ptr<PGconn, decltype(&PQfinish)> shop{PQconnectdb(arguments[1]), PQfinish};

  auto store = onefold::postgres::open_store({.borrow = [&shop] {
    if (PQstatus(shop.get()) != CONNECTION_OK) PQreset(shop.get());  // The server was away.
    return shop.get();
  }});

  onefold::Consumer billing{.name = "billing"};
  billing.on("payment.received", [](const onefold::Event& event, onefold::Context& context) {
    const onefold::Fields fields{event};
    // The shop's connection, on which the claim stands: what its code changes commits with it.
    Accounts accounts{onefold::postgres::connection(context.transaction())};
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
  std::cerr << "borrowed_connection: " << error.what() << '\n';
  return 1;
}
