#include "onefold/stores/postgres/stopped.h"

#include <fmt/core.h>

namespace onefold::postgres {
namespace {

/// Who waits for its client although a statement is not over is in a burst, or copies; into
/// the tables of Onefold nobody copies. They are ended in the outer query, which has no condition:
/// conditions are tried in any order.
constexpr const char* end_sql =
    "WITH standing AS MATERIALIZED (SELECT a.pid FROM pg_stat_activity a "
    "WHERE a.pid <> pg_backend_pid() "
    "AND a.datname = current_database() AND a.usename = current_user "
    "AND a.state = 'active' AND a.wait_event = 'ClientRead' "
    "AND greatest(a.state_change, a.query_start) < clock_timestamp() - make_interval(secs => $1) "
    "AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.granted "
    "AND l.relation = 'onefold.inbox'::regclass)) "
    "SELECT pid, pg_terminate_backend(pid) FROM standing";

}  // namespace

void end_stopped(Connection& connection, std::chrono::milliseconds standing,
                 const std::function<void(const std::string&)>& notify) {
  Arguments arguments;
  arguments.literal(fmt::format("{:.3f}", static_cast<double>(standing.count()) / 1000.0));
  try {
    const Result ended =
        connection.run(end_sql, std::move(arguments), "looking for processes that stand still");
    for (int i = 0; notify && i < rows_in(ended); ++i) {
      notify(
          fmt::format("PostgreSQL: session {} stood still in a transaction and held events, so "
                      "it was ended; its process will repeat them",
                      Row{ended.get(), i}.integer32(0)));
    }
  } catch (const Error& error) {
    // The next one who waits for too long tries it again.
    if (notify)
      notify(fmt::format("Whether a rival stands still cannot be told: {}", error.what()));
  }
}

}  // namespace onefold::postgres
