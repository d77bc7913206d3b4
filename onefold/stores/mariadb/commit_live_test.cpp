#include "onefold/stores/mariadb/test_proxy.h"
#include "onefold/stores/mariadb/test_store.h"

namespace onefold::mariadb {
namespace {

/// A session whose way to the server can be cut.
class MariadbCommit : public MariadbStore {
 protected:
  void SetUp() override {
    MariadbStore::SetUp();
    if (database_ == nullptr) return;
    const Address address = parse_address(database_->url());
    proxy_ = std::make_unique<TestProxy>(address.port);
    Options far = options();
    far.connection = "mariadb://" + address.user + "@127.0.0.1:" + std::to_string(proxy_->port()) +
                     "/" + database_->name() + "?tls=off";
    far.statement_timeout = std::chrono::milliseconds{1'000};
    far_ = open_store(far);
    session_ = far_->connect();
  }
  void TearDown() override {
    session_.reset();
    far_.reset();
    proxy_.reset();
    MariadbStore::TearDown();
  }
  std::unique_ptr<Transaction> applied() {
    auto transaction = session_->begin();
    EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
    transaction->statements().execute(credit, {}, 1);
    return transaction;
  }

  std::unique_ptr<TestProxy> proxy_;
  std::unique_ptr<Store> far_;
};

TEST_F(MariadbCommit, P4_B07_ALostAnswerIsInDoubtAndTheClaimShowsThatItHappened) {
  const auto transaction = applied();
  proxy_->cut("COMMIT", TestProxy::Cut::after);
  const CommitAnswer answer = transaction->commit();
  EXPECT_EQ(answer, CommitResult::in_doubt) << answer.why;
  EXPECT_TRUE(proxy_->has_cut());
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::known);
  EXPECT_EQ(balance("a"), "110");
}

TEST_F(MariadbCommit, P4_B07_ALostCOMMITIsInDoubtAndTheClaimShowsThatItDidNotHappen) {
  const auto transaction = applied();
  proxy_->cut("COMMIT", TestProxy::Cut::before);
  const CommitAnswer answer = transaction->commit();
  EXPECT_EQ(answer, CommitResult::in_doubt) << answer.why;
  EXPECT_TRUE(proxy_->has_cut());
  // Waits for what is left of the other one on the server.
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::fresh);
  EXPECT_EQ(balance("a"), "100");
}

TEST_F(MariadbCommit, ASilentNetworkDoesNotHangACommit) {
  const auto transaction = applied();
  proxy_->cut("COMMIT", TestProxy::Cut::silent);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(transaction->commit(), CommitResult::in_doubt);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{10});
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::known);
}

TEST_F(MariadbCommit, AConnectionThatIsCutInAStatementIsUnavailable) {
  auto transaction = session_->begin();
  EXPECT_EQ(claim(*transaction, 1), ClaimState::fresh);
  proxy_->cut("SAVEPOINT onefold_event", TestProxy::Cut::before);
  EXPECT_EQ(kind_thrown_by([&] { transaction->savepoint(); }), ErrorKind::unavailable);
  EXPECT_EQ(kind_thrown_by([&] { transaction->commit(); }), ErrorKind::unavailable);
  transaction.reset();
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  EXPECT_EQ(claim(*rival_->begin(), 1), ClaimState::fresh);
}

TEST_F(MariadbCommit, ABeginThatIsCutOffIsUnavailable) {
  proxy_->cut("START TRANSACTION", TestProxy::Cut::before);
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  session_ = far_->connect();
  EXPECT_EQ(applied()->commit(), CommitResult::committed);
}

}  // namespace
}  // namespace onefold::mariadb
