#pragma once

#include <libpq-fe.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace onefold::postgres {

/// The server for the tests; empty if there is none.
inline std::string test_server() {
  const char* url = std::getenv("ONEFOLD_TEST_POSTGRES");
  return url == nullptr ? "" : url;
}

/// A test that needs a server fails without one; otherwise it only says so.
inline bool servers_are_required() {
  return std::getenv("ONEFOLD_REQUIRE_SERVERS") != nullptr;
}

/// A client that knows nothing of Onefold.
class PlainClient {
 public:
  explicit PlainClient(const std::string& url) : handle_{PQconnectdb(url.c_str())} {
    if (PQstatus(handle_) != CONNECTION_OK) fail();
    PQsetNoticeProcessor(handle_, [](void*, const char*) {}, nullptr);
  }
  ~PlainClient() { PQfinish(handle_); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  ::PGconn* handle() const noexcept { return handle_; }
  /// All rows as text; NULL as "".
  std::vector<std::vector<std::string>> query(const std::string& sql) {
    ::PGresult* const result = PQexec(handle_, sql.c_str());
    const auto status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      PQclear(result);
      fail();
    }
    std::vector<std::vector<std::string>> rows;
    for (int row = 0; row < PQntuples(result); ++row) {
      rows.emplace_back();
      for (int column = 0; column < PQnfields(result); ++column) {
        rows.back().emplace_back(PQgetvalue(result, row, column));
      }
    }
    PQclear(result);
    return rows;
  }
  void execute(const std::string& sql) { query(sql); }
  std::string value(const std::string& sql) { return query(sql).at(0).at(0); }

 private:
  [[noreturn]] void fail() { throw std::runtime_error{PQerrorMessage(handle_)}; }

  ::PGconn* handle_;
};

/// A schema that one test at a time has, empty; names without a schema are looked for in it.
/// Creating the tables takes longer than a test does, so the next one gets them.
class TestDatabase {
 public:
  TestDatabase() : server_{test_server()} {
    server_.execute("SET synchronous_commit = off");
    take_free_name();
    server_.execute("CREATE SCHEMA IF NOT EXISTS " + schema_);
    server_.execute("SET search_path = " + schema_);
    empty();
  }
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& schema() const noexcept { return schema_; }
  std::string url(const std::string& more = {}) const {
    return test_server() + "?options=-csearch_path%3D" + schema_ + more;
  }
  /// On the server, in the schema.
  PlainClient& server() noexcept { return server_; }
  /// Forgets the tables, too.
  void recreate() {
    server_.execute("DROP SCHEMA " + schema_ + " CASCADE");
    server_.execute("CREATE SCHEMA " + schema_);
  }

 private:
  /// The lock ends with the connection, however the test ends.
  void take_free_name() {
    for (int number = 0;; ++number) {
      schema_ = "test_" + std::to_string(number);
      if (server_.value("SELECT pg_try_advisory_lock(hashtext('" + schema_ + "'))") == "t") return;
    }
  }
  /// Takes away what the previous test has made, but not the tables of Onefold.
  void empty() {
    std::string ours;
    for (const auto& row : server_.query("SELECT tablename FROM pg_tables WHERE schemaname = '" +
                                         schema_ + "' AND tablename <> 'migration'")) {
      const std::string& name = row.at(0);
      const std::set<std::string> tables{"consumer", "scope",   "inbox",  "deferred",
                                         "position", "audit",   "pause",  "replay",
                                         "run",      "careful", "suspect"};
      const bool is_ours = tables.contains(name);
      if (is_ours) {
        ours += (ours.empty() ? "" : ", ") + name;
      } else {
        server_.execute("DROP TABLE " + name + " CASCADE");
      }
    }
    if (!ours.empty()) server_.execute("TRUNCATE " + ours + " RESTART IDENTITY");
  }

  PlainClient server_;
  std::string schema_;
};

}  // namespace onefold::postgres
