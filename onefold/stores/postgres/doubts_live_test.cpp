#include "onefold/stores/postgres/doubts.h"

#include "onefold/stores/postgres/test_store.h"

namespace onefold::postgres {
namespace {

class PostgresDoubts : public PostgresStore {
 protected:
  void SetUp() override {
    PostgresStore::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    connection_ = std::make_unique<Connection>(options());
  }
  void tell() {
    tell_doubts(*connection_, doubts_, [&](const std::string& text) { told_.push_back(text); });
  }
  std::string number_of_a_committed_one() {
    return plain().value(
        "WITH changed AS (UPDATE account SET balance = balance RETURNING 1) "
        "SELECT pg_current_xact_id()::text");
  }
  bool is_usable() {
    return Row{connection_->run("SELECT 7", {}, "trying").get(), 0}.integer32(0) == 7;
  }

  std::unique_ptr<Connection> connection_;
  Doubts doubts_;
  std::vector<std::string> told_;
};

TEST_F(PostgresDoubts, TheServersWordIsTold) {
  const std::string number = number_of_a_committed_one();
  doubts_.add(number);
  tell();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("transaction " + number + " "), std::string::npos) << told_[0];
  EXPECT_NE(told_[0].find(": committed"), std::string::npos) << told_[0];
  tell();
  EXPECT_EQ(told_.size(), 1U) << "once is enough";
}

/// After a crash the server does not know a number of which it has written nothing.
TEST_F(PostgresDoubts, ANumberThatTheServerHasNeverGivenStopsNobody) {
  doubts_.add("4611686018427387904");
  doubts_.add(number_of_a_committed_one());
  tell();
  ASSERT_EQ(told_.size(), 2U) << "the others are asked about all the same";
  EXPECT_NE(told_[0].find("cannot be told"), std::string::npos) << told_[0];
  EXPECT_EQ(told_[0].find("committed"), std::string::npos) << told_[0];
  EXPECT_NE(told_[1].find(": committed"), std::string::npos) << told_[1];
  EXPECT_TRUE(is_usable());
}

TEST_F(PostgresDoubts, ANumberOfLongAgoCannotBeTold) {
  doubts_.add("3");
  tell();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(is_usable());
}

TEST_F(PostgresDoubts, WhatIsNoNumberStopsNobodyEither) {
  doubts_.add("yesterday's");
  tell();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("cannot be told"), std::string::npos) << told_[0];
  EXPECT_TRUE(is_usable());
}

TEST_F(PostgresDoubts, AConnectionThatIsLostMeanwhileLeavesTheQuestionToTheNext) {
  const std::string number = number_of_a_committed_one();
  doubts_.add(number);
  terminate(std::to_string(PQbackendPID(connection_->handle())));
  tell();
  EXPECT_TRUE(told_.empty());
  connection_ = std::make_unique<Connection>(options());
  tell();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find(": committed"), std::string::npos) << told_[0];
}

TEST_F(PostgresDoubts, WithoutAListenerNothingPilesUp) {
  doubts_.add("7");
  tell_doubts(*connection_, doubts_, {});
  EXPECT_TRUE(doubts_.take().empty());
}

}  // namespace
}  // namespace onefold::postgres
