#include "onefold/stores/postgres/examination.h"

#include <fmt/core.h>

#include <chrono>
#include <set>

#include "onefold/formats/sql_text.h"
#include "onefold/stores/postgres/migrations.h"

namespace onefold::postgres {
namespace {

using enum Finding::Severity;

constexpr std::int64_t skew_max_seconds = 5;

std::string setting(Connection& connection, const char* name) {
  Arguments arguments;
  arguments.text(name);
  const Result found =
      connection.run("SELECT current_setting($1)", std::move(arguments), "reading a setting");
  return Row{found.get(), 0}.text(0);
}

void examine_version(Connection& connection, std::vector<Finding>& found) {
  found.push_back({fine, "version", "PostgreSQL " + setting(connection, "server_version")});
  if (connection.is_pooled()) {
    found.push_back({notice, "pooler",
                     "a pooler in transaction mode is in between: statements are sent anew each "
                     "time",
                     "connect directly where speed matters"});
  }
}

void examine_durability(Connection& connection, const Options& options,
                        std::vector<Finding>& found) {
  for (const char* name : {"fsync", "full_page_writes"}) {
    const std::string value = setting(connection, name);
    if (value == "on") continue;
    found.push_back({options.accept_relaxed_durability ? warning : failure, "durability",
                     fmt::format("relaxed: {} = {}", name, value),
                     "a power cut can take back what was confirmed and acknowledged: turn it on"});
    return;
  }
  found.push_back({fine, "durability",
                   fmt::format("durable: synchronous_commit = {} in every transaction, fsync and "
                               "full_page_writes are on",
                               setting(connection, "synchronous_commit"))});
}

void examine_clock(Connection& connection, std::vector<Finding>& found) {
  const Result result =
      connection.run("SELECT clock_timestamp()", {}, "asking for the server's time");
  const auto difference = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now() - Row{result.get(), 0}.time(0));
  if (std::abs(difference.count()) <= skew_max_seconds) {
    found.push_back({fine, "clock", "the server's clock agrees with ours"});
    return;
  }
  found.push_back({warning, "clock",
                   fmt::format("the server's clock differs from ours by {} s", difference.count()),
                   "correct the wrong one: times in the evidence are hard to compare otherwise"});
}

/// What `run` needs of our tables.
void examine_privileges(Connection& connection, std::vector<Finding>& found) {
  struct Need {
    const char* table;
    const char* rights;
  };
  std::string missing;
  for (const Need& need : {Need{"onefold.consumer", "SELECT,INSERT,UPDATE"},
                           {"onefold.scope", "SELECT,INSERT"},
                           {"onefold.inbox", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.deferred", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.position", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.pause", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.replay", "SELECT,INSERT,UPDATE"},
                           {"onefold.run", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.careful", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.suspect", "SELECT,INSERT,UPDATE,DELETE"},
                           {"onefold.audit", "SELECT,INSERT"},
                           {"onefold.migration", "SELECT"}}) {
    std::string_view rights = need.rights;
    while (!rights.empty()) {
      const std::string_view right = rights.substr(0, rights.find(','));
      rights.remove_prefix(std::min(rights.size(), right.size() + 1));
      Arguments arguments;
      arguments.text(connection.in_schema(need.table)).text(right);
      const Result result = connection.run("SELECT has_table_privilege($1, $2)",
                                           std::move(arguments), "asking for rights");
      if (Row{result.get(), 0}.boolean(0)) continue;
      missing += fmt::format("{}{} on {}", missing.empty() ? "" : ", ", right,
                             connection.in_schema(need.table));
    }
  }
  if (missing.empty()) {
    found.push_back({fine, "privileges", "this role may read and write the tables of Onefold"});
  } else {
    found.push_back({failure, "privileges", "missing: " + missing, "GRANT them to this role"});
  }
}

/// A standby reads only; its primary takes the writes.
void examine_server(Connection& connection, std::vector<Finding>& found) {
  const Result result =
      connection.run("SELECT pg_is_in_recovery()", {}, "asking whether the server is a standby");
  if (!Row{result.get(), 0}.boolean(0)) return;
  found.push_back({failure, "server", "it is a standby, which takes no writes",
                   "connect to the primary; with several hosts in the address it is looked for"});
}

/// Tables whose rows do not live and die with the evidence. A name that is no table is not found,
/// and nothing is said about it.
void examine_tables(Connection& connection, std::span<const std::string> statements,
                    std::vector<Finding>& found) {
  std::set<std::string> names;
  for (const std::string& each : statements) collect_names(each, SqlDialect::postgres, names);
  Array wanted{type::text};
  for (const std::string& each : names) wanted.text(each);
  Arguments arguments;
  wanted.into(arguments);
  const Result result = connection.run(
      "SELECT c.oid::regclass::text, c.relpersistence = 'u' FROM pg_class c "
      "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = ANY($1) "
      "AND (c.relpersistence = 'u' AND c.relkind IN ('r', 'p') OR c.relkind = 'f') "
      "AND (pg_table_is_visible(c.oid) OR n.nspname = ANY($1)) ORDER BY 1",
      std::move(arguments), "looking for the tables of the handlers");
  for (int i = 0; i < rows_in(result); ++i) {
    const Row row{result.get(), i};
    const std::string table = row.text(0);
    if (row.boolean(1)) {
      found.push_back({failure, "tables",
                       fmt::format("{} is unlogged: a crash of the server empties it, while the "
                                   "evidence of its events stays",
                                   table),
                       fmt::format("ALTER TABLE {} SET LOGGED", table)});
    } else {
      found.push_back({warning, "tables",
                       fmt::format("{} is on another server, which commits by itself: what a "
                                   "handler writes there can be lost or doubled",
                                   table),
                       "let handlers write to tables of this database"});
    }
  }
}

}  // namespace

std::string statement_defect(Connection& connection, std::string_view sql) {
  const HandlerText& text = connection.handler_text(sql);
  if (text.controls_transaction) return "it would end the event's transaction, or begin another";
  const Result result{PQprepare(connection.handle(), "", text.numbered.text.c_str(), 0, nullptr)};
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return {};
  const Failure failure = failure_of(result.get(), Part::handler, "preparing it");
  // The connection or the server: that says nothing about the statement.
  if (failure.retryable()) throw Failure{failure};
  return failure.what();
}

std::vector<Finding> examine(Connection& connection, const Options& options,
                             std::span<const std::string> statements) {
  std::vector<Finding> found;
  examine_version(connection, found);
  examine_durability(connection, options, found);
  examine_clock(connection, found);
  examine_server(connection, found);
  examine_tables(connection, statements, found);
  try {
    check_schema(connection);
    examine_privileges(connection, found);
  } catch (const Error& error) {
    if (error.retryable()) throw;
    found.push_back({failure, "schema", error.what()});
  }
  for (const std::string& each : statements) {
    const std::string defect = statement_defect(connection, each);
    if (!defect.empty()) found.push_back({failure, "statements", defect});
  }
  return found;
}

}  // namespace onefold::postgres
