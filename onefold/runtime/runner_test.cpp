#include "onefold/runner.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/error.h"
#include "onefold/formats/fields.h"
#include "onefold/replays.h"
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold {
namespace {

/// Real files in a folder that goes away, a real database, and the public interface alone.
class RunnerTest : public testing::Test {
 public:
  RunnerTest()
      : folder_{std::filesystem::temp_directory_path() /
                ("onefold_runner_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    store_ = sqlite::open_store({.path = path("shop.db")});
    change("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    change("INSERT INTO account VALUES (1, 0), (2, 0)");
  }
  ~RunnerTest() override { std::filesystem::remove_all(folder_); }
  RunnerTest(const RunnerTest&) = delete;
  RunnerTest& operator=(const RunnerTest&) = delete;

 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void change(const std::string& sql) {
    store_->housekeeping()->migrate();
    const auto session = store_->connect();
    const auto transaction = session->begin();
    // The schema is changed here too, which no handler may do.
    sqlite3_set_authorizer(sqlite::connection(*transaction), nullptr, nullptr);
    transaction->statements().change(sql, {});
    ASSERT_EQ(transaction->commit(), CommitResult::committed);
  }
  std::int64_t balance(std::int64_t account) {
    const auto session = store_->connect();
    const auto transaction = session->begin();
    return std::get<std::int64_t>(
        transaction->statements()
            .query("SELECT balance FROM account WHERE id = :id", {{"id", account}})
            .at(0)
            .at(0));
  }

  SourceFactory file_of(const std::string& name, std::initializer_list<const char*> lines) {
    std::ofstream out{path(name + ".jsonl"), std::ios::app};
    for (const char* line : lines) out << line << '\n';
    return file::source({.name = name,
                         .path = path(name + ".jsonl"),
                         .format = file::Format::json,
                         .identity = {.id = "/id", .source = "literal:shop", .type = "/type"},
                         .id_prefix = prefix_});
  }

  /// As `.backup` and `.restore` do it, beside whoever works on them.
  void copy_database(const std::string& from, const std::string& to) const {
    sqlite3* source = nullptr;
    sqlite3* target = nullptr;
    ASSERT_EQ(sqlite3_open(path(from).c_str(), &source), SQLITE_OK);
    ASSERT_EQ(sqlite3_open(path(to).c_str(), &target), SQLITE_OK);
    sqlite3_backup* const backup = sqlite3_backup_init(target, "main", source, "main");
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
    sqlite3_close(source);
    sqlite3_close(target);
  }

  static Consumer billing(const std::string& name = "billing") {
    Consumer consumer{.name = name};
    consumer.on("credit", [](const Event& event, Context& context) {
      const Fields fields{event};
      context.sql().execute(
          "UPDATE account SET balance = balance + :amount WHERE id = :account",
          {{"amount", fields.int64("/amount")}, {"account", fields.int64("/account")}}, 1);
      return Answer::done();
    });
    return consumer;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  std::string prefix_;
};

constexpr const char* first = R"({"id":"e1","type":"credit","account":1,"amount":10})";
constexpr const char* second = R"({"id":"e2","type":"credit","account":2,"amount":5})";
constexpr const char* reordered = R"({"amount":10,"account":1,"type":"credit","id":"e1"})";
constexpr const char* forged = R"({"id":"e1","type":"credit","account":1,"amount":99})";
constexpr const char* mistyped = R"({"id":"e3","type":"credit","account":1,"amount":"ten"})";

TEST_F(RunnerTest, AConsumerThatIsAddedAgainMustBeTheSame) {
  Runner runner{*store_};
  Consumer billing{.name = "billing"};
  billing.on("payment", [](const Event&, Context&) { return Answer::done(); });
  runner.add(billing, file_of("first", {}));
  runner.add(billing, file_of("second", {}));
  Consumer other = billing;
  other.on("refund", [](const Event&, Context&) { return Answer::done(); });
  EXPECT_THROW(runner.add(other, file_of("third", {})), Error);
  other = billing;
  other.keys = {{.rule = "payment", .values = {"/id"}}};
  EXPECT_THROW(runner.add(other, file_of("third", {})), Error);
  other = billing;
  other.batch_max = 7;
  EXPECT_THROW(runner.add(other, file_of("third", {})), Error);
}

TEST_F(RunnerTest, AFileIsAppliedOnceHoweverOftenItIsRun) {
  const SourceFactory source = file_of("orders", {first, second, reordered, forged, mistyped, "{"});
  for (int run = 0; run < 3; ++run) {
    Runner runner{*store_};
    runner.add(billing(), source);
    const Totals totals = runner.run_until_idle();
    EXPECT_EQ(totals.received(), run == 0 ? 6 : 0);
    EXPECT_EQ(totals[Outcome::applied], run == 0 ? 2 : 0);
    EXPECT_EQ(totals[Outcome::duplicate], run == 0 ? 1 : 0);
    EXPECT_EQ(totals[Outcome::conflict], run == 0 ? 1 : 0);
    EXPECT_EQ(totals[Outcome::dead], run == 0 ? 2 : 0);
  }
  EXPECT_EQ(balance(1), 10);
  EXPECT_EQ(balance(2), 5);
}

TEST_F(RunnerTest, B15_SeveralConsumersAndSourcesShareASession) {
  Runner runner{*store_};
  runner.add(billing(), file_of("orders", {first, second}));
  runner.add(billing(), file_of("again", {second, first}));
  runner.add(billing("mail"), file_of("orders", {}));
  const Totals totals = runner.run_until_idle();
  EXPECT_EQ(totals[Outcome::applied], 4);
  EXPECT_EQ(totals[Outcome::duplicate], 2);
  EXPECT_EQ(balance(1), 20);
  EXPECT_EQ(balance(2), 10);
}

TEST_F(RunnerTest, B02_AHandlerThatCommitsOnOurConnectionFailsLoudly) {
  Consumer consumer = billing();
  consumer.on({.name = "careless", .type = "credit", .handle = [](const Event&, Context& context) {
                 // What a library that knows nothing of us would do, without looking at the result.
                 sqlite3_exec(sqlite::connection(context.transaction()), "COMMIT", nullptr, nullptr,
                              nullptr);
                 return Answer::done();
               }});
  Runner runner{*store_};
  runner.add(consumer, file_of("orders", {first, second}));
  try {
    runner.run_until_idle();
    FAIL() << "the consumer went on";
  } catch (const Error& error) {
    EXPECT_TRUE(error.contract_violation());
    EXPECT_NE(std::string{error.what()}.find("e1"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("careless"), std::string::npos) << error.what();
  }
  EXPECT_EQ(balance(1), 0);
  Runner healthy{*store_};
  healthy.add(billing(), file_of("orders", {}));
  EXPECT_EQ(healthy.run_until_idle()[Outcome::applied], 2);
  EXPECT_EQ(balance(1), 10);
}

TEST_F(RunnerTest, P10_ARestoreUnderTheRunningProcessLosesNothing) {
  const SourceFactory source = file_of("orders", {});
  {
    std::ofstream out{path("orders.jsonl")};
    for (int i = 0; i < 20; ++i) {
      out << R"({"id":"e)" << i << R"(","type":"credit","account":1,"amount":10})" << '\n';
    }
  }
  Consumer consumer = billing();
  consumer.batch_max = 2;
  std::vector<std::string> notices;
  bool restored = false;
  Runner runner{*store_,
                {.notify = [&](const Notice& notice) { notices.push_back(notice.text); },
                 .progress =
                     [&](const Totals& totals) {
                       if (totals.received() == 4) copy_database("shop.db", "old.db");
                       if (totals.received() < 12 || restored) return;
                       copy_database("old.db", "shop.db");
                       restored = true;
                     }}};
  runner.add(consumer, source);
  const Totals totals = runner.run_until_idle();
  EXPECT_TRUE(restored);
  EXPECT_EQ(balance(1), 200);
  EXPECT_EQ(totals[Outcome::duplicate], 0);
  EXPECT_TRUE(std::ranges::any_of(notices, [](const std::string& text) {
    return text.find("DATA_LOSS_SUSPECTED") != std::string::npos;
  }));
}

TEST_F(RunnerTest, ChangedKeyRulesAreRefusedUntilAPersonSaysWhy) {
  {
    Runner runner{*store_};
    runner.add(billing(), file_of("orders", {first}));
    runner.run_until_idle();
  }
  prefix_ = "evt_";
  {
    Runner runner{*store_};
    runner.add(billing(), file_of("orders", {second}));
    try {
      runner.run_until_idle();
      FAIL() << "the rule was changed in silence";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      EXPECT_NE(std::string{error.what()}.find("id_prefixes"), std::string::npos) << error.what();
    }
  }
  Runner runner{*store_, {.rule_change = RuleChange{.who = "ann", .reason = "new publisher"}}};
  runner.add(billing(), file_of("orders", {}));
  EXPECT_EQ(runner.run_until_idle()[Outcome::applied], 1);
}

TEST_F(RunnerTest, AnotherSourceIsNoChangeOfRules) {
  {
    Runner runner{*store_};
    runner.add(billing(), file_of("orders", {first}));
    runner.run_until_idle();
  }
  Runner runner{*store_};
  runner.add(billing(), file_of("orders", {}));
  runner.add(billing(), file_of("returns", {first, second}));
  const Totals totals = runner.run_until_idle();
  EXPECT_EQ(totals[Outcome::duplicate], 1);
  EXPECT_EQ(totals[Outcome::applied], 1);
}

TEST_F(RunnerTest, StopEndsAfterTheBatchInHand) {
  Consumer consumer = billing();
  consumer.batch_max = 1;
  std::int64_t seen = 0;
  Runner* running = nullptr;
  Runner runner{*store_, {.progress = [&](const Totals& totals) {
                  seen = totals.received();
                  running->stop();
                }}};
  running = &runner;
  runner.add(consumer, file_of("orders", {first, second}));
  EXPECT_EQ(runner.run().received(), 1);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(balance(1), 10);
  EXPECT_EQ(balance(2), 0);
}

TEST_F(RunnerTest, P9_ARangeIsReadAgainUntilItsEnd) {
  const SourceFactory source = file_of("orders", {first, second});
  {
    Runner runner{*store_};
    runner.add(billing(), source);
    runner.run_until_idle();
  }
  const auto replays = store_->replays();
  const auto start = [&](const char* id, const char* from) {
    replays->start({.id = id,
                    .consumer = "billing",
                    .range = {.source = from},
                    .decision = {.who = "ada", .reason = "a backup"}});
  };
  start("r1", "orders");
  start("r2", "gone");
  Runner runner{*store_};
  runner.add(billing(), file_of("orders", {reordered}));
  const Totals totals = runner.run_until_idle();
  EXPECT_EQ(totals[Outcome::applied], 0);
  EXPECT_EQ(totals[Outcome::duplicate], 3) << "two of them again, and what came later once";
  const ReplayRecord done = replays->list("r1").at(0);
  EXPECT_EQ(done.state, ReplayState::done);
  EXPECT_EQ(done.duplicate, 2);
  EXPECT_EQ(replays->list("r2").at(0).state, ReplayState::paused);
  EXPECT_NE(replays->list("r2").at(0).note.find("no source 'gone'"), std::string::npos);
  EXPECT_EQ(balance(1), 10);
  EXPECT_EQ(balance(2), 5);
}

TEST_F(RunnerTest, WhatCannotWorkIsRefusedInWords) {
  Runner runner{*store_};
  const auto refused = [&](const Consumer& consumer) {
    try {
      runner.add(consumer, file_of("orders", {}));
    } catch (const Error& error) {
      return error.kind() == ErrorKind::bad_configuration ? std::string{error.what()} : "";
    }
    return std::string{"accepted"};
  };
  Consumer nameless = billing("");
  EXPECT_NE(refused(nameless).find("needs a name"), std::string::npos);
  Consumer greedy = billing();
  greedy.batch_max = 100'000;
  EXPECT_NE(refused(greedy).find("batch_max"), std::string::npos);
  Consumer twice = billing();
  twice.on(twice.handlers.front());
  EXPECT_NE(refused(twice).find("two handlers"), std::string::npos);
  Consumer star = billing("star");
  star.on({.name = "x", .type = "a*b", .handle = star.handlers.front().handle});
  EXPECT_NE(refused(star).find('*'), std::string::npos);
  runner.add(billing(), file_of("orders", {}));
  EXPECT_NE(refused(billing()).find("twice"), std::string::npos);
  Consumer optimistic = billing("optimistic");
  optimistic.claim = ClaimMode::optimistic;
  EXPECT_EQ(refused(optimistic), "accepted");
  SourceFactory queue = file_of("queue", {});
  queue.traits.kind = SourceClass::queue;
  EXPECT_THROW(runner.add(optimistic, queue), Error) << "several may have its deliveries";
}

}  // namespace
}  // namespace onefold
