#include "onefold/replay_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/error.h"

namespace onefold {
namespace {

/// A database with one replay, and events of it that are due.
struct Table {
  StoredReplay stored;
  std::int64_t due = 0;
  bool locked = false;
  bool loses_connection = false;  ///< When events are to be taken back.
  std::function<void()> others;   ///< What other processes do whenever nothing stops them.
};

class OneReplay final : public ReplayRows {
 public:
  explicit OneReplay(Table& table) : table_{table} {}

  void transact(std::string_view, const std::function<void()>& work) override {
    work();
    table_.locked = false;
  }
  ReplayPreview preview(const DeferredFilter&) override { return {}; }
  std::vector<StoredReplay> list(const ReplayQuery& query) override {
    let_others_work();
    table_.locked = table_.locked || query.locked;
    return {table_.stored};
  }
  void put(const StoredReplay& stored, bool) override { table_.stored = stored; }
  std::int64_t make_due(StoredReplay&, std::int64_t) override { return 0; }
  std::int64_t take_back(std::string_view) override {
    if (table_.loses_connection) throw Error{ErrorKind::unavailable, "the server went away"};
    return std::exchange(table_.due, 0);
  }
  std::vector<Position> positions(std::string_view, std::string_view) override { return {}; }
  void forget_positions(const ReplayRecord&) override {}
  void audit(const std::string&, const char*, const std::string&) override {}

 private:
  void let_others_work() {
    if (!table_.locked && table_.others) table_.others();
  }

  Table& table_;
};

class CancelledReplay : public ::testing::Test {
 protected:
  CancelledReplay() {
    table.stored.replay.id = "r1";
    table.others = [this] {
      if (table.stored.replay.state != ReplayState::running) return;
      ++table.due;
      ++table.stored.replay.due;
    };
  }

  std::optional<ReplayRecord> cancel() {
    return replays_over(std::make_unique<OneReplay>(table))
        ->change("r1", ReplayState::cancelled, {.who = "ada", .reason = "a mistake"});
  }

  Table table;
};

TEST_F(CancelledReplay, NothingOfItStaysDueThatAnotherProcessMadeDueMeanwhile) {
  const auto cancelled = cancel();
  EXPECT_EQ(table.due, 0);
  EXPECT_EQ(table.stored.replay.state, ReplayState::cancelled);
  EXPECT_GT(cancelled->due, 0);
  EXPECT_EQ(cancelled->gone, cancelled->due);
  EXPECT_EQ(table.stored.replay.gone, cancelled->gone);
}

TEST_F(CancelledReplay, CancellingAgainFinishesWhatWasInterrupted) {
  table.loses_connection = true;
  EXPECT_THROW(cancel(), Error);
  EXPECT_GT(table.due, 0);
  table.loses_connection = false;
  const auto cancelled = cancel();
  EXPECT_EQ(table.due, 0);
  EXPECT_EQ(cancelled->gone, cancelled->due);
}

}  // namespace
}  // namespace onefold
