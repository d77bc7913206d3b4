#include "onefold/stores/mariadb/examination.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "onefold/formats/sql_text.h"

namespace onefold::mariadb {
namespace {

using enum Finding::Severity;

/// The oldest that is still maintained, and has what we use.
constexpr unsigned long oldest_version = 100'600;
constexpr std::size_t packet_advised = 16U << 20U;
constexpr std::int64_t skew_noticed_us = 5'000'000;

void examine_version(Connection& connection, std::vector<Finding>& found) {
  const std::string text = fmt::format("MariaDB {}", mysql_get_server_info(connection.handle()));
  const unsigned long version = mysql_get_server_version(connection.handle());
  if (version < oldest_version) {
    found.push_back({warning, "version", text, "Onefold is tested from 10.6 on: upgrade"});
  } else {
    found.push_back({fine, "version", text});
  }
}

void examine_durability(Connection& connection, std::vector<Finding>& found) {
  const Durability& durability = connection.durability();
  if (durability.durable) {
    found.push_back({fine, "durability", "durable: " + durability.text});
  } else {
    found.push_back(
        {warning, "durability",
         "relaxed: " + durability.text + ": a power cut can take back confirmed commits",
         "set innodb_flush_log_at_trx_commit = 1, innodb_doublewrite = ON and "
         "sync_binlog = 1"});
  }
}

void examine_server(Connection& connection, std::vector<Finding>& found) {
  TextRows row = connection.query(
      "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), @@max_allowed_packet, "
      "@@read_only, @@collation_database, @@log_bin, @@binlog_format, "
      "CAST(@@innodb_rollback_on_timeout AS INTEGER), @@wsrep_on",
      "reading the server's settings");
  row.next();
  const auto ours = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t skew = row.integer_at(0) - ours.count();
  if (std::abs(skew) > skew_noticed_us) {
    found.push_back({notice, "clock",
                     fmt::format("the server's clock differs from ours by {} s", skew / 1'000'000),
                     "let both follow a time server; nothing depends on it but what people read"});
  } else {
    found.push_back({fine, "clock", "the server's clock is ours, within 5 s"});
  }
  if (static_cast<std::size_t>(row.integer_at(1)) < packet_advised) {
    found.push_back({warning, "settings",
                     fmt::format("max_allowed_packet is {} bytes", row.integer_at(1)),
                     "an event that is set aside must fit with its headers: set it to 16M"});
  }
  if (row.integer_at(2) != 0) {
    found.push_back({failure, "settings", "the server is read_only: a replica, or being replaced",
                     "connect to the primary"});
  }
  found.push_back({fine, "collation",
                   fmt::format("{}; keys are bytes, and no collation touches them", row.at(3))});
  if (row.integer_at(4) != 0 && row.at(5) == "STATEMENT") {
    found.push_back({failure, "settings",
                     "binlog_format is STATEMENT, which READ COMMITTED forbids",
                     "set binlog_format = ROW or MIXED"});
  }
  if (row.integer_at(7) != 0) {
    found.push_back({warning, "galera", "the server is a node of a Galera cluster",
                     "let one node alone take the writes: others can lose them"});
  }
}

/// Preparing asks for the privileges, too, and changes nothing.
void examine_privileges(Connection& connection, std::vector<Finding>& found) {
  bool complete = true;
  for (const char* table :
       {"onefold_consumer", "onefold_batch", "onefold_scope", "onefold_inbox", "onefold_deferred",
        "onefold_position", "onefold_audit", "onefold_pause", "onefold_replay", "onefold_run",
        "onefold_careful", "onefold_suspect"}) {
    for (const char* pattern :
         {"SELECT 1 FROM {}", "INSERT INTO {} VALUES ()", "DELETE FROM {} WHERE 1 = 0"}) {
      const std::string defect = statement_defect(
          connection, connection.qualified(fmt::format(fmt::runtime(pattern), table)));
      if (defect.empty() || !complete) continue;
      complete = false;
      found.push_back({failure, "privileges", defect,
                       "run `onefold migrate`, and grant SELECT, INSERT, UPDATE and DELETE on the "
                       "onefold_ tables"});
    }
  }
  if (complete) found.push_back({fine, "privileges", "the onefold_ tables can be used"});
}

void examine_tables(Connection& connection, std::span<const std::string> statements,
                    std::vector<Finding>& found) {
  std::set<std::string> names;
  for (const std::string& each : statements) collect_names(each, SqlDialect::mariadb, names);
  Statement& select = connection.own(
      "SELECT table_schema, table_name, engine FROM information_schema.tables "
      "WHERE table_name = ? AND table_schema NOT IN ('information_schema', 'mysql', "
      "'performance_schema', 'sys') AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'");
  for (const std::string& name : names) {
    select.run(ParameterRows{1}.text(name));
    while (select.step()) {
      found.push_back(
          {failure, "tables",
           fmt::format("{}.{} has the engine {}, which has no transactions: what a "
                       "handler writes there stays when its event is undone",
                       select.text_at(0), select.text_at(1), select.text_at(2)),
           fmt::format("ALTER TABLE {}.{} ENGINE = InnoDB", select.text_at(0), select.text_at(1))});
    }
  }
  for (const std::string& each : statements) {
    const std::string defect = statement_defect(connection, each);
    if (!defect.empty()) found.push_back({failure, "statements", defect});
  }
}

}  // namespace

std::vector<Finding> examine(Connection& connection, std::span<const std::string> statements) {
  std::vector<Finding> found;
  examine_version(connection, found);
  examine_durability(connection, found);
  examine_server(connection, found);
  examine_privileges(connection, found);
  examine_tables(connection, statements, found);
  return found;
}

std::string statement_defect(Connection& connection, std::string_view sql) {
  try {
    connection.of_handler(sql);
    return {};
  } catch (const Error& error) {
    if (error.retryable()) throw;
    return error.what();
  }
}

}  // namespace onefold::mariadb
