#include "onefold/runtime/crash_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "onefold/error.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/process.h"

// Processes that really die, each a child of the test's. Sanitizers end some of them in their own
// way, so that how a child ends is compared with how it ends without a crash file.

namespace onefold {
namespace {

const std::string consumer = "billing";
const std::string handler = "ship";
const Key key{3, {0, 1, 2, 0xfd, 0xfe, 0xff}};

class CrashFileTest : public testing::Test {
 protected:
  CrashFileTest()
      : folder_{std::filesystem::temp_directory_path() /
                ("onefold_crash_file_" + std::to_string(::getpid()))} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CrashFileTest() override { std::filesystem::remove_all(folder_); }
  CrashFileTest(const CrashFileTest&) = delete;
  CrashFileTest& operator=(const CrashFileTest&) = delete;

  std::string folder() const { return folder_.string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator{folder_}) {
      names.push_back(file.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ / name} << text;
  }

  struct Death {
    std::int64_t process = 0;
    std::int64_t started = 0;
    int status = 0;  ///< As `waitpid` has it.
  };
  /// A child that does this, and ends with 0 if it comes back.
  static Death child_that(const std::function<void()>& act) {
    int pipe_ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::int64_t started = this_process().started;
      static_cast<void>(!::write(pipe_ends[1], &started, sizeof(started)));
      ::close(STDERR_FILENO);  // What sanitizers have to say about it.
      act();
      ::_exit(0);
    }
    Death death{.process = child};
    EXPECT_EQ(::read(pipe_ends[0], &death.started, sizeof(death.started)),
              static_cast<ssize_t>(sizeof(death.started)));
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    ::waitpid(child, &death.status, 0);
    return death;
  }
  /// The same in a handler of events, with a crash file.
  Death die_in_hand(const std::function<void()>& act) const {
    return child_that([&] {
      const CrashFile file{folder(), {}};
      const SignalStack stack;
      const InHand in_hand{17, consumer, handler, &key};
      act();
    });
  }
  /// What a process says that has died so; it dies as it would without a crash file.
  CrashReport last_words_of(const std::function<void()>& act) const {
    const Death plain = child_that([&] {
      const SignalStack stack;
      act();
    });
    const Death death = die_in_hand(act);
    EXPECT_EQ(death.status, plain.status);
    EXPECT_NE(death.status, 0);
    const CrashReports reports{folder(), {}};
    EXPECT_TRUE(reports.is_dead(death.process, death.started));
    const CrashReport* const report = reports.of(death.process, death.started);
    EXPECT_NE(report, nullptr);
    return report != nullptr ? *report : CrashReport{};
  }

 private:
  std::filesystem::path folder_;
};

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
__attribute__((no_sanitize("undefined"))) void divide_by(volatile int zero) {
  volatile int result = 1;
  result = result / zero;
}
__attribute__((noinline, no_sanitize("address", "undefined"))) int overflow(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above != nullptr ? *above : '\0';
  return overflow(frame) + frame[0];
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

TEST_F(CrashFileTest, AnExceptionThatNobodyMayThrow) {
  const CrashReport report = last_words_of([]() noexcept { throw 1; });
  EXPECT_EQ(report.how, "signal 6 (SIGABRT)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, ADivisionByZero) {
  const CrashReport report = last_words_of([] { divide_by(0); });
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
  const CrashReport report = last_words_of([] { overflow(nullptr); });
  EXPECT_EQ(report.how, "signal 11 (SIGSEGV)");
  expect_in_hand(report);
}

TEST_F(CrashFileTest, TheStackOfAnotherThread) {
  const auto in_a_thread = [] {
    std::thread{[] {
      const SignalStack stack;
      const InHand in_hand{18, consumer, handler, &key};
      overflow(nullptr);
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
  const Death other = child_that([&] {
    const CrashReports reports{folder(), {}};
    const Process parent{.number = ::getppid()};
    if (files().size() != 1 || reports.is_dead(parent.number, 0)) ::_exit(1);
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

class CrashReportsTest : public CrashFileTest {
 protected:
  static std::string text(const std::string& line = "", const std::string& instead = "") {
    std::string whole =
        "onefold crash 1\nhow signal 11 (SIGSEGV)\nsender 0\ntime 1796104423\nrun 17\n"
        "consumer billing\nhandler ship\nkey 3 000102fdfeff00000000000000000000\nend\n";
    if (!line.empty()) whole.replace(whole.find(line), line.size(), instead);
    return whole;
  }
  static std::string now() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
  }
};

TEST_F(CrashReportsTest, WholeOnesAreRead) {
  const auto report = parse_crash_report(text());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->key, key);
  EXPECT_EQ(words_of(*report),
            "signal 11 (SIGSEGV) in handler 'ship', last at 2026-12-01T05:53:43Z");
  EXPECT_EQ(parse_crash_report(text("3 000102fdfeff00000000000000000000", "none"))->key,
            std::nullopt);
}

TEST_F(CrashReportsTest, WhatIsTornOrForeignIsNoReport) {
  for (std::size_t size = 0; size < text().size(); ++size) {
    EXPECT_FALSE(parse_crash_report(text().substr(0, size)).has_value()) << size;
  }
  const std::pair<const char*, const char*> changes[] = {
      {"crash 1", "crash 2"},   {"sender 0", "sender x"}, {"run 17", "run "},
      {"run 17", "ran 17"},     {"key 3 ", "key 3"},      {"key 3 ", "key 3 00"},
      {"fdfe", "fdfg"},         {"end\n", "end"},         {"end\n", "end\nend\n"},
      {"time 17", "time -+17"}, {"handler ship\n", ""},   {"end", "END"}};
  for (const auto& [line, instead] : changes) {
    EXPECT_FALSE(parse_crash_report(text(line, instead)).has_value()) << line << instead;
  }
  EXPECT_FALSE(parse_crash_report(text("ship", std::string(5000, 's'))).has_value());
}

TEST_F(CrashReportsTest, WhatCannotBeReadIsSetAsideAndToldOnce) {
  write("onefold-crash-4711-9", "onefold crash 1\nhow sig");
  write("onefold-crash-4712-9", text("1796104423", now()));
  std::vector<std::string> told;
  const auto notify = [&](const Notice& notice) { told.push_back(notice.text); };
  const CrashReports reports{folder(), notify};
  EXPECT_TRUE(reports.is_dead(4711, 9));
  EXPECT_EQ(reports.of(4711, 9), nullptr);
  EXPECT_NE(reports.of(4712, 9), nullptr);
  EXPECT_FALSE(reports.is_dead(4712, 10));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("onefold-crash-4711-9"), std::string::npos);
  EXPECT_EQ(files(),
            (std::vector<std::string>{"onefold-crash-4711-9.unreadable", "onefold-crash-4712-9"}));
  const CrashReports again{folder(), notify};
  EXPECT_EQ(told.size(), 1U);
}

TEST_F(CrashReportsTest, WhatIsCountedIsRemoved) {
  write("onefold-crash-4712-9", text("1796104423", now()));
  const CrashReports reports{folder(), {}};
  reports.forget(4712, 8);
  EXPECT_EQ(files().size(), 1U);
  reports.forget(4712, 9);
  EXPECT_TRUE(files().empty());
  EXPECT_NE(reports.of(4712, 9), nullptr) << "others of its runs are still to be buried";
}

TEST_F(CrashReportsTest, WhatNobodyWantedToKnowGoesAfterAWeek) {
  const auto old = std::chrono::system_clock::now() - std::chrono::days{8};
  write("onefold-crash-4712-9",
        text("1796104423", std::to_string(std::chrono::system_clock::to_time_t(old))));
  EXPECT_NE(CrashReports(folder(), {}).of(4712, 9), nullptr);
  EXPECT_TRUE(files().empty());
}

TEST_F(CrashReportsTest, OtherThingsAreLeftAlone) {
  write("onefold-crash-x-9", "");
  write("onefold-crash-4711", "");
  write("notes", text());
  std::filesystem::create_directory(folder() + "/onefold-crash-1-2");
  std::filesystem::create_symlink(folder() + "/notes", folder() + "/onefold-crash-3-4");
  ASSERT_EQ(::mkfifo((folder() + "/onefold-crash-5-6").c_str(), 0600), 0);
  const auto before = files();
  const CrashReports reports{folder(), {}};
  for (const auto& [process, started] : {std::pair{1, 2}, {3, 4}, {5, 6}}) {
    EXPECT_FALSE(reports.is_dead(process, started));
  }
  EXPECT_EQ(files(), before);
  EXPECT_FALSE(CrashReports(folder() + "/missing", {}).is_dead(1, 2));
}

TEST_F(CrashReportsTest, NamesThatOthersHaveChosenStayOnOneLine) {
  const std::string odd = "bil\nling\x7f";
  const std::string endless(600, 'h');
  const Death death = child_that([&] {
    const CrashFile file{folder(), {}};
    const InHand in_hand{17, odd, endless, &key};
    std::abort();
  });
  const CrashReports reports{folder(), {}};
  const CrashReport* const report = reports.of(death.process, death.started);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->consumer, "bil?ling?");
  EXPECT_EQ(report->consumer, as_reported(odd));
  EXPECT_EQ(report->handler, as_reported(endless));
  EXPECT_EQ(report->handler.size(), 512U);
}

}  // namespace
}  // namespace onefold
