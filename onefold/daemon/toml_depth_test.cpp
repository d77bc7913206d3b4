#include "onefold/daemon/toml_depth.h"

#include <gtest/gtest.h>

#include <string>

#include "onefold/daemon/config.h"

namespace onefold {
namespace {

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(TomlDepth, DotsInKeysAreCounted) {
  const std::string deep = repeated("a.", key_depth_max + 1);
  EXPECT_EQ(line_of_too_deep_key(repeated("a.", key_depth_max) + "a = 1"), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key(deep + "a = 1"), 1U);
  EXPECT_EQ(line_of_too_deep_key("a = 1\n\n[" + deep + "a]"), 3U);
  EXPECT_EQ(line_of_too_deep_key("a = { " + deep + "a = 1 }"), 1U);
  EXPECT_EQ(line_of_too_deep_key("a = [\n1,\n{ " + deep + "a = 1 }]"), 3U);
  EXPECT_EQ(line_of_too_deep_key(repeated("a . ", key_depth_max + 1) + "a = 1"), 1U);
}

TEST(TomlDepth, BracketsAddUp) {
  const std::string half = repeated("a.", key_depth_max / 2 + 1);
  EXPECT_EQ(line_of_too_deep_key(half + "a = 1\n" + half + "a = 2"), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key(half + "a = [1, {\n" + half + "a = 2 }]"), 2U);
  EXPECT_EQ(line_of_too_deep_key("a = [{ " + half + "a = 1 }, { " + half + "a = 2 }]"),
            std::nullopt);
}

TEST(TomlDepth, TextsAndCommentsHideDots) {
  const std::string dots(key_depth_max + 1, '.');
  for (const std::string& text :
       {"a = '" + dots + "'", R"(a = "\")" + dots + "\"", "# " + dots, "a = '''\n" + dots + "'''",
        "a = \"\"\"\n\\\"\"\"" + dots + "\"\"\"", "'" + dots + "' = 1", "a = '#' # \" " + dots}) {
    EXPECT_EQ(line_of_too_deep_key(text), std::nullopt) << text;
    EXPECT_NE(line_of_too_deep_key(text + "\n" + dots), std::nullopt) << text;
  }
}

TEST(TomlDepth, AConfigurationOfDotsIsAProblemAndNoCrash) {
  for (const char* end : {"a = 1\n", "a", ""}) {
    const LoadedConfig loaded = parse_config(repeated("a.", 500'000) + end, "a.toml");
    ASSERT_EQ(loaded.problems.size(), 1U);
    EXPECT_EQ(to_string(loaded.problems[0].place, "a.toml"), "a.toml:1:1");
    EXPECT_NE(loaded.problems[0].text.find("100"), std::string::npos) << loaded.problems[0].text;
  }
}

}  // namespace
}  // namespace onefold
