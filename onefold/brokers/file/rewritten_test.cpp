#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "onefold/brokers/file/file.h"
#include "onefold/brokers/file/file_subject.h"
#include "onefold/brokers/file/temporary_file.h"
#include "onefold/error.h"

/// Files that begin like one that was read before and are not the same: no event may be lost.
namespace onefold::file {
namespace {

namespace fs = std::filesystem;

class Rewritten : public testing::Test {
 protected:
  Options options(bool follow) const {
    Options result = file::options(path.string());
    result.follow = follow;
    return result;
  }
  static std::string lines(const std::string& prefix, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += event(prefix + std::to_string(i)) + "\n";
    return text;
  }
  /// Whether the last event of `lines(prefix, count)` was delivered, and all before.
  static bool has_all(const std::vector<Delivery>& deliveries, const std::string& prefix,
                      int count) {
    const Ids found = ids(deliveries);
    for (int i = 0; i < count; ++i) {
      if (std::ranges::count(found, prefix + std::to_string(i)) != 1) return false;
    }
    return true;
  }

  TemporaryFolder folder;
  fs::path path = folder / "orders.jsonl";
  const std::string header = event("header") + "\n";
};

TEST_F(Rewritten, ANewFileWithTheSameFirstLineIsReadFromItsStart) {
  write(path, header);
  Subject subject{options(false)};
  subject.commit(subject.drain());
  append(path, lines("a", 10));
  subject.open();
  subject.commit(subject.drain());
  const std::string former = header + lines("a", 10);
  const std::string latter = header + lines("bb", 30);
  write(path, latter);
  subject.open();
  const auto deliveries = subject.drain();
  EXPECT_TRUE(has_all(deliveries, "bb", 30));
  EXPECT_EQ(subject.count(Severity::info), 1U);
  subject.commit(deliveries);
  // Both are known from now on.
  for (const std::string& text : {former, latter, former}) {
    write(path, text + event("more") + "\n");
    subject.open();
    EXPECT_EQ(ids(subject.drain()), (Ids{"more"}));
  }
  EXPECT_EQ(subject.count(Severity::info), 1U);
}

TEST_F(Rewritten, TheSameFirst4096BytesAreNotTheSameFile) {
  const std::string start = lines("start", 300);
  ASSERT_GT(start.size(), 4096U);
  for (const bool array : {false, true}) {
    const auto text = [&](const std::string& rest) {
      if (!array) return start + rest;
      std::string all = "[" + start + rest;
      std::ranges::replace(all, '\n', ',');
      all.back() = ']';
      return all;
    };
    write(path, text(lines("one", 20)));
    Subject subject{options(false)};
    subject.commit(subject.drain());
    write(path, text(lines("two", 25)));
    subject.open();
    EXPECT_TRUE(has_all(subject.drain(), "two", 25));
    EXPECT_EQ(subject.count(Severity::info), 1U);
  }
}

TEST_F(Rewritten, AFileTruncatedAndGrownBeyondItsPositionIsReadFromItsStart) {
  const std::string kept = lines("old", 200);
  write(path, kept + lines("gone", 100));
  Subject subject{options(false)};
  subject.commit(subject.drain());
  write(path, kept + lines("another", 300));
  subject.open();
  const auto deliveries = subject.drain();
  EXPECT_TRUE(has_all(deliveries, "another", 300));
  EXPECT_TRUE(has_all(deliveries, "old", 200));
  EXPECT_TRUE(deliveries.at(0).position->partition->incarnation.ends_with(".2"));
}

TEST_F(Rewritten, ALastLineThatWasContinuedIsSeen) {
  write(path, event("1") + "\n" + event("2"));
  Subject subject{options(false)};
  subject.commit(subject.drain());
  write(path, event("1") + "\n" + event("22") + "\n" + event("3") + "\n");
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"1", "22", "3"}));
}

TEST_F(Rewritten, UnderFollowARotationWithTheSameHeaderLosesNothing) {
  write(path, header);
  Subject subject{options(true)};
  subject.commit(subject.drain());
  append(path, lines("a", 10));
  const auto former = subject.drain();
  EXPECT_TRUE(has_all(former, "a", 10));
  append(path, event("late") + "\n");
  fs::rename(path, folder / "old");
  write(path, header + lines("b", 30));
  const auto latter = subject.drain();
  EXPECT_EQ(ids(latter).front(), "late");
  EXPECT_TRUE(has_all(latter, "b", 30));
  EXPECT_NE(*latter.back().position->partition, *former.back().position->partition);
  // The first header alone is committed. Both files are read again, each as itself.
  subject->reposition();
  const auto again = subject.drain();
  EXPECT_TRUE(has_all(again, "a", 10));
  EXPECT_TRUE(has_all(again, "b", 30));
  EXPECT_EQ(ids(again).back(), ids(latter).back());
  subject.commit(again);
  subject.open();
  EXPECT_TRUE(subject.drain().empty());
}

TEST_F(Rewritten, UnderFollowTheHeaderAloneDoesNotMakeANewFileTheSame) {
  write(path, header);
  Subject subject{options(true)};
  subject.drain();
  fs::rename(path, folder / "old");
  write(path, header + lines("b", 3));
  append(folder / "old", lines("late", 2));
  auto all = subject.drain();
  for (Delivery& delivery : subject.drain()) all.push_back(std::move(delivery));
  EXPECT_TRUE(has_all(all, "b", 3));
  EXPECT_TRUE(has_all(all, "late", 2));
}

TEST_F(Rewritten, UnderFollowAFileWrittenAnewInOneGoIsNoticed) {
  write(path, event("first") + "\n");
  Subject subject{options(true)};
  subject.drain();
  append(path, lines("a", 9));
  subject.commit(subject.drain());
  write(path, event("first") + "\n" + lines("b", 50));
  const auto deliveries = subject.drain();
  EXPECT_TRUE(has_all(deliveries, "b", 50));
  EXPECT_TRUE(deliveries.at(0).position->partition->incarnation.ends_with(".2"));
  EXPECT_EQ(subject.count(Severity::info), 1U);
  subject.commit(deliveries);
  subject.open();
  EXPECT_TRUE(subject.drain().empty());
}

TEST_F(Rewritten, UnderFollowAFileWrittenAnewWithTheSameSizeIsNoticed) {
  write(path, event("first") + "\n" + lines("a", 9));
  Subject subject{options(true)};
  subject.commit(subject.drain());
  subject.drain();
  write(path, event("first") + "\n" + lines("b", 9));
  // The clock of the file system may not have moved on since.
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds{1});
  EXPECT_TRUE(has_all(subject.drain(), "b", 9));
}

TEST_F(Rewritten, UnderFollowAPartialLineThatWasReplacedIsReadAsItIs) {
  write(path, event("1") + "\n" + R"({"id":"2")");
  Subject subject{options(true)};
  EXPECT_EQ(ids(subject.drain()), (Ids{"1"}));
  write(path, event("1") + "\n" + event("3") + "\n");
  EXPECT_EQ(ids(subject.drain()), (Ids{"1", "3"}));
}

TEST_F(Rewritten, APositionWithoutAMarkMustFollowALineEnd) {
  write(path, lines("a", 3));
  Subject subject{options(false)};
  const auto all = subject.drain();
  subject.commit(all.at(0));
  subject.stored.at(0).mark = 0;
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"a1", "a2"}));
  ++subject.stored.at(0).next.low;
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"a0", "a1", "a2"}));
}

TEST_F(Rewritten, AFileOfTheKernelIsRefused) {
  fs::create_symlink("/proc/self/environ", path);
  for (const bool follow : {false, true}) {
    try {
      Subject subject{options(follow)};
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      EXPECT_NE(std::string{error.what()}.find(path.string()), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace onefold::file
