#pragma once

#include <mysql.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "onefold/stores/mariadb/address.h"

namespace onefold::mariadb {

/// The server for the tests; empty if there is none.
inline std::string test_server() {
  const char* url = std::getenv("ONEFOLD_TEST_MARIADB");
  return url == nullptr ? "" : url;
}

/// A test that needs a server fails without one; otherwise it only says so.
inline bool servers_are_required() {
  return std::getenv("ONEFOLD_REQUIRE_SERVERS") != nullptr;
}

/// A client that knows nothing of Onefold.
class PlainClient {
 public:
  explicit PlainClient(const std::string& url) : handle_{mysql_init(nullptr)} {
    const Address address = parse_address(url);
    mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(handle_, address.host.c_str(), address.user.c_str(),
                           address.password.c_str(), address.database.c_str(), address.port,
                           nullptr, CLIENT_FOUND_ROWS) == nullptr) {
      fail();
    }
  }
  ~PlainClient() { mysql_close(handle_); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  ::MYSQL* handle() const noexcept { return handle_; }
  void execute(const std::string& sql) {
    if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) fail();
    mysql_free_result(mysql_store_result(handle_));
  }
  /// All rows as text; NULL as "NULL".
  std::vector<std::vector<std::string>> query(const std::string& sql) {
    if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) fail();
    MYSQL_RES* const result = mysql_store_result(handle_);
    if (result == nullptr) fail();
    std::vector<std::vector<std::string>> rows;
    while (MYSQL_ROW row = mysql_fetch_row(result)) {
      const unsigned long* const lengths = mysql_fetch_lengths(result);
      rows.emplace_back();
      for (unsigned int i = 0; i < mysql_num_fields(result); ++i) {
        rows.back().push_back(row[i] == nullptr ? "NULL" : std::string{row[i], lengths[i]});
      }
    }
    mysql_free_result(result);
    return rows;
  }
  std::string value(const std::string& sql) { return query(sql).at(0).at(0); }

 private:
  [[noreturn]] void fail() { throw std::runtime_error{mysql_error(handle_)}; }

  ::MYSQL* handle_;
};

/// A database that one test at a time has, empty. Creating the tables takes many times longer than
/// a test does, so the next one gets them.
class TestDatabase {
 public:
  TestDatabase() : server_{test_server() + "mysql"} {
    take_free_name();
    server_.execute("CREATE DATABASE IF NOT EXISTS " + name_);
    empty();
  }
  ~TestDatabase() = default;
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  /// Forgets the tables, too.
  void recreate() {
    server_.execute("DROP DATABASE " + name_);
    server_.execute("CREATE DATABASE " + name_);
  }
  const std::string& name() const noexcept { return name_; }
  std::string url() const { return test_server() + name_; }
  /// On the server, and no database.
  PlainClient& server() noexcept { return server_; }
  std::string table(const std::string& name) const { return name_ + "." + name; }

 private:
  /// The lock ends with the connection, however the test ends.
  void take_free_name() {
    for (int number = 0;; ++number) {
      name_ = "test_" + std::to_string(number);
      if (server_.value("SELECT GET_LOCK('" + name_ + "', 0)") == "1") return;
    }
  }
  void empty() {
    server_.execute("SET foreign_key_checks = 0");
    for (const auto& row : server_.query("SELECT table_name FROM information_schema.tables "
                                         "WHERE table_schema = '" +
                                         name_ + "'")) {
      const std::string& name = row.at(0);
      if (name == "onefold_migration") continue;
      const bool stays = name.starts_with("onefold_") || name == "cell";
      server_.execute((stays ? "DELETE FROM " : "DROP TABLE ") + table(name));
      // An export names scopes by their numbers, and must find them in another empty database.
      if (name == "onefold_consumer" || name == "onefold_scope") {
        server_.execute("ALTER TABLE " + table(name) + " AUTO_INCREMENT = 1");
      }
    }
    server_.execute("SET foreign_key_checks = 1");
  }

  PlainClient server_;
  std::string name_;
};

}  // namespace onefold::mariadb
