#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

struct Target {
  const char* name;
  void (*read)(std::string_view bytes);
};

std::ostream& operator<<(std::ostream& out, const Target& target) {
  return out << target.name;
}

class Corpus : public testing::TestWithParam<Target> {};

/// A property that does not hold ends the process, and the file that was read last is the one.
TEST_P(Corpus, HoldsAllProperties) {
  const Target& target = GetParam();
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{std::filesystem::path{ONEFOLD_CORPORA} / target.name}) {
    SCOPED_TRACE(entry.path());
    std::ifstream file{entry.path(), std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    ASSERT_TRUE(file.good() || file.eof());
    std::fprintf(stderr, "%s\n", entry.path().c_str());
    target.read(bytes);
    ++files;
  }
  EXPECT_GT(files, 10);
}

constexpr Target targets[] = {{"json", json},
                              {"cloudevents", cloudevents},
                              {"config", config},
                              {"sql", sql},
                              {"splitter", splitter}};

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(targets),
                         [](const auto& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace onefold::fuzz
