#include "onefold/stores/postgres/doubts.h"

#include <fmt/core.h>

#include <utility>

namespace onefold::postgres {
namespace {

/// The server has not given a transaction this number, or not yet.
constexpr std::string_view unknown_number_code = "22023";

/// The server's word about one transaction, or why there is none.
std::string answer_about(Connection& connection, const std::string& transaction) {
  Arguments arguments;
  arguments.text(transaction);
  try {
    const Result result = connection.run("SELECT pg_xact_status($1::xid8)", std::move(arguments),
                                         "asking about a commit");
    const Row row{result.get(), 0};
    if (row.is_null(0)) return "cannot be told: it is too long ago";
    // A crash takes back numbers of which nothing had reached the disk, and others get them.
    return fmt::format(
        "the server says of this number: {}, which is another transaction's if the "
        "server has crashed since",
        row.text(0));
  } catch (const Failure& failure) {
    if (failure.code() == unknown_number_code) {
      return "cannot be told: this server has given no transaction that number (it has lost it in "
             "a crash, or is another server)";
    }
    return fmt::format("cannot be told: {}", failure.what());
  } catch (const Error& error) {
    return fmt::format("cannot be told: {}", error.what());
  }
}

}  // namespace

void Doubts::add(std::string transaction) {
  if (transaction.empty()) return;
  const std::lock_guard lock{mutex_};
  transactions_.push_back(std::move(transaction));
}

std::vector<std::string> Doubts::take() {
  const std::lock_guard lock{mutex_};
  return std::exchange(transactions_, {});
}

void tell_doubts(Connection& connection, Doubts& doubts,
                 const std::function<void(const std::string&)>& notify) {
  for (std::string& each : doubts.take()) {
    if (!notify) continue;
    const std::string answer = answer_about(connection, each);
    if (connection.is_broken() || PQstatus(connection.handle()) != CONNECTION_OK) {
      doubts.add(std::move(each));
      continue;
    }
    notify(
        fmt::format("PostgreSQL: the answer to the COMMIT of transaction {} was lost; {}; the "
                    "claims decide what became of it",
                    each, answer));
  }
}

}  // namespace onefold::postgres
