#pragma once

#include <mysql.h>

#include <string>

#include "onefold/stores/mariadb/address.h"
#include "onefold/stores/mariadb/connection.h"

/// How a connection has to be, and how it is made so.
namespace onefold::mariadb {

/// Opens a connection to `address`. Throws `Error`; the caller closes what is returned.
::MYSQL* connect(const Address& address, const Options& options, Purpose purpose);

/// The statement that sets a connection of ours up.
std::string set_up_sql(const Options& options, Purpose purpose);

/// From the values of innodb_flush_log_at_trx_commit, innodb_doublewrite, log_bin and sync_binlog.
Durability judge_durability(std::string_view flush, std::string_view doublewrite,
                            std::string_view log_bin, std::string_view sync);

/// What the server says about itself and the connection.
struct Settings {
  std::string version;
  std::string database;
  std::string sql_mode;
  std::string time_zone;
  std::string character_set;
  std::size_t packet_max = 0;
  Durability durability;
};
Settings read_settings(Connection& connection);

/// Throws `bad_configuration` if a transaction could go wrong on such a connection.
void require_settings(::MYSQL* handle, const Settings& settings);

}  // namespace onefold::mariadb
