#include "onefold/runtime/crash_reports.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "onefold/runtime/crash_file.h"
#include "onefold/runtime/test_crash_files.h"

namespace onefold {
namespace {

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
