#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "onefold/runtime/crash_file.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/process.h"

namespace onefold {

inline const std::string consumer = "billing";
inline const std::string handler = "ship";
inline const Key key{3, {0, 1, 2, 0xfd, 0xfe, 0xff}};

/// A state folder, and processes that really die, each a child of the test's.
class CrashFileTest : public testing::Test {
 public:
  ~CrashFileTest() override { std::filesystem::remove_all(folder_); }
  CrashFileTest(const CrashFileTest&) = delete;
  CrashFileTest& operator=(const CrashFileTest&) = delete;

 protected:
  CrashFileTest()
      : folder_{std::filesystem::temp_directory_path() /
                ("onefold_crash_file_" + std::to_string(::getpid()))} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

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

}  // namespace onefold
