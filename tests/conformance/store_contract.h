#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/store.h"

/// One suite for all stores: what `onefold/store.h` promises, the reference model and every real
/// database keep alike.
namespace onefold::conformance {

/// A database of one kind, made for one test: migrated, and with the business table
/// `cell (name TEXT PRIMARY KEY, amount INTEGER NOT NULL)`.
class Database {
 public:
  virtual ~Database() = default;
  virtual Store& store() = 0;
  /// What a restart of the process does. All sessions must be closed.
  virtual void reopen() = 0;
};

struct StoreUnderTest {
  std::string name;
  std::function<std::unique_ptr<Database>()> create;
  int sources_max;   ///< The limit of event sources that `create` opens it with.
  bool one_thread;   ///< A call that has to wait throws `memory::Blocked` instead.
  bool interleaves;  ///< Two transactions that write can be open at the same time.
  std::string server_variable =
      {};  ///< Of the environment: where its server is. Empty: needs none.
};

/// A test of a store whose server is missing says so; where servers are required it fails. False:
/// the test must end here.
inline bool has_server(const StoreUnderTest& store) {
  if (store.server_variable.empty()) return true;
  const char* const place = std::getenv(store.server_variable.c_str());
  if (place != nullptr && *place != '\0') return true;
  const std::string missing = store.server_variable + " is not set; see tools/servers.sh";
  if (std::getenv("ONEFOLD_REQUIRE_SERVERS") != nullptr) {
    [&] { FAIL() << missing; }();
  } else {
    [&] { GTEST_SKIP() << missing; }();
  }
  return false;
}

void PrintTo(const StoreUnderTest& store, std::ostream* out);

/// All stores. A new one adds its line here.
std::vector<StoreUnderTest> all_stores();
void add_postgres(std::vector<StoreUnderTest>& stores, int sources_max);
void add_mariadb(std::vector<StoreUnderTest>& stores, int sources_max);
/// Those on which two transactions can be open at the same time.
std::vector<StoreUnderTest> interleaving_stores();
std::string name_of(const testing::TestParamInfo<StoreUnderTest>& info);

inline constexpr std::string_view insert_cell =
    "INSERT INTO cell (name, amount) VALUES (:name, :amount)";
inline constexpr std::string_view update_cell =
    "UPDATE cell SET amount = amount + :amount WHERE name = :name";
inline constexpr std::string_view select_cell = "SELECT amount FROM cell WHERE name = :name";

void insert(Transaction& transaction, const std::string& name, std::int64_t amount);
std::int64_t add(Transaction& transaction, const std::string& name, std::int64_t amount);
std::optional<std::int64_t> amount_of(Transaction& transaction, const std::string& name);

/// Evidence as the runtime has it before the handlers run.
Evidence evidence(Key key, std::string_view id = "e1", Fingerprint fingerprint = {1});
/// Claims one key and returns its answer.
Claim claim(Transaction& transaction, const Evidence& wanted,
            ClaimMode mode = ClaimMode::claim_first);
std::vector<ClaimState> states_of(const std::vector<Claim>& claims);
Position position(std::uint64_t next, std::string incarnation = "first", std::string name = {});
Timestamp at_second(int second);

/// The kind of the `Error` that `call` throws; absent if it throws none.
template <class Call>
std::optional<ErrorKind> failure_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

/// A unit of work of a second session that meets what a first one holds. On a thread of its own
/// where the database waits; where it cannot wait, the unit is run again by `finish`.
class Rival {
 public:
  Rival(const StoreUnderTest& store, std::function<void()> unit);
  /// Whether the unit is held up.
  bool waits();
  /// Waits for the end of the unit, and throws what it threw.
  void finish();

 private:
  std::function<void()> unit_;
  std::future<void> running_;
  bool blocked_ = false;
};

/// A fresh database with one consumer, one session and one scope.
class StoreContract : public testing::TestWithParam<StoreUnderTest> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Store& store() { return database_->store(); }
  Session& session() { return *session_; }
  ConsumerId consumer() const { return consumer_; }
  std::unique_ptr<Housekeeping> housekeeping() { return store().housekeeping(); }
  std::unique_ptr<Records> records() { return store().records(); }
  std::unique_ptr<Decisions> decisions() { return store().decisions(); }
  std::vector<AuditRecord> audit() { return decisions()->audit({}); }
  /// Closes the session, and opens the database and the session again.
  void reopen();

  ConsumerId adopt(const std::string& name);
  /// The key number `number` of the only scope.
  Key key(int number) const;
  /// Runs a unit in a transaction of the session and commits it.
  void commit(const std::function<void(Transaction&)>& unit);
  /// The same, but the transaction is dropped.
  void roll_back(const std::function<void(Transaction&)>& unit);
  std::optional<std::int64_t> committed_amount(const std::string& name);

 private:
  std::unique_ptr<Database> database_;
  std::unique_ptr<Session> session_;
  ConsumerId consumer_ = 0;
  std::int32_t scope_ = 0;
};

}  // namespace onefold::conformance
