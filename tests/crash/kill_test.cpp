// A real process on a real SQLite database, killed by SIGKILL exactly at each fault point K0 to K6,
// again and again, until one gets through. What counts is the converged tables.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/fields.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"
#include "onefold/stores/sqlite/sqlite.h"
#include "tests/faults/faulty_store.h"

namespace onefold {
namespace {

constexpr int events = 60;
constexpr int accounts = 5;

enum class Point { k0, k1, k2, k3, k4, k5, k6 };

/// Where the process dies: at the `nth` time that it passes `point`.
struct Death {
  Point point;
  int nth;
};

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

class Countdown {
 public:
  explicit Countdown(const Death& death) : death_{death} {}
  void pass(Point point) {
    if (point == death_.point && --death_.nth == 0) die();
  }

 private:
  Death death_;
};

/// The point that lies before a step, if one does.
void pass_before(Step step, Countdown& countdown) {
  switch (step) {
    case Step::identify:
      countdown.pass(Point::k0);
      break;
    case Step::handle:
      countdown.pass(Point::k1);
      break;
    case Step::commit:
      countdown.pass(Point::k3);
      break;
    case Step::acknowledge:
      countdown.pass(Point::k5);
      break;
    default:
      break;
  }
}

class Shop {
 public:
  explicit Shop(const std::string& name)
      : folder_{std::filesystem::temp_directory_path() /
                ("onefold_kill_" + name + "_" + std::to_string(::getpid()))} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write_events();
    const auto store = sqlite::open_store({.path = database()});
    store->housekeeping()->migrate();
    const auto session = store->connect();
    const auto transaction = session->begin();
    Statements& sql = transaction->statements();
    // No handler may change the schema.
    sqlite3_set_authorizer(sqlite::connection(*transaction), nullptr, nullptr);
    sql.change("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)", {});
    for (int id = 0; id < accounts; ++id) {
      sql.change("INSERT INTO account VALUES (:id, 0)", {{"id", id}});
    }
    EXPECT_EQ(transaction->commit(), CommitResult::committed);
  }
  ~Shop() { std::filesystem::remove_all(folder_); }
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;

  /// Runs to the end of the file in a process of its own; false if it was killed.
  bool run(const Death& death) const {
    const pid_t child = ::fork();
    if (child == 0) {
      work(death);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
  }

  std::map<std::int64_t, std::int64_t> balances() const {
    std::map<std::int64_t, std::int64_t> balances;
    const auto store = sqlite::open_store({.path = database(), .role = sqlite::Role::visitor});
    const auto session = store->connect();
    const auto transaction = session->begin();
    for (const auto& row : transaction->statements().query("SELECT id, balance FROM account", {})) {
      balances[std::get<std::int64_t>(row.at(0))] = std::get<std::int64_t>(row.at(1));
    }
    return balances;
  }
  const std::map<std::int64_t, std::int64_t>& expected() const { return expected_; }

 private:
  std::string database() const { return (folder_ / "shop.db").string(); }
  std::string log() const { return (folder_ / "events.jsonl").string(); }

  /// Every third event has a duplicate, near or far: duplicates hide losses, so most have none.
  void write_events() {
    std::ofstream out{log()};
    for (int i = 0; i < events; ++i) {
      const auto line = [&](int event) {
        out << R"({"id":"evt-)" << event << R"(","type":"credit","account":)" << event % accounts
            << R"(,"amount":)" << event + 1 << "}\n";
      };
      line(i);
      expected_[i % accounts] += i + 1;
      if (i % 3 == 0) line(i);
      if (i % 6 == 5) line(i / 2 / 3 * 3);
    }
  }

  void work(const Death& death) const {
    Countdown countdown{death};
    Consumer consumer{.name = "billing"};
    consumer.batch_max = 7;
    consumer.on("credit", [&](const Event& event, Context& context) {
      const Fields fields{event};
      context.sql().execute(
          "UPDATE account SET balance = balance + :amount WHERE id = :account",
          {{"amount", fields.int64("/amount")}, {"account", fields.int64("/account")}}, 1);
      countdown.pass(Point::k2);
      return Answer::done();
    });
    faults::Script script;
    script.at(
        faults::Call::commit, [] { die(); }, death.point == Point::k4 ? death.nth : 1 << 30,
        faults::Moment::after);
    const auto database_store = sqlite::open_store({.path = database()});
    const auto store = faults::faulty(*database_store, script);
    const SourceFactory source =
        file::source({.name = "orders",
                      .path = log(),
                      .format = file::Format::json,
                      .identity = {.id = "/id", .source = "literal:shop", .type = "/type"}});
    const auto housekeeping = database_store->housekeeping();
    const ConsumerId id = housekeeping->adopt({.name = consumer.name,
                                               .rules = rules_of(consumer, std::span{&source, 1}),
                                               .mode = ClaimMode::optimistic},
                                              {});
    const Subscription subscription{.consumer = consumer,
                                    .id = id,
                                    .source = source,
                                    .mode = ClaimMode::optimistic,
                                    .id_prefixes = {}};
    Connection connection{*store};
    Worker worker{subscription, connection, system_clock(), {}};
    while (true) {
      const Step step = worker.next();
      pass_before(step, countdown);
      if (worker.step() == StepResult::idle && worker.at_end()) return;
      if (step == Step::acknowledge) countdown.pass(Point::k6);
    }
  }

  std::filesystem::path folder_;
  std::map<std::int64_t, std::int64_t> expected_;
};

class KillTest : public testing::TestWithParam<Point> {};
INSTANTIATE_TEST_SUITE_P(Points, KillTest,
                         testing::Values(Point::k0, Point::k1, Point::k2, Point::k3, Point::k4,
                                         Point::k5, Point::k6),
                         [](const auto& one) {
                           return "K" + std::to_string(static_cast<int>(one.param));
                         });

TEST_P(KillTest, AKillAtThisPointEndsInTheRightBalances) {
  const std::string name = "K" + std::to_string(static_cast<int>(GetParam()));
  Shop shop{name};
  // Die at the first pass, then at the second of the next process, and so on: a process that dies
  // too early for any progress is followed by one that lives longer.
  int killed = 0;
  for (int nth = 1;; ++nth) {
    if (shop.run({GetParam(), nth})) break;
    ++killed;
    ASSERT_LT(nth, 200);
  }
  EXPECT_GE(killed, 3);
  EXPECT_EQ(shop.balances(), shop.expected());
  // Another process finds nothing to do.
  EXPECT_TRUE(shop.run({Point::k0, 1}));
  EXPECT_EQ(shop.balances(), shop.expected());
}

}  // namespace
}  // namespace onefold
