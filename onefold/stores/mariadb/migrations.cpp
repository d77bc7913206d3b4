#include "onefold/stores/mariadb/migrations.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "onefold/schema.h"

namespace onefold::mariadb {
namespace {

constexpr int lock_wait_s = 60;

/// MariaDB commits every change of the schema by itself: one that was cut off is run again from its
/// start, so all statements of a step have to bear that.
std::array<SchemaStep, 2> steps() {
  return {{{1, "first tables", first_schema}, {2, "failures", failures_schema}}};
}

constexpr std::string_view migration_table =
    "CREATE TABLE IF NOT EXISTS onefold_migration (version INT NOT NULL PRIMARY KEY, "
    "name VARCHAR(255) NOT NULL, checksum CHAR(16) NOT NULL, applied_at BIGINT NOT NULL, "
    "duration_us BIGINT NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";

std::vector<AppliedStep> applied_in(Connection& connection) {
  TextRows exists = connection.query(
      "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() "
      "AND table_name = 'onefold_migration'",
      "looking for the schema");
  std::vector<AppliedStep> applied;
  if (!exists.next()) return applied;
  TextRows rows =
      connection.query(connection.qualified("SELECT version, checksum FROM onefold_migration"),
                       "reading the schema's version");
  while (rows.next()) {
    applied.push_back({static_cast<int>(rows.integer_at(0)), std::string{rows.at(1)}});
  }
  return applied;
}

/// Keeps a second `migrate` out. Of the server, and not of the tables, which are not there yet.
class MigrationLock {
 public:
  explicit MigrationLock(Connection& connection) : connection_{connection} {
    // A name has at most 64 characters, and a database's name may have as many.
    name_ = "onefold." + schema_checksum(connection.database());
    TextRows row = connection.query(fmt::format("SELECT GET_LOCK('{}', {})", name_, lock_wait_s),
                                    "waiting for another migration");
    if (row.next() && row.integer_at(0) == 1) return;
    throw Error{ErrorKind::contention,
                fmt::format("MariaDB: another migration of {} is running for longer than {} s",
                            connection.database(), lock_wait_s)};
  }
  ~MigrationLock() {
    try {
      connection_.query(fmt::format("SELECT RELEASE_LOCK('{}')", name_), "ending the migration");
    } catch (const Error&) {
      // It goes with the connection.
      return;
    }
  }
  MigrationLock(const MigrationLock&) = delete;
  MigrationLock& operator=(const MigrationLock&) = delete;

 private:
  Connection& connection_;
  std::string name_;
};

/// Runs statements one after the other; each ends with a semicolon at the end of a line.
void run_script(Connection& connection, std::string_view sql) {
  while (!sql.empty()) {
    const std::size_t end = sql.find(";\n");
    const std::string_view statement = sql.substr(0, end);
    if (statement.find_first_not_of(" \n;") != std::string_view::npos) {
      connection.execute(statement, "changing the schema");
    }
    if (end == std::string_view::npos) return;
    sql.remove_prefix(end + 2);
  }
}

/// SQL that remembers a step. It holds no text but ours.
std::string remember(const SchemaStep& step, const std::string& applied_at,
                     std::int64_t duration_us) {
  return fmt::format("INSERT INTO onefold_migration VALUES ({}, '{}', '{}', {}, {})", step.version,
                     step.name, schema_checksum(step.sql), applied_at, duration_us);
}

void apply(Connection& connection, const SchemaStep& step) {
  const auto start = std::chrono::steady_clock::now();
  run_script(connection, step.sql);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  connection.execute(
      connection.qualified(remember(step, std::to_string(now.count()), took.count())),
      "remembering the schema's version");
}

}  // namespace

std::vector<Migration> migrate(Connection& connection) {
  const MigrationLock lock{connection};
  const auto applied = applied_in(connection);
  const auto missing = missing_steps(steps(), applied);
  if (!missing.empty()) {
    connection.execute(connection.qualified(migration_table), "changing the schema");
  }
  std::vector<Migration> all;
  for (const SchemaStep& step : steps()) {
    const bool now =
        std::ranges::find(missing, step.version, &SchemaStep::version) != missing.end();
    if (now) apply(connection, step);
    all.push_back({step.version, std::string{step.name}, now, std::string{step.sql}});
  }
  return all;
}

std::vector<Migration> pending(Connection& connection) {
  std::vector<Migration> all;
  for (const SchemaStep& step : missing_steps(steps(), applied_in(connection))) {
    all.push_back({.version = step.version,
                   .name = std::string{step.name},
                   .applied_now = false,
                   .sql = fmt::format(
                       "{};\n{}\n{};\n", migration_table, step.sql,
                       remember(step, "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)", 0))});
  }
  return all;
}

void check_schema(Connection& connection) {
  require_schema(steps(), applied_in(connection));
}

}  // namespace onefold::mariadb
