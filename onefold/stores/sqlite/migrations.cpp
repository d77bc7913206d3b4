#include "onefold/stores/sqlite/migrations.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "onefold/schema.h"
#include "onefold/stores/sqlite/deferred.h"

namespace onefold::sqlite {
namespace {

/// An event that has several keys holds them all: what ends its wait must find them.
constexpr const char* further_keys_schema =
    "ALTER TABLE main.onefold_deferred ADD COLUMN further_keys BLOB;";

std::array<SchemaStep, 3> steps() {
  return {{{1, "first tables", first_schema},
           {2, "several keys", further_keys_schema},
           {3, "failures", failures_schema}}};
}

constexpr const char* migration_table =
    "CREATE TABLE IF NOT EXISTS main.onefold_migration (version INTEGER PRIMARY KEY, "
    "name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL, "
    "duration_us INTEGER NOT NULL) STRICT";

std::vector<AppliedStep> applied_in(Connection& connection) {
  Statement& exists = connection.own(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'onefold_migration'");
  const ResetAtEnd reset_exists{exists};
  std::vector<AppliedStep> applied;
  if (!exists.step()) return applied;
  Statement& select = connection.own("SELECT version, checksum FROM main.onefold_migration");
  const ResetAtEnd reset{select};
  while (select.step()) {
    applied.push_back({static_cast<int>(select.integer_at(0)), select.text_at(1)});
  }
  return applied;
}

void run_script(Connection& connection, const char* sql) {
  const int code = sqlite3_exec(connection.handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(connection.handle(), code, Origin::own, "changing the schema");
}

void apply(Connection& connection, const SchemaStep& step) {
  const auto start = std::chrono::steady_clock::now();
  run_script(connection, std::string{step.sql}.c_str());
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string checksum = schema_checksum(step.sql);
  connection.own("INSERT INTO main.onefold_migration VALUES (?, ?, ?, ?, ?)")
      .integer(1, step.version)
      .text(2, step.name)
      .text(3, checksum)
      .integer(4, now_microseconds())
      .integer(5, std::chrono::duration_cast<std::chrono::microseconds>(took).count())
      .run();
}

}  // namespace

std::vector<Migration> migrate(Connection& connection) {
  const Connection::Inside inside{connection};
  // The write lock keeps a second `migrate` out until this one has committed.
  OwnTransaction transaction{connection};
  const auto applied = applied_in(connection);
  const auto missing = missing_steps(steps(), applied);
  if (applied.empty()) run_script(connection, migration_table);
  std::vector<Migration> all;
  for (const SchemaStep& step : steps()) {
    const bool now =
        std::ranges::find(missing, step.version, &SchemaStep::version) != missing.end();
    if (now) apply(connection, step);
    all.push_back({step.version, std::string{step.name}, now, std::string{step.sql}});
  }
  transaction.commit();
  return all;
}

std::vector<Migration> pending(Connection& connection) {
  const Connection::Inside inside{connection};
  std::vector<Migration> all;
  for (const SchemaStep& step : missing_steps(steps(), applied_in(connection))) {
    const std::string row = fmt::format(
        "INSERT INTO main.onefold_migration VALUES ({}, '{}', '{}', "
        "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 0);",
        step.version, step.name, schema_checksum(step.sql));
    all.push_back({.version = step.version,
                   .name = std::string{step.name},
                   .applied_now = false,
                   .sql = fmt::format("BEGIN IMMEDIATE;\n{};\n{}\n{}\nCOMMIT;\n", migration_table,
                                      step.sql, row)});
  }
  return all;
}

void check_schema(Connection& connection) {
  const Connection::Inside inside{connection};
  require_schema(steps(), applied_in(connection));
}

}  // namespace onefold::sqlite
