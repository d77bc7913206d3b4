#include <cstdint>
#include <exception>
#include <iostream>
#include <pqxx/pqxx>
#include <stdexcept>
#include <string>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/postgres/postgres.h"

/// The shop's own code, as it was before: it takes a transaction and knows nothing of events.
class Accounts {
 public:
  explicit Accounts(pqxx::transaction_base& transaction) : transaction_{transaction} {}

  /// False if there is no such account.
  bool credit(std::int64_t account, std::int64_t amount) {
    const pqxx::result updated = transaction_.exec_params(
        "UPDATE account SET balance = balance + $1 WHERE id = $2", amount, account);
    return updated.affected_rows() == 1;
  }

 private:
  pqxx::transaction_base& transaction_;
};

/// A connection that libpqxx (here 6.4) neither opens nor closes.
class Joined : public pqxx::connection_base {
 public:
  explicit Joined(pg_conn* handle) : connection_base{policy_}, policy_{handle} { init(); }
  ~Joined() { close(); }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  class Policy : public pqxx::connectionpolicy {
   public:
    explicit Policy(handle joined) : connectionpolicy{""}, joined_{joined} {}
    handle do_startconnect(handle /*previous*/) override { return joined_; }
    handle do_completeconnect(handle connected) override { return connected; }
    handle do_dropconnect(handle /*connected*/) noexcept override { return nullptr; }
    handle do_disconnect(handle /*connected*/) noexcept override { return nullptr; }
    bool is_ready(handle connected) const noexcept override { return connected != nullptr; }

   private:
    handle joined_;
  };
  Policy policy_;
};

int main(int count, char** arguments) try {
  if (count != 2) throw std::runtime_error{"usage: joined_libpqxx postgres://user@host/database"};
  auto store = onefold::postgres::open_store({.connection = arguments[1]});

  onefold::Consumer billing{.name = "billing"};
  billing.on("payment.received", [](const onefold::Event& event, onefold::Context& context) {
    const onefold::Fields fields{event};
    Joined database{onefold::postgres::connection(context.transaction())};
    // It sends no BEGIN and no COMMIT: what is changed commits with the claim, and only so.
    pqxx::nontransaction joined{database};
    if (!Accounts{joined}.credit(fields.int64("/account_id"), fields.int64("/amount")))
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
  std::cerr << "joined_libpqxx: " << error.what() << '\n';
  return 1;
}
