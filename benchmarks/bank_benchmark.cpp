// What exactly-once costs from end to end: a file of payments applied by Onefold, as `onefold run`
// does it with a handler in SQL (decode, identity, claim, full evidence, position), against the
// same SQL in batches of the same size by hand, prepared once, from memory, with no inbox at all.
// One statement: the balance. Two: a payment, keyed by its event's id as shops do, and the balance.
//
// The shorter the disk's flush, the more of the ratio is processor time, so its length is printed.
//
// Both sides take turns, each time on a new database, so that a busy machine disturbs both alike.
// What counts is the ratio. Both apply the same events, and both sums are checked.

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "onefold/daemon/catalog.h"
#include "onefold/daemon/config.h"
#include "onefold/daemon/sql_handler.h"
#include "onefold/runner.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int accounts = 10'000;
constexpr int rounds = 5;
constexpr const char* insert_sql =
    "INSERT INTO payment (id, account, amount) VALUES (:event_id, :account, :amount)";
constexpr const char* update_sql =
    "UPDATE account SET balance = balance + :amount WHERE id = :account";

struct Payment {
  std::string id;
  std::int64_t account = 0;
  std::int64_t amount = 0;
};

struct Shape {
  std::size_t events = 0;
  std::size_t batch = 0;
  bool ordered_ids = false;
  bool two_statements = false;
};

/// Wall and processor time since it was made, divided by the number of events.
class Stopwatch {
 public:
  struct Reading {
    double events_per_second = 0;
    double processor_us_per_event = 0;
  };

  Reading read(std::size_t events) const {
    const double seconds = std::chrono::duration<double>{Clock::now() - start_}.count();
    const auto count = static_cast<double>(events);
    return {count / seconds, (processor_us() - processor_start_) / count};
  }

 private:
  static double processor_us() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }

  Clock::time_point start_ = Clock::now();
  double processor_start_ = processor_us();
};
using Reading = Stopwatch::Reading;

/// Version 7 (ordered by time) or version 4 (random) identifiers.
std::string uuid(std::uint64_t number, bool ordered, std::mt19937_64& random) {
  constexpr const char* digits = "0123456789abcdef";
  std::uint64_t high = ordered ? number << 16U : random();
  std::uint64_t low = random();
  high = (high & ~0xf000ULL) | (ordered ? 0x7000ULL : 0x4000ULL);
  low = (low & ~(3ULL << 62U)) | (2ULL << 62U);
  std::string text;
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    const std::uint64_t half = i < 16 ? high : low;
    text += digits[(half >> (60U - 4U * (i % 16U))) & 0xfU];
  }
  return text;
}

std::vector<Payment> payments(const Shape& shape) {
  std::mt19937_64 random{7};
  std::vector<Payment> all(shape.events);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {uuid(i, shape.ordered_ids, random), static_cast<std::int64_t>(random() % accounts),
              static_cast<std::int64_t>(random() % 1000)};
  }
  return all;
}

void check(bool good, const std::string& what) {
  if (!good) throw std::runtime_error{what};
}

struct Close {
  void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

Database open(const std::string& path) {
  sqlite3* raw = nullptr;
  check(sqlite3_open(path.c_str(), &raw) == SQLITE_OK, "cannot open " + path);
  return Database{raw};
}

void execute(sqlite3* database, const char* sql) {
  check(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK,
        sqlite3_errmsg(database));
}

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  check(sqlite3_prepare_v2(database, sql, -1, &raw, nullptr) == SQLITE_OK,
        sqlite3_errmsg(database));
  return Statement{raw};
}

void make_tables(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
  const Database database = open(path);
  execute(database.get(),
          "PRAGMA journal_mode = WAL;"
          "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL) STRICT;"
          "CREATE TABLE payment (id TEXT PRIMARY KEY, account INTEGER NOT NULL,"
          " amount INTEGER NOT NULL) STRICT;"
          "WITH RECURSIVE c (id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM c WHERE id < 9999)"
          "INSERT INTO account SELECT id, 0 FROM c;");
}

std::int64_t sum_of_balances(const std::string& path) {
  const Database database = open(path);
  const Statement sum = prepare(database.get(), "SELECT sum(balance) FROM account");
  check(sqlite3_step(sum.get()) == SQLITE_ROW, "no sum");
  return sqlite3_column_int64(sum.get(), 0);
}

void bind(sqlite3_stmt* statement, const Payment& payment) {
  const auto place = [&](const char* name) {
    return sqlite3_bind_parameter_index(statement, name);
  };
  if (const int id = place(":event_id"); id != 0) {
    sqlite3_bind_text(statement, id, payment.id.data(), static_cast<int>(payment.id.size()),
                      SQLITE_STATIC);
  }
  sqlite3_bind_int64(statement, place(":account"), payment.account);
  sqlite3_bind_int64(statement, place(":amount"), payment.amount);
}

/// The business SQL alone.
Reading by_hand(const std::string& path, const Shape& shape, const std::vector<Payment>& all) {
  const Database database = open(path);
  execute(database.get(), "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;");
  std::vector<Statement> statements;
  if (shape.two_statements) statements.push_back(prepare(database.get(), insert_sql));
  statements.push_back(prepare(database.get(), update_sql));
  const Stopwatch stopwatch;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % shape.batch == 0) execute(database.get(), "BEGIN IMMEDIATE");
    for (const Statement& statement : statements) {
      bind(statement.get(), all[i]);
      check(sqlite3_step(statement.get()) == SQLITE_DONE, sqlite3_errmsg(database.get()));
      check(sqlite3_changes(database.get()) == 1, "one row must change");
      sqlite3_reset(statement.get());
    }
    if ((i + 1) % shape.batch == 0 || i + 1 == all.size()) execute(database.get(), "COMMIT");
  }
  return stopwatch.read(all.size());
}

std::string configuration(const Shape& shape) {
  std::string text = R"(
config_version = 1
[store]
url = "sqlite:onefold.db"
[source.bank]
kind = "file"
path = "payments.jsonl"
format = "json"
identity = { id = "/event_id", source = "literal:bank", type = "literal:payment" }
[consumer.billing]
sources = ["bank"]
[[consumer.billing.handler]]
name = "credit"
type = "payment"
entity = "/account_id"
params.account = { at = "/account_id", type = "int64" }
params.amount = { at = "/amount", type = "int64" }
)";
  const std::string update = std::string{"\""} + update_sql + "\"";
  text += shape.two_statements ? std::string{"expect_rows = [1, 1]\nsql = [\""} + insert_sql +
                                     "\", " + update + "]\n"
                               : "expect_rows = [1]\nsql = [" + update + "]\n";
  return text;
}

/// All that Onefold does, from the file to the last commit.
Reading by_onefold(const fs::path& folder, const Shape& shape) {
  const auto loaded =
      onefold::parse_config(configuration(shape), (folder / "onefold.toml").string());
  check(loaded.problems.empty(), "the configuration is wrong");
  onefold::ConsumerConfig consumer = loaded.config.consumers.front();
  consumer.batch_max = shape.batch;
  const auto store = onefold::open_store(loaded.config, onefold::Access::run);
  store->housekeeping()->migrate();
  onefold::Runner runner{*store};
  runner.add(onefold::sql_consumer(consumer),
             onefold::open_source(loaded.config.sources.at("bank")));
  const Stopwatch stopwatch;
  const auto totals = runner.run_until_idle();
  const Reading reading = stopwatch.read(shape.events);
  check(totals[onefold::Outcome::applied] == static_cast<std::int64_t>(shape.events),
        "not every event was applied");
  return reading;
}

/// The time to make 4 KiB durable, in microseconds.
double flush_us(const fs::path& folder) {
  constexpr int times = 50;
  const std::string path = (folder / "flush").string();
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  check(file >= 0, "cannot write to " + path);
  const std::string page(4096, 'x');
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) {
    check(::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()), "write");
    check(::fdatasync(file) == 0, "fdatasync");
  }
  const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
  ::close(file);
  fs::remove(path);
  return taken.count() / times;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void print(const Shape& shape, const std::vector<Reading>& hand,
           const std::vector<Reading>& onefold) {
  const auto column = [](const std::vector<Reading>& readings, double Reading::* field) {
    std::vector<double> values;
    for (const Reading& reading : readings) values.push_back(reading.*field);
    return values;
  };
  std::vector<double> ratios;
  for (std::size_t i = 0; i < hand.size(); ++i) {
    ratios.push_back(onefold[i].events_per_second / hand[i].events_per_second);
  }
  const auto [lowest, highest] = std::ranges::minmax(ratios);
  std::cout << std::fixed << std::setprecision(2) << std::setw(5) << shape.batch << std::setw(12)
            << (shape.two_statements ? 2 : 1) << std::setw(9)
            << (shape.ordered_ids ? "ordered" : "random") << std::setprecision(0);
  for (const auto* side : {&hand, &onefold}) {
    std::cout << std::setw(10) << median(column(*side, &Reading::events_per_second));
  }
  std::cout << std::setprecision(1);
  for (const auto* side : {&hand, &onefold}) {
    std::cout << std::setw(8) << median(column(*side, &Reading::processor_us_per_event));
  }
  std::cout << std::setprecision(2) << std::setw(8) << median(ratios) << "  (" << lowest << " to "
            << highest << ")\n"
            << std::flush;
}

void measure(const fs::path& folder, const Shape& shape) {
  const auto all = payments(shape);
  std::int64_t sum = 0;
  {
    std::ofstream file{folder / "payments.jsonl"};
    for (const Payment& payment : all) {
      sum += payment.amount;
      file << R"({"event_id":")" << payment.id << R"(","account_id":)" << payment.account
           << R"(,"amount":)" << payment.amount << "}\n";
    }
  }
  const std::string hand_path = (folder / "hand.db").string();
  const std::string onefold_path = (folder / "onefold.db").string();
  std::vector<Reading> hand;
  std::vector<Reading> onefold;
  for (int round = 0; round < rounds; ++round) {
    make_tables(hand_path);
    make_tables(onefold_path);
    hand.push_back(by_hand(hand_path, shape, all));
    onefold.push_back(by_onefold(folder, shape));
    check(sum_of_balances(hand_path) == sum, "the sum by hand is wrong");
    check(sum_of_balances(onefold_path) == sum, "the sum by Onefold is wrong");
  }
  print(shape, hand, onefold);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const fs::path folder = count > 1 ? arguments[1] : "bank_benchmark";
    fs::create_directories(folder);
    std::cout << "flush of 4 KiB: " << static_cast<int>(flush_us(folder)) << " us\n";
    std::cout << "batch  statements      ids   events a second     us of CPU   ratio\n"
                 "                             by hand   Onefold  hand  Onefold\n";
    for (const bool ordered : {true, false}) {
      for (const bool two : {true, false}) {
        measure(folder, {50'000, 100, ordered, two});
        measure(folder, {200'000, 1000, ordered, two});
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bank_benchmark: " << error.what() << '\n';
    return 1;
  }
}
