#include "onefold/runtime/crash_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "onefold/error.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/process.h"
#include "onefold/runtime/test_crash_files.h"

// Sanitizers end some of these processes in their own way, so that how a child ends is compared
// with how it ends without a crash file.

namespace onefold {
namespace {

void expect_in_hand(const CrashReport& report) {
  EXPECT_EQ(report.sender, 0);
  EXPECT_EQ(report.run, 17);
  EXPECT_EQ(report.consumer, consumer);
  EXPECT_EQ(report.handler, handler);
  EXPECT_EQ(report.key, key);
  const auto age = std::chrono::system_clock::now() - report.at;
  EXPECT_LT(age, std::chrono::minutes{2});
}

/// Not seen by the sanitizers, which would end it before there is a signal.
__attribute__((no_sanitize("address", "undefined", "thread"))) void write_nowhere() {
  int* volatile nowhere = nullptr;
  *nowhere = 1;
}
__attribute__((no_sanitize("undefined"))) void divide_by_zero() {
  volatile const int zero = 0;
  volatile int result = 1;
  result = result / zero;
}
__attribute__((noinline, no_sanitize("address", "undefined"))) int overflow(
    volatile const int* deep) {
  volatile int frame[1024];
  frame[0] = *deep;
  return *deep == 0 ? 0 : overflow(frame) + frame[0];
}
void overflow() {
  volatile int endless = 1;
  overflow(&endless);
}

TEST_F(CrashFileTest, ASegmentationFault) {
  const CrashReport report = last_words_of(write_nowhere);
  EXPECT_EQ(report.how, "signal 11 (SIGSEGV)");
  expect_in_hand(report);
  EXPECT_TRUE(words_of(report).starts_with("signal 11 (SIGSEGV) in handler 'ship', last at 20"));
}

TEST_F(CrashFileTest, Abort) {
  const CrashReport report = last_words_of([] { std::abort(); });
  EXPECT_EQ(report.how, "signal 6 (SIGABRT)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, AnExceptionThatNobodyCatches) {
  // The library says so on standard error, which is closed here.
  const CrashReport report = last_words_of([] { std::terminate(); });
  EXPECT_EQ(report.how, "signal 6 (SIGABRT)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, ADivisionByZero) {
  const CrashReport report = last_words_of(divide_by_zero);
  EXPECT_EQ(report.how, "signal 8 (SIGFPE)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, SignalsThatAThreadRaises) {
  for (const int signal : {SIGILL, SIGBUS}) {
    const CrashReport report = last_words_of([signal] { ::raise(signal); });
    EXPECT_TRUE(report.how.starts_with("signal " + std::to_string(signal) + " (SIG"));
    expect_in_hand(report);
  }
}

TEST_F(CrashFileTest, AStackOverflow) {
  const CrashReport report = last_words_of([] { overflow(); });
  EXPECT_EQ(report.how, "signal 11 (SIGSEGV)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, TheStackOfAnotherThread) {
  const auto in_a_thread = [] {
    std::thread{[] {
      const SignalStack stack;
      const InHand in_hand{18, consumer, handler, &key};
      overflow();
    }}.join();
  };
  const CrashReport report = last_words_of(in_a_thread);
  EXPECT_EQ(report.run, 18) << "what the thread had in hand, and not the others";
}

TEST_F(CrashFileTest, Exit) {
  for (const auto& leave : {std::exit, std::quick_exit}) {
    const CrashReport report = last_words_of([&] { leave(3); });
    EXPECT_EQ(report.how, "exit called");
    expect_in_hand(report);
  }
}

TEST_F(CrashFileTest, AThreadThatHasNothingInHandBlamesNobody) {
  const Death death = die_in_hand([] { std::thread{write_nowhere}.join(); });
  const CrashReports reports{folder(), {}};
  const CrashReport* const report = reports.of(death.process, death.started);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->how, "signal 11 (SIGSEGV)");
  EXPECT_EQ(report->run, 0);
  EXPECT_FALSE(report->key.has_value());
}

TEST_F(CrashFileTest, WithSeveralEventsInHandNoneIsNamed) {
  const Death death = die_in_hand([] {
    const InHand all{19, consumer, handler, nullptr};
    std::abort();
  });
  const CrashReports reports{folder(), {}};
  const CrashReport* const report = reports.of(death.process, death.started);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->run, 19);
  EXPECT_FALSE(report->key.has_value());
}

TEST_F(CrashFileTest, ASignalFromOutsideSaysWhoHasSentIt) {
  const pid_t test = ::getpid();
  const Death death = die_in_hand([&] {
    const pid_t self = ::getpid();
    if (::fork() == 0) {
      ::kill(self, SIGABRT);
      ::_exit(0);
    }
    for (;;) ::pause();
  });
  const CrashReports reports{folder(), {}};
  const CrashReport* const report = reports.of(death.process, death.started);
  ASSERT_NE(report, nullptr);
  EXPECT_GT(report->sender, 0);
  EXPECT_NE(report->sender, death.process);
  EXPECT_NE(report->sender, test);
  EXPECT_EQ(WTERMSIG(death.status), SIGABRT);
}

TEST_F(CrashFileTest, KilledItHasNothingToSay) {
  const Death death = die_in_hand([] { ::kill(::getpid(), SIGKILL); });
  EXPECT_EQ(files().size(), 1U);
  const CrashReports reports{folder(), {}};
  EXPECT_TRUE(reports.is_dead(death.process, death.started));
  EXPECT_EQ(reports.of(death.process, death.started), nullptr);
  EXPECT_TRUE(files().empty());
}

TEST_F(CrashFileTest, NothingRemainsOfACleanEnd) {
  const Death death = child_that([&] {
    {
      const CrashFile file{folder(), {}};
      if (files().size() != 1) ::_exit(1);
    }
    if (!files().empty()) ::_exit(2);
  });
  EXPECT_EQ(death.status, 0);
}

TEST_F(CrashFileTest, WhatIsInPlaceBeforeIsInPlaceAfterAndHasTheLastWord) {
  const auto own = [] {
    struct sigaction action{};
    action.sa_handler = [](int) { ::_exit(42); };
    ::sigaction(SIGSEGV, &action, nullptr);
  };
  const Death chained = child_that([&] {
    own();
    const CrashFile file{folder(), {}};
    const InHand in_hand{17, consumer, handler, &key};
    write_nowhere();
  });
  EXPECT_EQ(WEXITSTATUS(chained.status), 42);
  EXPECT_NE(CrashReports(folder(), {}).of(chained.process, chained.started), nullptr);
  const Death restored = child_that([&] {
    own();
    {
      const CrashFile file{folder(), {}};
    }
    write_nowhere();
  });
  EXPECT_EQ(WEXITSTATUS(restored.status), 42);
  EXPECT_EQ(CrashReports(folder(), {}).of(restored.process, restored.started), nullptr);
}

TEST_F(CrashFileTest, AForkedChildHasNoPartInIt) {
  const Death death = die_in_hand([&] {
    const Death grandchild = child_that([] { std::abort(); });
    if (grandchild.status == 0 || files().size() != 1) ::_exit(1);
    const Death leaver = child_that([] { std::exit(0); });
    if (leaver.status != 0 || files().size() != 1) ::_exit(2);
    if (!std::filesystem::is_empty(folder() + "/" + files()[0])) ::_exit(3);
  });
  EXPECT_EQ(death.status, 0);
}

TEST_F(CrashFileTest, WhoLivesIsLeftAlone) {
  const CrashFile file{folder(), {}};
  const Process self = this_process();
  const Death other = child_that([&] {
    const CrashReports reports{folder(), {}};
    if (files().size() != 1 || reports.is_dead(self.number, self.started)) ::_exit(1);
  });
  EXPECT_EQ(other.status, 0);
  const CrashReports own{folder(), {}};
  EXPECT_EQ(files().size(), 1U);
  // Looking has not given up the lock.
  const Death another = child_that([&] {
    const CrashReports reports{folder(), {}};
    if (files().size() != 1) ::_exit(1);
  });
  EXPECT_EQ(another.status, 0);
}

TEST_F(CrashFileTest, SeveralInAProcessShareOne) {
  {
    const CrashFile first{folder(), {}};
    const CrashFile second{folder(), {}};
    EXPECT_EQ(files().size(), 1U);
    EXPECT_THROW(CrashFile(folder() + "/other", {}), Error);
  }
  EXPECT_TRUE(files().empty());
  const CrashFile moved{folder() + "/other", {}};
  EXPECT_EQ(files(), std::vector<std::string>{"other"});
}

TEST_F(CrashFileTest, AFolderThatCannotBeUsedIsRefusedInWords) {
  write("a file", "");
  for (const char* name : {"/missing/deeper", "/a file"}) {
    try {
      const CrashFile file{folder() + name, {}};
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      EXPECT_NE(std::string{error.what()}.find(name), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace onefold
