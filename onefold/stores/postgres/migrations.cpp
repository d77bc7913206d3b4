#include "onefold/stores/postgres/migrations.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "onefold/schema.h"

namespace onefold::postgres {
namespace {

std::array<SchemaStep, 2> steps() {
  return {{{1, "first tables", first_schema}, {2, "failures", failures_schema}}};
}

constexpr const char* frame_sql =
    "CREATE TABLE IF NOT EXISTS onefold.migration (version integer PRIMARY KEY, "
    "name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)";

/// One program at a time changes the schema; the others wait, and find that it is done. The number
/// is the schema's name.
std::string lock_sql(const Connection& connection) {
  return connection.in_schema(
      "SELECT pg_advisory_xact_lock(hashtextextended('onefold migrate onefold.', 0))");
}

std::string schema_name(const Connection& connection) {
  std::string name = connection.in_schema("onefold.");
  name.pop_back();
  return name;
}

std::vector<AppliedStep> applied_in(Connection& connection) {
  Arguments arguments;
  arguments.text(connection.in_schema("onefold.migration"));
  const Result known = connection.run("SELECT to_regclass($1) IS NOT NULL", std::move(arguments),
                                      "looking for the schema");
  std::vector<AppliedStep> applied;
  if (!Row{known.get(), 0}.boolean(0)) return applied;
  const Result found = connection.run("SELECT version, checksum FROM onefold.migration", {},
                                      "reading the schema's version");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    applied.push_back({row.integer32(0), row.text(1)});
  }
  return applied;
}

/// What makes a step, without BEGIN and COMMIT.
std::string script_of(const Connection& connection, const SchemaStep& step) {
  return fmt::format(
      "CREATE SCHEMA IF NOT EXISTS {};\n{};\n{}\n"
      "INSERT INTO {} VALUES ({}, '{}', '{}', now());\n",
      schema_name(connection), connection.in_schema(frame_sql), connection.in_schema(step.sql),
      connection.in_schema("onefold.migration"), step.version, step.name,
      schema_checksum(step.sql));
}

/// For a person: in one transaction.
std::string whole_of(const Connection& connection, const SchemaStep& step) {
  return fmt::format("BEGIN;\n{};\n{}COMMIT;\n", lock_sql(connection), script_of(connection, step));
}

}  // namespace

std::vector<Migration> migrate(Connection& connection) {
  OwnTransaction transaction{connection};
  connection.run();
  connection.run_script(lock_sql(connection), "waiting for another migration");
  const auto missing = missing_steps(steps(), applied_in(connection));
  std::vector<Migration> all;
  for (const SchemaStep& step : steps()) {
    const bool now =
        std::ranges::find(missing, step.version, &SchemaStep::version) != missing.end();
    if (now) connection.run_script(script_of(connection, step), "changing the schema");
    all.push_back({step.version, std::string{step.name}, now, whole_of(connection, step)});
  }
  transaction.commit();
  return all;
}

std::vector<Migration> pending(Connection& connection) {
  std::vector<Migration> all;
  for (const SchemaStep& step : missing_steps(steps(), applied_in(connection))) {
    all.push_back({step.version, std::string{step.name}, false, whole_of(connection, step)});
  }
  return all;
}

void check_schema(Connection& connection) {
  require_schema(steps(), applied_in(connection));
}

}  // namespace onefold::postgres
