#include "onefold/stores/postgres/postgres.h"

#include "onefold/stores/postgres/test_database.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(int sources_max) : sources_max_{sources_max} {
    reopen();
    migrate();
    database_.server().execute("CREATE TABLE cell (name text PRIMARY KEY, amount bigint NOT NULL)");
  }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = postgres::open_store({.connection = database_.url(),
                                   .schema = database_.schema(),
                                   .event_sources_max = sources_max_});
  }

 private:
  /// The tables may be those of another state of the program.
  void migrate() {
    try {
      store_->housekeeping()->migrate();
    } catch (const Error&) {
      database_.recreate();
      store_->housekeeping()->migrate();
    }
  }

  int sources_max_;
  postgres::TestDatabase database_;
  std::unique_ptr<Store> store_;
};

}  // namespace

void add_postgres(std::vector<StoreUnderTest>& stores, int sources_max) {
  stores.push_back(
      {"postgres", [sources_max] { return std::make_unique<PostgresDatabase>(sources_max); },
       sources_max, /*one_thread=*/false, /*interleaves=*/true, "ONEFOLD_TEST_POSTGRES"});
}

}  // namespace onefold::conformance
