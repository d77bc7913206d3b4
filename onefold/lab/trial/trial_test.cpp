#include "onefold/lab/trial/trial.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "onefold/error.h"
#include "onefold/lab/trial/business.h"
#include "onefold/lab/trial/copies.h"
#include "onefold/lab/trial/reader.h"
#include "onefold/lab/trial/sqlite_time.h"
#include "onefold/lab/trial/trial_seed.h"
#include "onefold/lab/trial/written.h"

namespace onefold::lab {
namespace {

namespace fs = std::filesystem;

/// A database in a folder of its own.
class TrialDatabase : public testing::Test {
 public:
  TrialDatabase() {
    std::string pattern = (fs::temp_directory_path() / "onefold-trial-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = (folder_ / "shop.db").string();
    execute(path_,
            "PRAGMA journal_mode = WAL; "
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); "
            "CREATE TABLE note (number INTEGER PRIMARY KEY, text TEXT); "
            "INSERT INTO account VALUES (1, 10), (2, 20);");
  }
  ~TrialDatabase() override { fs::remove_all(folder_); }
  TrialDatabase(const TrialDatabase&) = delete;
  TrialDatabase& operator=(const TrialDatabase&) = delete;

 protected:
  static void execute(const std::string& path, const char* sql) {
    Reader{path, Reader::Access::create}.execute(sql);
  }
  static std::string value(const std::string& path, const std::string& sql) {
    Reader reader{path, Reader::Access::read};
    std::string text;
    reader.each(sql, [&](sqlite3_stmt* row) { text += value_text(row, 0); });
    return text;
  }
  static BusinessRows rows(const std::string& path) {
    Reader reader{path, Reader::Access::read};
    return Business{reader, {}}.rows(reader);
  }

  fs::path folder_;
  std::string path_;
};

constexpr const char* balance = "SELECT balance FROM account WHERE id = 1";

TEST_F(TrialDatabase, CopiesGoBackByCuttingTheLog) {
  Copies copies{path_};
  execute(copies.path(), "UPDATE account SET balance = 11 WHERE id = 1");
  copies.settle();
  execute(copies.path(), "UPDATE account SET balance = 12 WHERE id = 1");
  const std::uint64_t then = copies.log_bytes();
  EXPECT_GT(then, 0U);
  execute(copies.path(), "UPDATE account SET balance = 13 WHERE id = 1");
  EXPECT_EQ(value(copies.path(), balance), "13");
  copies.cut_log(then);
  EXPECT_EQ(value(copies.path(), balance), "12");
  execute(copies.path(), "UPDATE account SET balance = 14 WHERE id = 1");
  EXPECT_EQ(value(copies.path(), balance), "14");
  copies.reset();
  EXPECT_EQ(value(copies.path(), balance), "11");
  EXPECT_EQ(value(path_, balance), "10");
}

TEST_F(TrialDatabase, ACopyIsGoneWithItsOwner) {
  std::string path;
  {
    const Copies copies{path_};
    path = copies.path();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(fs::path{path}.parent_path()));
  EXPECT_THROW(Copies{(folder_ / "none.db").string()}, Error);
}

TEST_F(TrialDatabase, TimeAndChanceComeFromTheLab) {
  SqliteTime time;
  const auto look = [&](std::uint64_t seed) {
    time.set(Timestamp{std::chrono::days{20'000}}, seed);
    return value(path_, "SELECT datetime('now') || hex(randomblob(8))");
  };
  const std::string first = look(1);
  EXPECT_TRUE(first.starts_with("'2024-10-04 00:00:00")) << first;
  EXPECT_EQ(look(1), first);
  EXPECT_NE(look(2), first);
}

TEST_F(TrialDatabase, EqualRowsInAnotherOrderAreEqual) {
  Reader reader{path_, Reader::Access::read};
  const Business business{reader, {}};
  execute(path_, "INSERT INTO note (text) VALUES ('a'), ('b')");
  const std::uint64_t before = business.digest(reader);
  execute(path_, "DELETE FROM account; INSERT INTO account VALUES (2, 20), (1, 10)");
  EXPECT_EQ(business.digest(reader), before);
  execute(path_, "UPDATE note SET text = NULL WHERE text = 'a'");
  EXPECT_NE(business.digest(reader), before);
}

TEST_F(TrialDatabase, DifferencesNameTheRow) {
  Reader reader{path_, Reader::Access::read};
  const Business business{reader, {}};
  const BusinessRows before = business.rows(reader);
  execute(path_, "UPDATE account SET balance = 7 WHERE id = 2; INSERT INTO note VALUES (1, 'a')");
  EXPECT_EQ(business.differences(before, business.rows(reader), 9),
            (std::vector<std::string>{"undisturbed: account id=2: balance=20",
                                      "       here: account id=2: balance=7",
                                      "       here: note number=1: text='a'"}));
  EXPECT_EQ(business.differences(before, business.rows(reader), 1).back(), "and 2 more");
}

TEST_F(TrialDatabase, OnlyNumbersThatSqliteGivesAreLeftOut) {
  Reader reader{path_, Reader::Access::read};
  Business business{reader, {}};
  execute(path_, "INSERT INTO note (text) VALUES ('a'), ('b')");
  const BusinessRows forwards = business.rows(reader);
  execute(path_,
          "DELETE FROM note; INSERT INTO note (text) VALUES ('b'), ('a'); "
          "UPDATE account SET balance = 30 - balance");
  const BusinessRows backwards = business.rows(reader);
  EXPECT_EQ(business.leave_out_numbers({"note"}, forwards, backwards),
            std::vector<std::string>{"note.number"});
  EXPECT_EQ(business.differences(forwards, backwards, 9).size(), 4U);
}

TEST_F(TrialDatabase, WhatVariesIsLeftOut) {
  Reader reader{path_, Reader::Access::read};
  Business business{reader, {}};
  const BusinessRows one = business.rows(reader);
  execute(path_, "UPDATE account SET balance = balance + 1");
  EXPECT_EQ(business.leave_out_varying(one, business.rows(reader)),
            std::vector<std::string>{"account.balance"});
  EXPECT_TRUE(business.differences(one, business.rows(reader), 9).empty());
  EXPECT_FALSE(business.leave_out("account", "none"));
}

TEST_F(TrialDatabase, TriggersAndForeignKeysWriteToo) {
  execute(path_,
          "CREATE TABLE entry (account INTEGER REFERENCES account (id) ON DELETE CASCADE); "
          "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE account SET balance = 0; END;");
  using Names = std::set<std::string>;
  EXPECT_EQ(tables_written_by({"SELECT * FROM entry"}, path_), Names{});
  EXPECT_EQ(tables_written_by({"INSERT INTO note (text) VALUES (:a)"}, path_),
            (Names{"account", "note"}));
  EXPECT_EQ(tables_written_by({"DELETE FROM account WHERE id = :a"}, path_),
            (Names{"account", "entry"}));
}

TEST_F(TrialDatabase, WhoGivesARowItsNumberIsKnown) {
  execute(
      path_,
      "CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT); "
      "CREATE TRIGGER t AFTER INSERT ON account BEGIN INSERT INTO log (text) VALUES ('a'); END");
  using Names = std::set<std::string>;
  const auto numbered = [&](const char* sql) { return tables_numbered_by({sql}, path_); };
  EXPECT_EQ(numbered("INSERT INTO note (text) VALUES (:a)"), Names{"note"});
  EXPECT_EQ(numbered("INSERT INTO note VALUES (NULL, :a)"), Names{"note"});
  EXPECT_EQ(numbered("INSERT INTO note (text) SELECT text FROM log"), Names{"note"});
  EXPECT_EQ(numbered("INSERT INTO log (text) VALUES (:a)"), Names{"log"});
  EXPECT_EQ(numbered("INSERT INTO account VALUES (:a, :b)"), Names{"log"});
  EXPECT_EQ(numbered("INSERT OR REPLACE INTO note (number, text) VALUES (:a, :b)"), Names{});
  EXPECT_EQ(numbered("INSERT INTO note (number, text) SELECT id, 'a' FROM account"), Names{});
  EXPECT_EQ(numbered("UPDATE account SET balance = :a"), Names{});
}

TEST(TrialSeed, IsReadAsItWasWritten) {
  for (const char* text : {"T1:kept:e6:d20788:3fa2c1d0:7.2-13.1", "T1:any:e50x0.4:d0:00000000:0"}) {
    EXPECT_EQ(to_text(trial_seed_from(text)), text);
  }
}

TEST(TrialSeed, RefusesWhatIsNone) {
  for (const char* text :
       {"", "T1", "T2:kept:e6:d1:0:0", "T1:both:e6:d1:0:0", "T1:kept:6:d1:0:0", "T1:kept:e6:1:0:0",
        "T1:kept:e6:d1:x:0", "T1:kept:e6:d1:0:7", "T1:kept:e6:d1:0:7.256", "T1:kept:e6x:d1:0:0",
        "T1:kept:e6:d1:0:99999999.1", "T1:kept:e6:d1:0:0:0"}) {
    EXPECT_THROW(trial_seed_from(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace onefold::lab
