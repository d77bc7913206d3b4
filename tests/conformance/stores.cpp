#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <ostream>
#include <utility>

#include "onefold/stores/memory/memory.h"
#include "onefold/stores/sqlite/sqlite.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

constexpr int few_sources = 3;

class MemoryDatabase final : public Database {
 public:
  explicit MemoryDatabase(const memory::Options& options) : model_{memory::open_model(options)} {
    model_->housekeeping()->migrate();
  }
  Store& store() override { return *model_; }
  void reopen() override {
    // What is committed survives in another model, as it survives in a file.
    const auto committed = model_->snapshot();
    model_->restore(committed);
  }

 private:
  std::unique_ptr<memory::Model> model_;
};

std::unique_ptr<Database> memory_database() {
  return std::make_unique<MemoryDatabase>(memory::Options{.sources_max = few_sources});
}
std::unique_ptr<Database> memory_database_as_postgres() {
  return std::make_unique<MemoryDatabase>(
      memory::Options{.sources_max = few_sources, .late_errors = true});
}
std::unique_ptr<Database> memory_database_as_mariadb() {
  return std::make_unique<MemoryDatabase>(
      memory::Options{.sources_max = few_sources, .smallest_gives_up = true});
}
std::unique_ptr<Database> memory_database_as_sqlite() {
  return std::make_unique<MemoryDatabase>(
      memory::Options{.sources_max = few_sources, .single_writer = true});
}

/// In memory where the system has such a folder: the suite loses no power, and need not wait for a
/// disk.
std::filesystem::path scratch() {
  std::filesystem::path shared_memory{"/dev/shm"};
  if (access(shared_memory.c_str(), W_OK) == 0) return shared_memory;
  return testing::TempDir();
}

/// A file in a folder of its own, gone with the test.
class SqliteDatabase final : public Database {
 public:
  SqliteDatabase() {
    static std::atomic<int> count{0};
    folder_ = scratch() /
              ("onefold-conformance-" + std::to_string(getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(folder_);
    reopen();
    store_->housekeeping()->migrate();
    const auto session = store_->connect();
    const auto transaction = session->begin();
    // No handler may change the schema.
    sqlite3_set_authorizer(sqlite::connection(*transaction), nullptr, nullptr);
    transaction->statements().change(
        "CREATE TABLE cell (name TEXT PRIMARY KEY, amount INTEGER NOT NULL) STRICT", {});
    transaction->commit();
  }
  ~SqliteDatabase() override {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = sqlite::open_store(
        {.path = (folder_ / "contract.db").string(), .event_sources_max = few_sources});
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

std::unique_ptr<Database> sqlite_database() {
  return std::make_unique<SqliteDatabase>();
}

}  // namespace

std::vector<StoreUnderTest> all_stores() {
  std::vector<StoreUnderTest> stores{
      {"memory", memory_database, few_sources, /*one_thread=*/true, /*interleaves=*/true},
      {"memory_as_postgres", memory_database_as_postgres, few_sources, true, true},
      {"memory_as_mariadb", memory_database_as_mariadb, few_sources, true, true},
      {"memory_as_sqlite", memory_database_as_sqlite, few_sources, true, false},
      {"sqlite", sqlite_database, few_sources, false, false},
  };
#ifdef ONEFOLD_TEST_WITH_POSTGRES
  add_postgres(stores, few_sources);
#endif
#ifdef ONEFOLD_TEST_WITH_MARIADB
  add_mariadb(stores, few_sources);
#endif
  return stores;
}

void PrintTo(const StoreUnderTest& store, std::ostream* out) {
  *out << store.name;
}

std::vector<StoreUnderTest> interleaving_stores() {
  std::vector<StoreUnderTest> stores = all_stores();
  std::erase_if(stores, [](const StoreUnderTest& store) { return !store.interleaves; });
  return stores;
}

std::string name_of(const testing::TestParamInfo<StoreUnderTest>& info) {
  return info.param.name;
}

}  // namespace onefold::conformance
