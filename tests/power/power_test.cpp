// The real worker on SQLite, on a disk that loses power or fails at its first call, its second, its
// third … until a run gets through. What was confirmed has to be there once, whatever the disk kept
// of what was not synced, and the rest has to follow.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "onefold/housekeeping.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"
#include "onefold/stores/sqlite/sqlite.h"
#include "tests/faults/scripted_source.h"
#include "tests/power/disk.h"

namespace onefold::power {
namespace {

constexpr int events = 20;
constexpr int calls_max = 2000;  ///< Of one kind in one run; there are about a hundred.

constexpr int steps_enough = 5000;

/// Disks that lose something else at each point; the soak has more.
int disks_each(int usually) {
  const char* const factor = std::getenv("ONEFOLD_POWER_DISKS");
  return factor != nullptr ? usually * std::stoi(factor) : usually;
}

class PatientClock final : public Clock {
 public:
  Timestamp now() override { return Timestamp{std::chrono::seconds{1'700'000'000}} + passed_; }
  std::chrono::steady_clock::time_point ticks() override {
    return std::chrono::steady_clock::time_point{std::chrono::hours{1}} + passed_;
  }
  void pass() { passed_ += std::chrono::seconds{10}; }

 private:
  std::chrono::seconds passed_{0};
};

Answer credit(const Event& event, Context& context) {
  context.sql().execute("INSERT INTO payment (event_id) VALUES (:id)", {{"id", event.id}}, 1);
  context.sql().execute("UPDATE account SET balance = balance + 10 WHERE id = 1", {}, 1);
  return Answer::done();
}

/// What a database holds, as a visitor sees it.
struct Books {
  std::string integrity;
  std::map<std::string, std::int64_t> payments;  ///< How often each event was applied.
  std::set<std::string> inbox;
  std::int64_t balance = 0;
};

/// A folder that goes with it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "onefold-power-XXXXXX");
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The database before the first event, with a log as after a crash. Made once.
const Folder& prepared() {
  static const Folder folder;
  static const bool made = [] {
    const std::string path = folder.path() / "shop.db";
    sqlite::open_store({.path = path})->housekeeping()->migrate();
    ::sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    const char* const sql =
        "CREATE TABLE payment (event_id TEXT NOT NULL);"
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);"
        "INSERT INTO account VALUES (1, 0)";
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
    return true;
  }();
  EXPECT_TRUE(made);
  return folder;
}

class Bank {
 public:
  // The prepared database is made on a disk without faults.
  Bank(SourceClass kind, std::uint32_t seed) : Bank{kind, seed, prepared()} {}
  Bank(SourceClass kind, std::uint32_t seed, const Folder& prepared)
      : disk{seed}, is_queue_{kind == SourceClass::queue}, broker_{"orders", kind} {
    for (const char* name : {"shop.db", "shop.db-wal"}) {
      std::filesystem::copy(prepared.path() / name, folder_.path() / name);
    }
    consumer_.name = "billing";
    consumer_.batch_max = 4;
    consumer_.on("payment", credit);
    for (int i = 0; i < events; ++i) {
      const std::string id = "e" + std::to_string(i);
      broker_.add(faults::event(id, "{}", "payment"));
      // Few duplicates: they hide losses.
      if (i % 5 == 4) broker_.add(faults::event("e" + std::to_string(i - 2), "{}", "payment"));
    }
  }
  /// A process: it ends when all is done, when the power is gone, or if it cannot even start; else
  /// it is killed. Returns whether all was done.
  bool run(int steps_max = steps_enough) {
    try {
      const auto store = sqlite::open_store({.path = path(), .busy_timeout = {}});
      const SourceFactory source = broker_.factory();
      const ConsumerId id = store->housekeeping()->adopt(
          {.name = consumer_.name, .rules = rules_of(consumer_, {&source, 1}), .mode = mode}, {});
      const Subscription subscription{
          .consumer = consumer_, .id = id, .source = source, .mode = mode, .id_prefixes = {}};
      Connection connection{*store};
      Worker worker{subscription, connection, clock_, {}};
      const bool finished = work(worker, steps_max);
      dead += worker.totals()[Outcome::dead] + worker.totals()[Outcome::conflict];
      return finished;
    } catch (const Error& error) {
      if (working_ || !error.retryable()) ADD_FAILURE() << error.what();
      return false;
    }
  }

  Books books() {
    const auto store = sqlite::open_store({.path = path(), .role = sqlite::Role::visitor});
    const auto session = store->connect();
    const auto transaction = session->begin();
    sqlite3_set_authorizer(sqlite::connection(*transaction), nullptr, nullptr);
    Statements& sql = transaction->statements();
    Books books;
    const auto text = [](const Value& value) { return std::get<std::string>(value); };
    books.integrity = text(sql.query("PRAGMA integrity_check", {}).at(0).at(0));
    for (const auto& row :
         sql.query("SELECT event_id, count(*) FROM payment GROUP BY event_id", {})) {
      books.payments[text(row.at(0))] = std::get<std::int64_t>(row.at(1));
    }
    for (const auto& row : sql.query("SELECT event_id FROM onefold_inbox", {})) {
      books.inbox.insert(text(row.at(0)));
    }
    books.balance =
        std::get<std::int64_t>(sql.query("SELECT sum(balance) FROM account", {}).at(0).at(0));
    return books;
  }

  /// Confirmed events that are not there; what is there has to agree with itself in any case.
  std::size_t lost() {
    const Books now = books();
    EXPECT_EQ(now.integrity, "ok");
    EXPECT_EQ(now.balance, 10 * static_cast<std::int64_t>(now.payments.size()));
    EXPECT_EQ(now.inbox.size(), now.payments.size());
    for (const auto& [id, count] : now.payments) {
      EXPECT_EQ(count, 1) << id;
      EXPECT_TRUE(now.inbox.contains(id)) << id;
    }
    std::set<std::string> missing;
    for (const auto& one : broker_.acknowledged()) {
      if (!now.payments.contains(one.event_id)) missing.insert(one.event_id);
    }
    applied_ = now.payments.size();
    return missing.size();
  }

  void expect_converged() {
    EXPECT_EQ(lost(), 0U);
    EXPECT_EQ(applied_, static_cast<std::size_t>(events));
    // A log goes on behind what was committed, whatever it has heard of it.
    if (is_queue_) {
      EXPECT_EQ(broker_.unacknowledged(), 0U);
    }
    EXPECT_EQ(dead, 0) << "an event was blamed for what the disk did";
  }

  Disk disk;
  std::int64_t dead = 0;

  std::string path() const { return folder_.path() / "shop.db"; }

 private:
  static constexpr ClaimMode mode = ClaimMode::claim_first;

  bool work(Worker& worker, int steps_max) {
    working_ = true;
    for (int steps = 0; steps < steps_max && disk.is_on(); ++steps) {
      const StepResult result = worker.step();
      if (result == StepResult::waiting) clock_.pass();
      if (result == StepResult::idle && worker.at_end()) {
        working_ = false;
        return true;
      }
    }
    EXPECT_TRUE(steps_max < steps_enough || !disk.is_on()) << "the worker does not come to rest";
    working_ = false;
    return false;
  }

  bool is_queue_;
  Folder folder_;
  faults::ScriptedBroker broker_;
  Consumer consumer_;
  PatientClock clock_;
  std::size_t applied_ = 0;
  bool working_ = false;
};

std::uint32_t seed_of(int nth, int disk) {
  return static_cast<std::uint32_t>(nth * 1009 + disk);
}

/// Disturbs the first call, the second, … until there is none left to disturb, on some disks each.
/// `trial` says whether it happened; returned is how often it did.
template <class Trial>
int count_points(int disks, Trial trial) {
  int points = 0;
  for (int nth = 1; nth < calls_max; ++nth) {
    bool happened = false;
    for (int number = 0; number < disks_each(disks); ++number) {
      SCOPED_TRACE("call " + std::to_string(nth) + ", disk " + std::to_string(number));
      happened = trial(nth, number);
      points += happened ? 1 : 0;
      if (testing::Test::HasFailure()) return points;
    }
    if (!happened) break;
  }
  return points;
}

class Power : public testing::TestWithParam<SourceClass> {};
INSTANTIATE_TEST_SUITE_P(Sources, Power,
                         testing::Values(SourceClass::queue, SourceClass::owned_log),
                         [](const auto& one) {
                           return one.param == SourceClass::queue ? "Queue" : "Log";
                         });

TEST_P(Power, P2_P3_ACutAtAnyCallLosesNothingThatWasConfirmed) {
  const int points = count_points(2, [](int nth, int number) {
    Bank bank{GetParam(), seed_of(nth, number)};
    bank.disk.fail(Fault::cut, nth);
    bank.run();
    const bool happened = bank.disk.happened();
    bank.disk.cut_and_restart();
    EXPECT_EQ(bank.lost(), 0U);
    // Every other disk is cut again while the next process recovers.
    if (number % 2 == 1) {
      bank.disk.fail(Fault::cut, 1 + static_cast<int>(seed_of(nth, number) % 40));
      bank.run();
      bank.disk.cut_and_restart();
      EXPECT_EQ(bank.lost(), 0U);
    }
    EXPECT_TRUE(bank.run());
    bank.expect_converged();
    return happened;
  });
  std::cout << points << " power cuts\n";
  EXPECT_GT(points, 100);
}

/// One call, or twelve in a row, fail; the process lives on, and all has to be well without another
/// one. What it then has confirmed survives a power cut.
class Failing : public testing::TestWithParam<std::tuple<Fault, int>> {};

std::string name_of(const testing::TestParamInfo<std::tuple<Fault, int>>& one) {
  const std::map<Fault, std::string> names{{Fault::write_error, "WriteError"},
                                           {Fault::full, "Full"},
                                           {Fault::short_write, "ShortWrite"},
                                           {Fault::sync_error, "SyncError"},
                                           {Fault::read_error, "ReadError"}};
  return names.at(std::get<0>(one.param)) + std::to_string(std::get<1>(one.param));
}

INSTANTIATE_TEST_SUITE_P(Faults, Failing,
                         testing::Combine(testing::Values(Fault::write_error, Fault::full,
                                                          Fault::short_write, Fault::sync_error,
                                                          Fault::read_error),
                                          testing::Values(1, 12)),
                         name_of);

TEST_P(Failing, P3_ADiskThatFailsAtAnyCallLosesNothing) {
  const Fault fault = std::get<0>(GetParam());
  const int times = std::get<1>(GetParam());
  const int points = count_points(fault == Fault::sync_error ? 8 : 1, [&](int nth, int number) {
    Bank bank{SourceClass::queue, seed_of(nth, number)};
    bank.disk.fail(fault, nth, times);
    const bool finished = bank.run();
    const bool happened = bank.disk.happened();
    bank.disk.cut_and_restart();
    EXPECT_EQ(bank.lost(), 0U);
    if (!finished) {
      EXPECT_TRUE(bank.run());
    }
    bank.expect_converged();
    return happened;
  });
  std::cout << points << " failures\n";
  EXPECT_GT(points, 10);
}

/// A program of somebody else.
class Other {
 public:
  Other(const std::string& path, const char* sql) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    EXPECT_EQ(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~Other() { sqlite3_close(database_); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

 private:
  ::sqlite3* database_ = nullptr;
};

/// What could not be synced is not on the disk because a later sync succeeds. It has to be copied
/// before anything is built upon it, and somebody who reads what was before keeps it from that.
TEST(FailingSync, P2_NothingIsConfirmedBehindALogThatCouldNotBeSynced) {
  const int points = count_points(8, [](int nth, int number) {
    Bank bank{SourceClass::queue, seed_of(nth, number)};
    bool happened = false;
    {
      bank.run(0);
      const Other reader{bank.path(), "BEGIN; SELECT count(*) FROM payment"};
      // Killed before it has synced.
      const Other killed{bank.path(),
                         "PRAGMA synchronous = OFF; INSERT INTO account VALUES (2, 0)"};
      bank.disk.fail(Fault::sync_error, nth);
      bank.run(300);
      happened = bank.disk.happened();
    }
    bank.disk.cut_and_restart();
    EXPECT_EQ(bank.lost(), 0U);
    EXPECT_TRUE(bank.run());
    bank.expect_converged();
    return happened;
  });
  std::cout << points << " failures\n";
  EXPECT_GT(points, 10);
}

/// What the tests above are worth: without a sync at each commit they find losses, and a log that
/// can be read again heals them.
TEST(LazyPower, P10_WithoutSyncsAQueueLosesAndALogHeals) {
  std::size_t lost_by_queue = 0;
  std::size_t lost_by_log = 0;
  for (int nth = 1; nth < calls_max; ++nth) {
    SCOPED_TRACE("cut at call " + std::to_string(nth));
    bool happened = false;
    for (const SourceClass kind : {SourceClass::queue, SourceClass::owned_log}) {
      Bank bank{kind, seed_of(nth, 0)};
      bank.disk.set_lazy(true);
      bank.disk.fail(Fault::cut, nth);
      bank.run();
      happened = bank.disk.happened();
      bank.disk.cut_and_restart();
      (kind == SourceClass::queue ? lost_by_queue : lost_by_log) += bank.lost();
      if (kind == SourceClass::queue) continue;
      EXPECT_TRUE(bank.run());
      bank.expect_converged();
    }
    if (!happened || testing::Test::HasFailure()) break;
  }
  EXPECT_GT(lost_by_queue, 0U);
  EXPECT_GT(lost_by_log, 0U);
}

}  // namespace
}  // namespace onefold::power
