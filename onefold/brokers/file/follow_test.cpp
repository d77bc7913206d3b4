#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "onefold/brokers/file/file.h"
#include "onefold/brokers/file/file_subject.h"
#include "onefold/brokers/file/temporary_file.h"

namespace onefold::file {
namespace {

namespace fs = std::filesystem;

class Follow : public testing::Test {
 protected:
  Options options() const {
    Options result = file::options(path.string());
    result.follow = true;
    return result;
  }
  TemporaryFolder folder;
  fs::path path = folder / "orders.jsonl";
};

TEST_F(Follow, WhatIsAppendedIsDelivered) {
  write(path, event("1") + "\n");
  Subject subject{options()};
  EXPECT_EQ(ids(subject.receive()), (Ids{"1"}));
  EXPECT_TRUE(subject->at_end());
  append(path, event("2") + "\n" + event("3") + "\n");
  EXPECT_EQ(ids(subject.receive(1)), (Ids{"2"}));
  EXPECT_FALSE(subject->at_end());
  EXPECT_EQ(ids(subject.receive(1)), (Ids{"3"}));
}

TEST_F(Follow, ReceiveWaitsAsLongAsItsPatience) {
  write(path, "");
  Subject subject{options()};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(subject.receive(10, 60).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds{60});
  std::thread writer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    append(path, event("1") + "\n");
  }};
  EXPECT_EQ(ids(subject.receive(10, 20'000)), (Ids{"1"}));
  writer.join();
}

TEST_F(Follow, APartialLastLineWaits) {
  write(path, event("1") + "\n" + event("2").substr(0, 10));
  Subject subject{options()};
  EXPECT_EQ(ids(subject.receive()), (Ids{"1"}));
  append(path, event("2").substr(10));
  EXPECT_TRUE(subject.receive().empty());
  append(path, "\n");
  EXPECT_EQ(ids(subject.receive()), (Ids{"2"}));
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(Follow, AnArrayMayGrow) {
  write(path, "[" + event("1"));
  Subject subject{options()};
  EXPECT_EQ(ids(subject.receive()), (Ids{"1"}));
  append(path, "," + event("2").substr(0, 5));
  EXPECT_TRUE(subject.receive().empty());
  append(path, event("2").substr(5) + "," + event("3") + "]");
  EXPECT_EQ(ids(subject.receive()), (Ids{"2", "3"}));
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(Follow, ALineThatBeginsWithABracketIsNoArray) {
  write(path, "[");
  Subject subject{options()};
  EXPECT_TRUE(subject.drain().empty());
  append(path, "2026-11-30] started\n" + event("1") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"BAD_JSON", "1"}));
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(Follow, AnArrayThatCannotGoOnIsSaidOnce) {
  write(path, "[" + event("1") + "]\n" + event("2") + "\n");
  Subject subject{options()};
  EXPECT_EQ(ids(subject.drain()), (Ids{"1"}));
  EXPECT_TRUE(subject.notices.empty());
  for (int i = 0; i < 3; ++i) subject.drain();
  ASSERT_EQ(subject.count(Severity::warning), 1U);
  EXPECT_NE(subject.notices[0].text.find("offset 24"), std::string::npos)
      << subject.notices[0].text;
  write(path, "[" + event("1") + "," + event("22").substr(0, 9));
  for (int i = 0; i < 3; ++i) subject.drain();
  EXPECT_EQ(subject.count(Severity::warning), 2U);
  append(path, event("22").substr(9) + ",");
  EXPECT_EQ(ids(subject.drain()), (Ids{"22"}));
  for (int i = 0; i < 3; ++i) subject.drain();
  EXPECT_EQ(subject.count(Severity::warning), 2U);
}

TEST_F(Follow, AMissingFileIsWaitedFor) {
  Subject subject{options()};
  EXPECT_TRUE(subject.receive().empty());
  EXPECT_TRUE(subject->at_end());
  EXPECT_EQ(subject.count(Severity::info), 1U);
  write(path, event("1") + "\n");
  EXPECT_EQ(ids(subject.receive()), (Ids{"1"}));
}

TEST_F(Follow, ARotatedFileIsReadToItsEndBeforeTheNewOne) {
  write(path, event("1") + "\n");
  Subject subject{options()};
  const auto first = subject.receive();
  append(path, event("2") + "\n");
  fs::rename(path, folder / "old");
  append(folder / "old", event("3") + "\n" + event("4").substr(0, 8));
  write(path, event("5") + "\n");
  const auto deliveries = subject.drain();
  ASSERT_EQ(ids(deliveries), (Ids{"2", "3", "5"}));
  EXPECT_EQ(*deliveries[0].position->partition, *first.at(0).position->partition);
  EXPECT_NE(*deliveries[2].position->partition, *first.at(0).position->partition);
  EXPECT_EQ(deliveries[2].position->at, Offset{});
  EXPECT_EQ(subject.count(Severity::problem), 1U);
  EXPECT_EQ(subject.count(Severity::info), 1U);
}

TEST_F(Follow, ARotatedFileWithoutALastLineEndIsCompleteToo) {
  write(path, event("1") + "\n" + event("2"));
  Subject subject{options()};
  EXPECT_EQ(ids(subject.receive()), (Ids{"1"}));
  fs::rename(path, folder / "old");
  write(path, event("3") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"2", "3"}));
  EXPECT_EQ(subject.count(Severity::problem), 0U);
}

TEST_F(Follow, AWriterThatNoticesTheRotationLateLosesNothing) {
  write(path, event("1") + "\n");
  Subject subject{options()};
  subject.drain();
  std::ofstream writer{path, std::ios::app};
  fs::rename(path, folder / "old");
  write(path, event("2") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"2"}));
  writer << event("3") << "\n" << std::flush;
  EXPECT_EQ(ids(subject.drain()), (Ids{"3"}));
  append(path, event("4") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"4"}));
}

TEST_F(Follow, AfterARotationBothFilesCanBeRepositioned) {
  write(path, event("1") + "\n" + event("2") + "\n");
  Subject subject{options()};
  const auto old = subject.drain();
  fs::rename(path, folder / "old");
  write(path, event("3") + "\n" + event("4") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"3", "4"}));
  subject.commit(old.at(0));
  subject->reposition();
  const auto again = subject.drain();
  EXPECT_EQ(ids(again), (Ids{"2", "3", "4"}));
  subject.commit(again);
  subject->reposition();
  EXPECT_TRUE(subject.drain().empty());
}

TEST_F(Follow, AFileReplacedByACopyOfItselfGoesOn) {
  write(path, event("1") + "\n" + event("2") + "\n");
  Subject subject{options()};
  const auto before = subject.drain();
  fs::copy_file(path, folder / "copy");
  append(folder / "copy", event("3") + "\n");
  fs::rename(folder / "copy", path);
  const auto after = subject.drain();
  EXPECT_EQ(ids(after), (Ids{"3"}));
  EXPECT_EQ(*after.at(0).position->partition, *before.at(0).position->partition);
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(Follow, ATruncatedFileIsReadFromItsStartAsAnotherGeneration) {
  write(path, event("1") + "\n" + event("2") + "\n");
  Subject subject{options()};
  const auto before = subject.drain();
  subject.commit(before);
  fs::resize_file(path, 0);
  EXPECT_TRUE(subject.drain().empty());
  append(path, event("1") + "\n");
  const auto after = subject.drain();
  EXPECT_EQ(ids(after), (Ids{"1"}));
  EXPECT_TRUE(after.at(0).position->partition->incarnation.ends_with(".2"));
  EXPECT_EQ(subject.count(Severity::info), 1U);
  // The same bytes as before the truncation: still the new generation.
  append(path, event("2") + "\n" + event("3") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"2", "3"}));
  subject->reposition();
  EXPECT_EQ(ids(subject.drain()), (Ids{"1", "2", "3"}));
  subject.commit(after);
  subject->reposition();
  EXPECT_EQ(ids(subject.drain()), (Ids{"2", "3"}));
}

TEST_F(Follow, AFileTruncatedAndGrownBeyondWhatWasReadIsNoticed) {
  write(path, event("1") + "\n" + event("2") + "\n");
  Subject subject{options()};
  subject.commit(subject.drain());
  write(path, event("3") + "\n" + event("4") + "\n" + event("5") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"3", "4", "5"}));
  EXPECT_EQ(subject.count(Severity::info), 1U);
}

/// A writer and a reader in any order: a line that was written completely is delivered, in order,
/// and again only after a reposition.
class Story {
 public:
  void write_line() { append(path_, event(next_id()) + "\n"); }
  void write_in_two_parts() {
    const std::string line = event(next_id()) + "\n";
    append(path_, line.substr(0, 7));
    receive(10);
    append(path_, line.substr(7));
  }
  void receive(std::size_t limit) {
    const auto deliveries = subject_.receive(limit);
    for (const Delivery& delivery : deliveries) {
      if (!settled_.contains(delivery.event.id)) received_.push_back(delivery);
      RC_ASSERT(delivery.defect.empty());
      RC_ASSERT(!settled_.contains(delivery.event.id));
      seen_.insert(delivery.event.id);
    }
  }
  void commit() {
    for (const Delivery& delivery : received_) settled_.insert(delivery.event.id);
    subject_.commit(received_);
    received_.clear();
  }
  void reposition() {
    received_.clear();
    subject_->reposition();
  }
  void rotate() {
    drain();
    // Only one former file is kept open, and none across a restart of the process.
    commit();
    fs::rename(path_, folder_ / ("old" + std::to_string(count_)));
    write_line();
    drain();
  }
  void truncate() {
    drain();
    commit();
    fs::resize_file(path_, 0);
    receive(1);
    write_line();
  }
  void drain() {
    do {
      receive(3);
    } while (!subject_->at_end());
  }
  void check() {
    drain();
    RC_ASSERT(seen_.size() == static_cast<std::size_t>(count_));
    reposition();
    drain();
    commit();
    RC_ASSERT(settled_.size() == static_cast<std::size_t>(count_));
    RC_ASSERT(subject_.count(Severity::problem) == 0U);
  }

 private:
  std::string next_id() { return std::to_string(++count_); }
  Options options() const {
    Options result = file::options(path_.string());
    result.follow = true;
    return result;
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "orders.jsonl";
  int count_ = 0;
  std::vector<Delivery> received_;
  std::set<std::string> seen_;
  std::set<std::string> settled_;
  Subject subject_{options()};
};

RC_GTEST_PROP(FollowProperty, NothingIsLostAndNothingComesTwiceWithoutNeed, ()) {
  const auto actions = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 7));
  Story story;
  story.write_line();
  for (const int action : actions) {
    switch (action) {
      case 0:
        story.write_line();
        break;
      case 1:
        story.write_in_two_parts();
        break;
      case 2:
        story.receive(1);
        break;
      case 3:
        story.commit();
        break;
      case 4:
        story.reposition();
        break;
      case 5:
        story.rotate();
        break;
      default:
        story.truncate();
    }
  }
  story.check();
}

}  // namespace
}  // namespace onefold::file
