#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "onefold/decisions.h"
#include "onefold/runtime/key_rule.h"
#include "onefold/runtime/test_careful_fixture.h"

// Where else careful mode finds what kills: among what waits, and by the last words of the dead.

namespace onefold {
namespace {

using std::chrono::seconds;
using test::CarefulTest;
using test::CarefulWorld;

/// What waits is handed out by a worker of its own, whose source has no position.
class WaitingPoison : public CarefulTest {
 protected:
  void run_into_the_waiting_room() {
    const Handler usual = world.consumer.handlers[0].handle;
    world.consumer.handlers[0].handle = [](const Event&, Context&) {
      return Answer::retry("not yet");
    };
    EXPECT_TRUE(world.run_process());
    world.consumer.handlers[0].handle = usual;
    world.clock.pass(seconds{60});
  }
};
INSTANTIATE_TEST_SUITE_P(Sources, WaitingPoison, test::both_ways, test::way);

TEST_P(WaitingPoison, ItIsFoundAmongWhatWaits) {
  add_events(20);
  run_into_the_waiting_room();
  poison = {"e7"};
  // From 64 events to 8, to 1, and three times alone.
  EXPECT_EQ(world.deaths(true), 5);
  EXPECT_EQ(world.cell("A"), 190);
  ASSERT_EQ(world.deferred().size(), 1U);
  const DeferredRecord row = world.deferred()[0];
  EXPECT_EQ(row.event.id, "e7");
  EXPECT_EQ(row.reason, "dead");
  EXPECT_EQ(row.failure, "crash");
  ASSERT_EQ(row.errors.size(), 2U) << "the chain goes on";
  EXPECT_EQ(row.errors[0], "payment: not yet");
  EXPECT_EQ(row.attempts, 4);
  EXPECT_EQ(world.caution("retry").size, 0);
  EXPECT_TRUE(world.caution("retry").suspects.empty());
  EXPECT_TRUE(world.open_runs("retry").empty());
}

TEST_P(WaitingPoison, ThatAPersonWantsTriedAgainIsTriedAgain) {
  add_events(3);
  poison = {"e1"};
  be_careful(1);
  // The process that has set it aside goes on, and remembers what it was told at its start.
  EXPECT_FALSE(world.run_process());
  EXPECT_FALSE(world.run_process());
  EXPECT_FALSE(world.run_process());
  const auto waiters = world.begin(true);
  waiters->worker.step();
  EXPECT_TRUE(world.run_process());
  ASSERT_EQ(world.deferred().size(), 1U);
  poison.clear();
  const std::vector<std::int64_t> ids{world.deferred()[0].id};
  const auto answers = world.model->decisions()->replay(ids, {.who = "anna", .reason = "mended"});
  EXPECT_EQ(answers, std::vector{ReplayAnswer::due});
  EXPECT_TRUE(world.finish(*waiters));
  EXPECT_TRUE(world.deferred().empty());
  EXPECT_EQ(world.cell("A"), 30);
}

/// With files that tell how processes have died.
class ReportTest : public CarefulTest {
 public:
  ~ReportTest() override { std::filesystem::remove_all(folder_); }
  ReportTest(const ReportTest&) = delete;
  ReportTest& operator=(const ReportTest&) = delete;

 protected:
  ReportTest()
      : folder_{std::filesystem::temp_directory_path() /
                ("onefold_careful_" + std::to_string(::getpid()))} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  /// Dies with these last words: `key` as a report has it.
  void die_saying(std::int64_t process, RunId run, const std::string& key,
                  const std::string& consumer = "billing", int sender = 0) {
    std::ofstream{file_of(process)} << "onefold crash 1\nhow signal 11 (SIGSEGV)\nsender " << sender
                                    << "\ntime " << now_in_seconds() << "\nrun " << run
                                    << "\nconsumer " << consumer << "\nhandler payment\nkey " << key
                                    << "\nend\n";
    world.living.erase(process);
    world.reports = CrashReports{folder_.string(), {}};
  }
  std::filesystem::path file_of(std::int64_t process) const {
    return folder_ / ("onefold-crash-" + std::to_string(process) + "-7");
  }
  static std::int64_t now_in_seconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<seconds>(now).count();
  }
  static std::string text_of(const Key& key) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text = std::to_string(key.scope) + ' ';
    for (const std::uint8_t byte : key.bytes) {
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
    return text;
  }

 private:
  std::filesystem::path folder_;
};
INSTANTIATE_TEST_SUITE_P(Sources, ReportTest, test::both_ways, test::way);

TEST_P(ReportTest, TheEventThatAReportNamesIsASuspectAtOnce) {
  poison = {"e50"};
  add_events(100);
  for (int death = 1; death <= 3; ++death) {
    const auto alive = world.begin();
    EXPECT_FALSE(world.finish(*alive));
    // What was rolled back with it left no trace but its scope.
    const auto scope = world.model->connect()->scope(
        {.consumer = world.adopt(), .handler = "", .source_or_rule = "shop", .key_form = "hashed"});
    const Key key{.scope = scope.value(),
                  .bytes = KeyRule{std::vector<std::string>{}}.of_id("e50").bytes};
    die_saying(CarefulWorld::number_of(*alive), alive->careful.run(), text_of(key));
    EXPECT_TRUE(std::filesystem::exists(file_of(CarefulWorld::number_of(*alive))));
  }
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.wishes.sizes_held.empty()) << "there was no careful mode";
  EXPECT_EQ(world.cell("A"), 990);
  ASSERT_EQ(world.deferred().size(), 1U);
  const std::string error = world.deferred()[0].errors.at(0);
  EXPECT_TRUE(error.starts_with(
      "killed the process 3 times: signal 11 (SIGSEGV) in handler 'payment', last at 20"))
      << error;
  expect_calm();
  for (std::int64_t process = 1001; process <= 1003; ++process) {
    EXPECT_FALSE(std::filesystem::exists(file_of(process))) << "counted, and removed";
  }
}

TEST_P(ReportTest, TheOtherSourcesOfItsProcessAreInnocent) {
  add_events(3);
  const auto alive = world.begin();
  alive->worker.step();
  die_saying(CarefulWorld::number_of(*alive), alive->careful.run() + 1, "none");
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.wishes.sizes_held.empty());
  EXPECT_TRUE(std::filesystem::exists(file_of(1001))) << "it is for the other one to count";
}

TEST_P(ReportTest, ARunOfAnotherDatabaseMayHaveTheSameNumber) {
  add_events(3);
  const auto alive = world.begin();
  alive->worker.step();
  die_saying(CarefulWorld::number_of(*alive), alive->careful.run(), text_of({1, {}}), "shipping");
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.caution().suspects.empty());
}

TEST_P(ReportTest, ASignalThatWasSentBlamesNoEvent) {
  add_events(3);
  const auto alive = world.begin();
  alive->worker.step();
  die_saying(CarefulWorld::number_of(*alive), alive->careful.run(), text_of({1, {}}), "billing",
             4711);
  const auto next = world.begin();
  next->worker.step();
  EXPECT_TRUE(world.caution().suspects.empty());
  EXPECT_EQ(world.caution().size, 64) << "as after any kill without progress";
}

TEST_P(ReportTest, OneThatNamesNoEventShrinksTransactionsEvenIfThePositionHasMoved) {
  add_events(300);
  const auto alive = world.begin();
  world.kill_after(*alive, 100);
  die_saying(CarefulWorld::number_of(*alive), alive->careful.run(), "none");
  const auto next = world.begin();
  next->worker.step();
  EXPECT_EQ(world.caution().size, 64);
}

TEST_P(ReportTest, AProcessThatHasLetGoOfItsFileIsDeadWhateverItsHost) {
  add_events(3);
  const auto alive = world.begin(false, "a container that is gone");
  alive->worker.step();
  die_saying(CarefulWorld::number_of(*alive), 0, "none");
  EXPECT_TRUE(world.run_process());
  EXPECT_TRUE(world.open_runs().empty());
}

}  // namespace
}  // namespace onefold
