#include "onefold/stores/sqlite/migrations.h"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <map>

namespace onefold::sqlite {
namespace {

/// One step of the schema. A step that was released is never edited: its checksum is stored.
struct Step {
  int version;
  const char* name;
  const char* sql;
};

/// An event that has several keys holds them all: what ends its wait must find them.
constexpr const char* further_keys_schema =
    "ALTER TABLE main.onefold_deferred ADD COLUMN further_keys BLOB;";

std::array<Step, 2> steps() {
  return {{{1, "first tables", first_schema}, {2, "several keys", further_keys_schema}}};
}

struct Applied {
  std::string name;
  std::string checksum;
};

/// FNV-1a. It finds an edit by mistake, not by malice.
std::string checksum_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

std::map<int, Applied> applied_in(Connection& connection) {
  Statement& exists = connection.own(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'onefold_migration'");
  const ResetAtEnd reset_exists{exists};
  std::map<int, Applied> applied;
  if (!exists.step()) return applied;
  Statement& select = connection.own("SELECT version, name, checksum FROM main.onefold_migration");
  const ResetAtEnd reset{select};
  while (select.step()) {
    applied[static_cast<int>(select.integer_at(0))] = {select.text_at(1), select.text_at(2)};
  }
  return applied;
}

void refuse_foreign(const std::map<int, Applied>& applied) {
  const int newest = steps().back().version;
  if (!applied.empty() && applied.rbegin()->first > newest) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the schema of the database is version {}, this program knows up to "
                            "{}: use a newer program",
                            applied.rbegin()->first, newest)};
  }
  for (const Step& step : steps()) {
    const auto found = applied.find(step.version);
    if (found != applied.end() && found->second.checksum != checksum_of(step.sql)) {
      throw Error{
          ErrorKind::bad_configuration,
          fmt::format("schema version {} ({}) of the database has checksum {}, this program "
                      "has {}: it was made by a program that differs",
                      step.version, step.name, found->second.checksum, checksum_of(step.sql))};
    }
  }
}

std::int64_t now_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void run_script(Connection& connection, const char* sql) {
  const int code = sqlite3_exec(connection.handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(connection.handle(), code, Origin::own, "changing the schema");
}

void apply(Connection& connection, const Step& step) {
  const auto start = std::chrono::steady_clock::now();
  run_script(connection, step.sql);
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string checksum = checksum_of(step.sql);
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
  refuse_foreign(applied);
  if (applied.empty()) {
    run_script(connection,
               "CREATE TABLE IF NOT EXISTS main.onefold_migration (version INTEGER PRIMARY KEY, "
               "name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL, "
               "duration_us INTEGER NOT NULL) STRICT");
  }
  std::vector<Migration> all;
  for (const Step& step : steps()) {
    const bool missing = !applied.contains(step.version);
    if (missing) apply(connection, step);
    all.push_back({step.version, step.name, missing});
  }
  transaction.commit();
  return all;
}

void check_schema(Connection& connection) {
  const Connection::Inside inside{connection};
  const auto applied = applied_in(connection);
  refuse_foreign(applied);
  for (const Step& step : steps()) {
    if (!applied.contains(step.version)) {
      throw Error{
          ErrorKind::bad_configuration,
          fmt::format("the database lacks schema version {} ({}): run `onefold migrate`, or "
                      "`onefold run --migrate`",
                      step.version, step.name)};
    }
  }
}

}  // namespace onefold::sqlite
