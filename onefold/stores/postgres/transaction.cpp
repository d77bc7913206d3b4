#include "onefold/stores/postgres/transaction.h"

#include <fmt/core.h>

#include <utility>

namespace onefold::postgres {
namespace {

constexpr const char* number_sql = "SELECT pg_current_xact_id()::text";

/// Fails if a handler has ended the transaction and begun another: COMMIT, which follows in the
/// same burst, is then not executed.
constexpr const char* tripwire_sql = "SELECT 1 / (pg_current_xact_id()::text = $1)::int4";

/// An answer after which nobody knows whether the server has committed.
bool leaves_doubt(const Failure& failure) {
  return failure.code().starts_with("08") || failure.code() == "40003" ||
         failure.code().starts_with("57P");
}

}  // namespace

OpenTransaction::OpenTransaction(std::shared_ptr<Link> link)
    : link_{std::move(link)},
      health_{link_->connection},
      ledger_{link_->connection, health_, link_->words},
      waiting_room_{link_->connection, health_},
      statements_{link_->connection, health_} {
  const char* const foreign = connection().foreign().command;
  connection().forgive();
  if (foreign != nullptr && !connection().is_borrowed()) {
    throw Error{ErrorKind::contract_violation,
                fmt::format("PostgreSQL: a handler has executed {} after its transaction had ended",
                            foreign)};
  }
  connection().begin(OwnTransaction::write);
  connection().queue(
      {.statement = &connection().own(number_sql), .doing = "beginning", .answer = &number_});
}

OpenTransaction::~OpenTransaction() {
  if (!ended_) connection().rollback();
  connection().forgive();
}

::PGconn* OpenTransaction::handle() const {
  health_.guard([&] { connection().run(); });
  return connection().handle();
}

void OpenTransaction::savepoint() {
  health_.guard([&] {
    // The server knows nothing of the rows that were expected: in one burst it would go on to the
    // next savepoint, which no longer undoes them.
    if (connection().has_expectations()) connection().run();
    if (has_savepoint_) {
      connection().queue({.statement = &connection().own("RELEASE SAVEPOINT onefold_event"),
                          .doing = "ending an event"});
    }
    connection().run("SAVEPOINT onefold_event", {}, "beginning an event");
    has_savepoint_ = true;
  });
}

void OpenTransaction::rollback_to_savepoint() {
  health_.heal();
  if (!has_savepoint_) {
    throw Error{ErrorKind::contention,
                "PostgreSQL: there is no savepoint; the transaction must end"};
  }
  // What is queued came after the savepoint.
  connection().forget_queue();
  connection().forgive();
  health_.attempt(
      [&] { connection().run("ROLLBACK TO SAVEPOINT onefold_event", {}, "undoing an event"); });
}

CommitAnswer OpenTransaction::commit() {
  try {
    // COMMIT travels with what is queued, unless something of it has to be looked at first.
    health_.guard([&] {
      if (connection().has_expectations()) connection().run();
    });
  } catch (const Error&) {
    // Nothing of it can become true any more, so nobody should have to wait for it.
    connection().rollback();
    throw;
  }
  ended_ = true;
  try {
    if (!number_.empty()) {
      Arguments number;
      number.text(number_);
      connection().queue({.statement = &connection().own(tripwire_sql),
                          .arguments = std::move(number),
                          .part = Part::tripwire,
                          .doing = "looking whether the transaction is still the same"});
    }
    const Result result = connection().run(Command{
        .statement = &connection().own("COMMIT"), .part = Part::commit, .doing = "committing"});
    // A transaction that had failed before is rolled back by COMMIT, without an error.
    if (std::string_view{PQcmdStatus(result.get())} == "COMMIT") return CommitResult::committed;
    return {CommitResult::refused, "the server has rolled back instead of committing"};
  } catch (const Failure& failure) {
    return after_failure(failure);
  }
}

CommitAnswer OpenTransaction::after_failure(const Failure& failure) {
  const bool at_commit = failure.part() == Part::commit;
  if (connection().is_broken() || (at_commit && leaves_doubt(failure))) {
    connection().give_up();
    link_->doubts->add(number_);
    return {CommitResult::in_doubt, failure.what()};
  }
  connection().rollback();
  // A constraint that waited for COMMIT is the statements' own fault.
  if (!at_commit || !failure.retryable()) throw Failure{failure};
  return {CommitResult::refused, failure.what()};
}

}  // namespace onefold::postgres
