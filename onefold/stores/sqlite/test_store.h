#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold::sqlite {

namespace fs = std::filesystem;

/// A database in a directory of its own, with one business table and one consumer.
class SqliteStore : public testing::Test {
 public:
  SqliteStore() {
    std::string pattern = (fs::temp_directory_path() / "onefold-sqlite-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    store_ = open_store(options());
    store_->housekeeping()->migrate();
    consumer_ = store_->housekeeping()->adopt({.name = "billing", .rules = ""}, {});
    session_ = store_->connect();
    scope_ = session_->scope({consumer_, "", "shop", "uuid"}).value();
    as_another_program("CREATE TABLE account (id TEXT PRIMARY KEY, balance INTEGER NOT NULL)");
    as_another_program("INSERT INTO account VALUES ('a', 100)");
  }
  ~SqliteStore() override {
    session_.reset();
    store_.reset();
    fs::remove_all(directory_);
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

 protected:
  /// What no handler may do, such as to change the schema.
  void as_another_program(const char* sql) {
    ::sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(options().path.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(raw);
  }
  Options options() const {
    return {.path = (directory_ / "shop.db").string(),
            .busy_timeout = std::chrono::milliseconds{20},
            .event_sources_max = 3};
  }
  std::int64_t balance() {
    const Rows rows = session_->begin()->statements().query("SELECT balance FROM account", {});
    return std::get<std::int64_t>(rows.at(0).at(0));
  }
  Evidence evidence(std::uint8_t number) const {
    Evidence one;
    one.key.scope = scope_;
    one.key.bytes.back() = number;
    one.event_source = "shop";
    one.event_id = "evt_1";
    one.recorded_at = Timestamp{std::chrono::microseconds{1000}};
    return one;
  }
  bool is_claimed(std::uint8_t number) {
    return store_->records()->evidence(evidence(number).key).has_value();
  }

  fs::path directory_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  ConsumerId consumer_ = 0;
  std::int32_t scope_ = 0;
};

template <class Work>
ErrorKind kind_thrown_by(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::bad_configuration;
}

inline constexpr const char* credit = "UPDATE account SET balance = balance + 10 WHERE id = 'a'";

}  // namespace onefold::sqlite
