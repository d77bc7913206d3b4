// Several workers of one process on a server: a thread and a session for each.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "onefold/brokers/file/file.h"
#include "onefold/error.h"
#include "onefold/formats/fields.h"
#include "onefold/runner.h"
#include "onefold/stores/postgres/postgres.h"
#include "onefold/stores/postgres/test_database.h"

namespace onefold {
namespace {

class RunnerLive : public testing::Test {
 protected:
  void SetUp() override {
    if (postgres::test_server().empty()) {
      if (postgres::servers_are_required()) FAIL() << "ONEFOLD_TEST_POSTGRES is not set";
      GTEST_SKIP() << "ONEFOLD_TEST_POSTGRES is not set";
    }
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    database_.emplace();
    database_->server().execute("CREATE TABLE account (id bigint PRIMARY KEY, balance bigint)");
    database_->server().execute("INSERT INTO account VALUES (0, 0), (1, 0), (2, 0)");
    store_ = postgres::open_store({.connection = database_->url(), .schema = database_->schema()});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The same events in every file, each beginning elsewhere.
  SourceFactory file(int number) {
    const std::string name = "events" + std::to_string(number);
    std::ofstream out{folder_ / name};
    for (int i = 0; i < events_; ++i) {
      const int event = (i + number * events_ / 7) % events_;
      out << R"({"id":"e)" << event << R"(","type":"credit","account":)" << event % 3 << "}\n";
    }
    return file::source({.name = name,
                         .path = folder_ / name,
                         .format = file::Format::json,
                         .identity = {.id = "/id", .source = "literal:shop", .type = "/type"}});
  }

  Consumer billing() {
    Consumer consumer{.name = "billing"};
    consumer.batch_max = 20;
    consumer.on("credit", [this](const Event& event, Context& context) {
      {
        // The first batches are of different events, so that nobody waits for who waits here.
        std::unique_lock lock{mutex_};
        threads_.insert(std::this_thread::get_id());
        arrived_.notify_all();
        arrived_.wait_for(lock, std::chrono::seconds{20},
                          [this] { return threads_.size() >= threads_awaited_; });
      }
      context.sql().execute("UPDATE account SET balance = balance + 1 WHERE id = :id",
                            {{"id", Fields{event}.int64("/account")}}, 1);
      return Answer::done();
    });
    return consumer;
  }

  void expect_each_once() {
    for (const char* account : {"0", "1", "2"}) {
      EXPECT_EQ(database_->server().value(std::string{"SELECT balance FROM account WHERE id = "} +
                                          account),
                std::to_string(events_ / 3));
    }
  }

  const int events_ = 210;
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("onefold_runner_live_" + std::to_string(::getpid()));
  std::optional<postgres::TestDatabase> database_;
  std::unique_ptr<Store> store_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::set<std::thread::id> threads_;
  std::size_t threads_awaited_ = 0;
};

TEST_F(RunnerLive, P1_WorkersInThreadsApplyEachEventOnce) {
  for (const ClaimMode mode : {ClaimMode::claim_first, ClaimMode::optimistic}) {
    SCOPED_TRACE(mode == ClaimMode::claim_first ? "claim first" : "optimistic");
    if (mode == ClaimMode::optimistic) {
      TearDown();
      SetUp();
    }
    threads_.clear();
    threads_awaited_ = 4;
    Consumer consumer = billing();
    consumer.claim = mode;
    std::int64_t told = 0;
    Runner runner{*store_, {.progress = [&](const Totals& totals) { told = totals.received(); }}};
    for (int number = 0; number < 4; ++number) runner.add(consumer, file(number));
    const Totals totals = runner.run_until_idle();
    EXPECT_EQ(totals[Outcome::applied], events_);
    EXPECT_EQ(totals[Outcome::duplicate], 3 * events_);
    EXPECT_EQ(told, totals.received());
    EXPECT_EQ(threads_.size(), 4U);
    expect_each_once();
  }
}

TEST_F(RunnerLive, OneThatHasToStopStopsAllAfterTheirBatch) {
  Consumer consumer = billing();
  const Handler apply = consumer.handlers[0].handle;
  std::atomic<int> calls = 0;
  consumer.handlers[0].handle = [&](const Event& event, Context& context) {
    if (++calls == 100) throw Error{ErrorKind::bad_configuration, "made up by the test"};
    return apply(event, context);
  };
  Runner runner{*store_, {.notify = {}}};
  for (int number = 0; number < 3; ++number) runner.add(consumer, file(number));
  EXPECT_THROW(runner.run_until_idle(), Error);
  Runner again{*store_, {.notify = {}}};
  for (int number = 0; number < 3; ++number) again.add(billing(), file(number));
  again.run_until_idle();
  expect_each_once();
}

TEST_F(RunnerLive, StopEndsAllThreads) {
  Runner runner{*store_, {.notify = {}}};
  for (int number = 0; number < 3; ++number) runner.add(billing(), file(number));
  std::jthread stopper{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    runner.stop();
  }};
  runner.run();  // Returns, or the test times out.
  EXPECT_GT(runner.totals().received(), 0);
}

}  // namespace
}  // namespace onefold
