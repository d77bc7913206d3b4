#include "onefold/brokers/file/standard_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "onefold/brokers/file/file_subject.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

using std::chrono::milliseconds;

class StandardInput : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(ends), 0);
    open(options("-"));
  }
  void TearDown() override {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void open(const Options& given) {
    source = open_standard_input(
        ends[0], given,
        {.positions = {}, .notify = [this](const Notice& notice) { notices.push_back(notice); }});
  }
  void send(std::string_view text) const {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void finish() {
    ::close(ends[1]);
    ends[1] = -1;
  }
  std::vector<Delivery> receive(std::size_t limit = 100, int patience_ms = 0) const {
    return source->receive(limit, milliseconds{patience_ms});
  }

  int ends[2] = {-1, -1};
  std::vector<Notice> notices;
  std::unique_ptr<Source> source;
};

TEST_F(StandardInput, LinesHaveNoPosition) {
  send(event("1") + "\n" + event("2") + "\n" + event("3").substr(0, 4));
  const auto deliveries = receive();
  EXPECT_EQ(ids(deliveries), (Ids{"1", "2"}));
  EXPECT_FALSE(deliveries.at(0).position.has_value());
  EXPECT_FALSE(source->at_end());
  send(event("3").substr(4) + "\n");
  EXPECT_EQ(ids(receive()), (Ids{"3"}));
  EXPECT_EQ(source->traits().kind, SourceClass::queue);
}

TEST_F(StandardInput, ReceiveWaitsNoLongerThanItsPatience) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(receive(10, 40).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds{40});
  EXPECT_TRUE(receive(0, 10'000).empty());
  std::thread writer{[this] {
    std::this_thread::sleep_for(milliseconds{30});
    send(event("1") + "\n");
  }};
  EXPECT_EQ(ids(receive(10, 20'000)), (Ids{"1"}));
  writer.join();
}

TEST_F(StandardInput, ALimitIsKept) {
  send(event("1") + "\n" + event("2") + "\n");
  finish();
  EXPECT_EQ(ids(receive(1)), (Ids{"1"}));
  EXPECT_FALSE(source->at_end());
  EXPECT_EQ(ids(receive(1)), (Ids{"2"}));
  receive(1);
  EXPECT_TRUE(source->at_end());
}

TEST_F(StandardInput, TheEndEndsTheLastLineIfItIsComplete) {
  send(event("1"));
  EXPECT_TRUE(receive().empty());
  finish();
  EXPECT_EQ(ids(receive()), (Ids{"1"}));
  EXPECT_TRUE(source->at_end());
  EXPECT_TRUE(receive().empty());
  EXPECT_TRUE(notices.empty());
}

TEST_F(StandardInput, AnIncompleteEndIsReported) {
  send(event("1") + "\n{\"id\":");
  finish();
  EXPECT_EQ(ids(receive()), (Ids{"1"}));
  EXPECT_TRUE(source->at_end());
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].severity, Severity::problem);
  EXPECT_NE(notices[0].text.find("offset 22"), std::string::npos) << notices[0].text;
}

TEST_F(StandardInput, AnArrayIsCutIntoItsElements) {
  send("[" + event("1") + ",");
  EXPECT_EQ(ids(receive()), (Ids{"1"}));
  send(event("2") + "]");
  finish();
  EXPECT_EQ(ids(receive()), (Ids{"2"}));
  EXPECT_TRUE(notices.empty());
}

TEST_F(StandardInput, TwoTooLargeLinesThatBeginAlikeAreTwo) {
  const std::string large(5000, 'x');
  Options given = options("-");
  given.limits.event_bytes_max = 1000;
  open(given);
  send(large + "1\n" + large + "2\n" + large + "1\n");
  finish();
  const auto deliveries = receive();
  EXPECT_EQ(ids(deliveries), (Ids{"TOO_LARGE", "TOO_LARGE", "TOO_LARGE"}));
  EXPECT_NE(deliveries.at(0).raw, deliveries.at(1).raw);
  EXPECT_EQ(deliveries.at(0).raw, deliveries.at(2).raw);
}

TEST_F(StandardInput, AClosedDescriptorIsAMatterOfConfiguration) {
  const auto closed = open_standard_input(1023, options("-"), {});
  try {
    closed->receive(1, milliseconds{0});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
  }
}

}  // namespace
}  // namespace onefold::file
