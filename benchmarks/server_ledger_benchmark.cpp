// What the claim and its evidence cost on the servers: the same business SQL on the same driver
// without them, with look-up first and insert last, with the insert first, and with the insert
// first where handlers have results, which rewrites each row. They take turns batch by batch, so
// that a busy machine disturbs all of them alike; what counts are the ratios.

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>

#include "benchmarks/payments.h"
#include "onefold/error.h"
#include "onefold/housekeeping.h"
#ifdef ONEFOLD_BENCHMARK_WITH_POSTGRES
#include "onefold/stores/postgres/postgres.h"
#include "onefold/stores/postgres/test_database.h"
#endif
#ifdef ONEFOLD_BENCHMARK_WITH_MARIADB
#include "onefold/stores/mariadb/mariadb.h"
#include "onefold/stores/mariadb/test_database.h"
#endif

namespace onefold {
namespace {

using bench::Payment;
using bench::Payments;
using bench::Spent;

void check(bool right, const char* what) {
  if (!right) throw std::runtime_error{what};
}

#ifdef ONEFOLD_BENCHMARK_WITH_POSTGRES
struct Postgres {
  Postgres() {
    server().execute("CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)");
    server().execute("CREATE TABLE payment (id text PRIMARY KEY, account bigint, amount bigint)");
    server().execute("INSERT INTO account SELECT i, 0 FROM generate_series(0, 9999) i");
    store = postgres::open_store({.connection = database.url(), .schema = database.schema()});
  }
  static bool is_there() { return !postgres::test_server().empty(); }
  postgres::PlainClient& server() { return database.server(); }

  postgres::TestDatabase database;
  std::unique_ptr<Store> store;
};
#endif

#ifdef ONEFOLD_BENCHMARK_WITH_MARIADB
struct Mariadb {
  Mariadb() {
    database.server().execute("CREATE TABLE " + database.table("account") +
                              " (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)");
    database.server().execute("CREATE TABLE " + database.table("payment") +
                              " (id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, "
                              "account BIGINT, amount BIGINT)");
    database.server().execute("INSERT INTO " + database.table("account") +
                              " SELECT seq, 0 FROM mysql.seq_0_to_9999");
    store = mariadb::open_store({.connection = database.url()});
  }
  static bool is_there() { return !mariadb::test_server().empty(); }

  mariadb::TestDatabase database;
  std::unique_ptr<Store> store;
};
#endif

/// A shop in a database of its own, and one session.
template <class Server>
class Shop {
 public:
  Shop() {
    server_.store->housekeeping()->migrate();
    consumer_ = server_.store->housekeeping()->adopt({.name = "billing", .rules = ""}, {});
    session_ = server_.store->connect();
    scope = session_->scope({consumer_, "", "shop", "uuid"}).value();
  }

  void by_hand(const std::vector<Payment>& batch) {
    const auto transaction = session_->begin();
    handle(*transaction, batch);
    check(transaction->commit() == CommitResult::committed, "commit");
  }

  /// As the worker does it: what was claimed first is recorded again only to add a result.
  void apply(const std::vector<Payment>& batch, ClaimMode mode, std::string_view result = {}) {
    std::vector<Evidence> evidence = bench::evidence_of(batch);
    const auto transaction = session_->begin();
    for (const Claim& each : transaction->ledger().claim(evidence, mode)) {
      check(each.state == ClaimState::fresh, "claim");
    }
    handle(*transaction, batch);
    for (Evidence& each : evidence) each.result = result;
    if (mode == ClaimMode::optimistic || !result.empty()) {
      transaction->ledger().record(evidence, mode);
    }
    next_.low += batch.size();
    transaction->ledger().advance(consumer_, std::vector<Position>{{partition_, {}, next_}});
    check(transaction->commit() == CommitResult::committed, "commit");
  }

  std::int32_t scope = 0;

 private:
  static void handle(Transaction& transaction, const std::vector<Payment>& batch) {
    for (const Payment& each : batch) {
      const std::vector<Parameter> parameters{
          {"event_id", each.id}, {"account", each.account}, {"amount", each.amount}};
      transaction.statements().execute(bench::insert_sql, parameters, 1);
      transaction.statements().execute(bench::update_sql, parameters, 1);
    }
  }

  Server server_;
  std::unique_ptr<Session> session_;
  ConsumerId consumer_ = 0;
  std::shared_ptr<const Partition> partition_ =
      std::make_shared<const Partition>(Partition{"orders", "1", ""});
  Offset next_;
};

/// Arguments: events in a batch; whether keys come in order.
template <class Server>
void ledger(benchmark::State& state) {
  if (!Server::is_there()) {
    state.SkipWithError("start the servers: tools/servers.sh start, then `env`");
    return;
  }
  const auto size = static_cast<std::size_t>(state.range(0));
  Shop<Server> raw_shop;
  Shop<Server> optimistic_shop;
  Shop<Server> claim_first_shop;
  Shop<Server> result_shop;
  Payments payments{state.range(1) == 1};
  Spent raw;
  Spent optimistic;
  Spent claim_first;
  Spent result;
  for (auto _ : state) {
    const std::vector<Payment> batch = payments.next(size, optimistic_shop.scope);
    raw.add([&] { raw_shop.by_hand(batch); });
    optimistic.add([&] { optimistic_shop.apply(batch, ClaimMode::optimistic); });
    claim_first.add([&] { claim_first_shop.apply(batch, ClaimMode::claim_first); });
    result.add([&] { result_shop.apply(batch, ClaimMode::claim_first, "balance 125"); });
  }
  const double events = static_cast<double>(state.iterations()) * static_cast<double>(size);
  state.counters["raw_per_second"] = events / raw.wall;
  state.counters["optimistic_ratio"] = raw.wall / optimistic.wall;
  state.counters["claim_first_ratio"] = raw.wall / claim_first.wall;
  state.counters["with_results_ratio"] = raw.wall / result.wall;
}

void sizes(benchmark::internal::Benchmark* benchmark, std::int64_t size, std::int64_t iterations) {
  benchmark->ArgNames({"batch", "ordered"})
      ->ArgsProduct({{size}, {0, 1}})
      ->Iterations(iterations)
      ->Unit(benchmark::kMillisecond);
}
void single(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark, 1, 500);
}
void hundreds(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark, 100, 300);
}
void thousands(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark, 1000, 50);
}

#ifdef ONEFOLD_BENCHMARK_WITH_POSTGRES
BENCHMARK_TEMPLATE(ledger, Postgres)->Apply(single);
BENCHMARK_TEMPLATE(ledger, Postgres)->Apply(hundreds);
BENCHMARK_TEMPLATE(ledger, Postgres)->Apply(thousands);
#endif
#ifdef ONEFOLD_BENCHMARK_WITH_MARIADB
BENCHMARK_TEMPLATE(ledger, Mariadb)->Apply(single);
BENCHMARK_TEMPLATE(ledger, Mariadb)->Apply(hundreds);
BENCHMARK_TEMPLATE(ledger, Mariadb)->Apply(thousands);
#endif

}  // namespace
}  // namespace onefold
