#include "onefold/stores/mariadb/mariadb.h"
#include "onefold/stores/mariadb/test_database.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

class MariadbDatabase final : public Database {
 public:
  explicit MariadbDatabase(int sources_max) : sources_max_{sources_max} {
    reopen();
    migrate();
    database_.server().execute("CREATE TABLE IF NOT EXISTS " + database_.table("cell") +
                               " (name VARCHAR(190) COLLATE utf8mb4_nopad_bin PRIMARY KEY, "
                               "amount BIGINT NOT NULL) ENGINE=InnoDB");
  }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ =
        mariadb::open_store({.connection = database_.url(), .event_sources_max = sources_max_});
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
  mariadb::TestDatabase database_;
  std::unique_ptr<Store> store_;
};

TEST(MariadbServer, IsThereWhereItIsRequired) {
  EXPECT_FALSE(mariadb::servers_are_required() && mariadb::test_server().empty())
      << "start it with tools/servers.sh, and set ONEFOLD_TEST_MARIADB";
}

}  // namespace

void add_mariadb(std::vector<StoreUnderTest>& stores, int sources_max) {
  stores.push_back(
      {"mariadb", [sources_max] { return std::make_unique<MariadbDatabase>(sources_max); },
       sources_max, /*one_thread=*/false, /*interleaves=*/true, "ONEFOLD_TEST_MARIADB"});
}

}  // namespace onefold::conformance
