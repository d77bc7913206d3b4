// What the claim and its evidence cost on SQLite: the same business SQL by hand, with look-up
// first and insert last, and with the insert first. The three take turns batch by batch, so that
// a busy machine disturbs all of them alike; what counts are the ratios.

#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "benchmarks/payments.h"
#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

using bench::insert_sql;
using bench::Payment;
using bench::Payments;
using bench::Spent;
using bench::update_sql;

void check(bool right, const char* what) {
  if (!right) throw std::runtime_error{what};
}

/// A new database with the accounts, removed at the end.
class Shop {
 public:
  Shop() {
    std::string pattern = (fs::temp_directory_path() / "onefold-benchmark-XXXXXX").string();
    check(::mkdtemp(pattern.data()) != nullptr, "mkdtemp");
    directory_ = pattern;
    check(sqlite3_open(path().c_str(), &raw_) == SQLITE_OK, "open");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)");
    run("CREATE TABLE payment (id TEXT PRIMARY KEY, account INTEGER, amount INTEGER)");
    run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
        "INSERT INTO account SELECT i, 0 FROM n");
  }
  ~Shop() {
    sqlite3_close_v2(raw_);
    fs::remove_all(directory_);
  }
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;
  std::string path() const { return (directory_ / "shop.db").string(); }
  sqlite3* raw() const { return raw_; }
  void run(const char* sql) const {
    check(sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  }

 private:
  fs::path directory_;
  sqlite3* raw_ = nullptr;
};

/// The business change as one would write it without Onefold.
class ByHand {
 public:
  explicit ByHand(bool insert) : insert_{insert} {
    check(sqlite3_prepare_v2(shop_.raw(), insert_sql, -1, &payment_, nullptr) == SQLITE_OK, "");
    check(sqlite3_prepare_v2(shop_.raw(), update_sql, -1, &account_, nullptr) == SQLITE_OK, "");
  }
  ~ByHand() {
    sqlite3_finalize(payment_);
    sqlite3_finalize(account_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void apply(const std::vector<Payment>& batch) {
    shop_.run("BEGIN IMMEDIATE");
    for (const Payment& each : batch) {
      if (insert_) {
        sqlite3_bind_text(payment_, 1, each.id.data(), static_cast<int>(each.id.size()),
                          SQLITE_STATIC);
        sqlite3_bind_int64(payment_, 2, each.account);
        sqlite3_bind_int64(payment_, 3, each.amount);
        check(sqlite3_step(payment_) == SQLITE_DONE, "insert");
        sqlite3_reset(payment_);
      }
      sqlite3_bind_int64(account_, 1, each.amount);
      sqlite3_bind_int64(account_, 2, each.account);
      check(sqlite3_step(account_) == SQLITE_DONE && sqlite3_changes(shop_.raw()) == 1, "update");
      sqlite3_reset(account_);
    }
    shop_.run("COMMIT");
  }

 private:
  Shop shop_;
  bool insert_;
  sqlite3_stmt* payment_ = nullptr;
  sqlite3_stmt* account_ = nullptr;
};

/// The same under a claim, with complete evidence and the position.
class WithOnefold {
 public:
  WithOnefold(bool insert, ClaimMode mode) : insert_{insert}, mode_{mode} {
    store_ = sqlite::open_store({.path = shop_.path()});
    store_->housekeeping()->migrate();
    consumer_ = store_->housekeeping()->adopt({.name = "billing", .rules = "", .mode = mode}, {});
    session_ = store_->connect();
    scope = session_->scope({consumer_, "", "shop", "uuid"}).value();
  }

  void apply(const std::vector<Payment>& batch) {
    const std::vector<Evidence> evidence = bench::evidence_of(batch);
    const auto transaction = session_->begin();
    for (const Claim& each : transaction->ledger().claim(evidence, mode_)) {
      check(each.state == ClaimState::fresh, "claim");
    }
    Statements& sql = transaction->statements();
    for (const Payment& each : batch) {
      const std::vector<Parameter> parameters{
          {"event_id", each.id}, {"account", each.account}, {"amount", each.amount}};
      if (insert_) sql.execute(insert_sql, parameters, 1);
      sql.execute(update_sql, parameters, 1);
    }
    transaction->ledger().record(evidence, mode_);
    next_.low += batch.size();
    transaction->ledger().advance(consumer_, std::vector<Position>{{partition_, {}, next_}});
    check(transaction->commit() == CommitResult::committed, "commit");
  }

  std::int32_t scope = 0;

 private:
  Shop shop_;
  bool insert_;
  ClaimMode mode_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  ConsumerId consumer_ = 0;
  std::shared_ptr<const Partition> partition_ =
      std::make_shared<const Partition>(Partition{"orders", "1", ""});
  Offset next_;
};

/// Arguments: events in a batch; statements of the handler, 1 or 2; whether keys come in order.
void ledger(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const bool insert = state.range(1) == 2;
  ByHand by_hand{insert};
  WithOnefold optimistic{insert, ClaimMode::optimistic};
  WithOnefold claim_first{insert, ClaimMode::claim_first};
  Payments payments{state.range(2) == 1};
  Spent raw;
  Spent last;
  Spent first;
  for (auto _ : state) {
    const std::vector<Payment> batch = payments.next(size, optimistic.scope);
    raw.add([&] { by_hand.apply(batch); });
    last.add([&] { optimistic.apply(batch); });
    first.add([&] { claim_first.apply(batch); });
  }
  const double events = static_cast<double>(state.iterations()) * static_cast<double>(size);
  state.counters["raw_per_second"] = events / raw.wall;
  state.counters["optimistic_ratio"] = raw.wall / last.wall;
  state.counters["claim_first_ratio"] = raw.wall / first.wall;
  state.counters["raw_microseconds"] = 1e6 * raw.processor / events;
  state.counters["optimistic_microseconds"] = 1e6 * last.processor / events;
  state.counters["claim_first_microseconds"] = 1e6 * first.processor / events;
}

// 100,000 events each time: random keys cost more the larger the inbox is.
BENCHMARK(ledger)
    ->ArgNames({"batch", "statements", "ordered"})
    ->ArgsProduct({{100}, {1, 2}, {0, 1}})
    ->Iterations(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ledger)
    ->ArgNames({"batch", "statements", "ordered"})
    ->ArgsProduct({{1000}, {1, 2}, {0, 1}})
    ->Iterations(100)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace onefold
