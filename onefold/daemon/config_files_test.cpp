#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onefold/daemon/catalog.h"
#include "onefold/daemon/config.h"
#include "onefold/daemon/config_sample.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

constexpr const char* store = "config_version = 1\n[store]\nurl = \"sqlite:shop.db\"\n";
constexpr const char* source =
    "[source.orders]\nkind = \"file\"\npath = \"orders.jsonl\"\nformat = \"cloudevents\"\n";
constexpr const char* consumer =
    "[consumer.billing]\nsources = [\"orders\"]\n[[consumer.billing.handler]]\nname = \"h\"\n"
    "type = \"*\"\nsql = \"DELETE FROM t\"\n";

/// Files in a folder of the test's own.
class ConfigFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "config_files_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path{path}.parent_path());
    std::ofstream{path, std::ios::binary} << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  LoadedConfig load(const std::vector<std::string>& paths) {
    return load_config(paths, ConfigReadingOptions{.environment = environment_});
  }

  std::string only_problem(const LoadedConfig& loaded) {
    EXPECT_EQ(loaded.problems.size(), 1U) << shown(loaded);
    return shown(loaded);
  }

  std::string folder_;
  Environment environment_;
};

TEST_F(ConfigFiles, TablesOfSeveralFilesComeTogether) {
  const auto loaded = load({write("a.toml", store), write("b.toml", source),
                            write("c.toml", std::string{"config_version = 1\n"} + consumer)});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.sources.size(), 1U);
  EXPECT_EQ(loaded.config.consumers.size(), 1U);
}

TEST_F(ConfigFiles, AFolderIsItsTomlFilesInTheOrderOfTheirBytes) {
  write("conf/20-source.toml", source);
  write("conf/10-store.toml", store);
  write("conf/30-Consumer.toml", consumer);
  write("conf/notes.txt", "not TOML");
  write("conf/.hidden.toml", "not TOML");
  write("conf/old.toml.bak", "not TOML");
  fs::create_directories(folder_ + "/conf/deeper");
  write("conf/deeper/x.toml", "not TOML");
  const auto loaded = load({folder_ + "/conf"});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  write("conf/15-broken.toml", "x = ]");
  write("conf/05-broken.toml", "x = ]");
  const auto broken = load({folder_ + "/conf"});
  ASSERT_EQ(broken.problems.size(), 2U) << shown(broken);
  EXPECT_TRUE(broken.problems[0].place.file.ends_with("05-broken.toml")) << shown(broken);
  EXPECT_TRUE(broken.problems[1].place.file.ends_with("15-broken.toml")) << shown(broken);
}

TEST_F(ConfigFiles, EachPathStartsAtTheFolderOfItsFile) {
  const auto loaded =
      load({write("a.toml", std::string{store} + consumer), write("shop/b.toml", source)});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.sources.at("orders").path, folder_ + "/shop/orders.jsonl");
  EXPECT_EQ(store_place(loaded.config), folder_ + "/shop.db");
  // A variable stands in the place of the value in the file.
  environment_ = {{"ONEFOLD__SOURCE__ORDERS__PATH", "other.jsonl"}};
  const auto other = load({folder_ + "/a.toml", folder_ + "/shop/b.toml"});
  EXPECT_EQ(other.config.sources.at("orders").path, folder_ + "/shop/other.jsonl");
}

TEST_F(ConfigFiles, WhatStandsTwiceNamesBothPlaces) {
  const std::string first = write("a.toml", std::string{store} + source + consumer);
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {consumer, "[consumer.billing]"},
           {source, "[source.orders]"},
           {"[store]\nurl = \"sqlite:b.db\"\n", "[store]"},
           {"config_version = 2\n", "\"config_version\""}}) {
    const auto problem = only_problem(load({first, write("b.toml", text)}));
    EXPECT_NE(problem.find("b.toml:1:"), std::string::npos) << problem;
    EXPECT_NE(problem.find(what + " stands in two files: it is also at " + first + ":"),
              std::string::npos)
        << problem;
  }
}

TEST_F(ConfigFiles, ProblemsNameTheirFilesInOrder) {
  const auto loaded = load({write("b.toml", std::string{store} + "x = 1\n"),
                            write("a.toml", std::string{source} + "y = 1\n"),
                            write("c.toml", std::string{consumer} + "z = 1\n")});
  ASSERT_EQ(loaded.problems.size(), 3U) << shown(loaded);
  EXPECT_EQ(to_string(loaded.problems[0].place, ""), folder_ + "/b.toml:4:1");
  EXPECT_EQ(to_string(loaded.problems[1].place, ""), folder_ + "/a.toml:5:1");
  EXPECT_EQ(to_string(loaded.problems[2].place, ""), folder_ + "/c.toml:7:1");
}

TEST_F(ConfigFiles, WhatIsNotThereOrTwiceIsAProblem) {
  const std::string path = write("a.toml", std::string{store} + source + consumer);
  EXPECT_NE(only_problem(load({path, folder_ + "/none.toml"})).find("no such file"),
            std::string::npos);
  EXPECT_NE(only_problem(load({path, path})).find("named twice"), std::string::npos);
  EXPECT_NE(only_problem(load({path, folder_})).find("named twice"), std::string::npos);
  fs::create_directories(folder_ + "/empty");
  EXPECT_NE(only_problem(load({folder_ + "/empty"})).find("no *.toml file"), std::string::npos);
}

/// The store's URL comes from elsewhere.
class ConfigSecret : public ConfigFiles {
 protected:
  LoadedConfig with(const std::string& lines) {
    return load(
        {write("shop/a.toml", "config_version = 1\n[store]\n" + lines + "\n" + source + consumer)});
  }
};

TEST_F(ConfigSecret, AFileHoldsIt) {
  for (const char* text : {"sqlite:b.db", "sqlite:b.db\n", "sqlite:b.db\r\n"}) {
    write("shop/secret", text);
    const auto loaded = with("url_file = \"secret\"");
    ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
    EXPECT_EQ(loaded.config.store_url.reveal(), "sqlite:b.db");
    EXPECT_EQ(store_place(loaded.config), folder_ + "/shop/b.db");
  }
  // One new line only: the rest would be a part of the secret.
  write("shop/secret", "sqlite:b.db\n\n");
  EXPECT_NE(only_problem(with("url_file = \"secret\"")).find("more than one line"),
            std::string::npos);
}

TEST_F(ConfigSecret, AFileThatOthersMayReadIsRefusedWithTheWayOut) {
  for (const mode_t mode : {0644U, 0640U, 0604U, 0620U, 0602U, 0666U}) {
    const std::string path = write("shop/secret", "sqlite:b.db", mode);
    const auto problem = only_problem(with("url_file = \"secret\""));
    EXPECT_NE(problem.find("others may read or write"), std::string::npos) << problem;
    EXPECT_NE(problem.find("chmod 600 " + path), std::string::npos) << problem;
  }
  for (const mode_t mode : {0600U, 0400U, 0700U, 0611U}) {
    write("shop/secret", "sqlite:b.db", mode);
    const auto loaded = with("url_file = \"secret\"");
    EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
  }
}

TEST_F(ConfigSecret, AVariableHoldsIt) {
  environment_ = {{"SHOP_URL", "sqlite:b.db"}};
  const auto loaded = with("url_env = \"SHOP_URL\"");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.store_url.reveal(), "sqlite:b.db");
  EXPECT_NE(only_problem(with("url_env = \"SHOP\"")).find("SHOP is not set"), std::string::npos);
}

TEST_F(ConfigSecret, ExactlyOneOfTheThree) {
  write("shop/secret", "sqlite:b.db");
  environment_ = {{"SHOP_URL", "sqlite:b.db"}};
  for (const char* lines : {"url = \"sqlite:b.db\"\nurl_file = \"secret\"",
                            "url = \"sqlite:b.db\"\nurl_env = \"SHOP_URL\"",
                            "url_file = \"secret\"\nurl_env = \"SHOP_URL\""}) {
    EXPECT_NE(only_problem(with(lines)).find("are both given"), std::string::npos);
  }
  EXPECT_NE(only_problem(with("")).find("needs the key \"url\""), std::string::npos);
}

TEST_F(ConfigSecret, WhatCannotBeOneIsRefused) {
  const struct {
    std::string text;
    const char* why;
  } cases[] = {{"", "is empty"},
               {"\n", "is empty"},
               {std::string{"sqlite:\0b", 9}, "NUL"},
               {"sqlite:a\nsqlite:b", "more than one line"},
               {std::string(66'000, 'a'), "larger than 64 KiB"}};
  for (const auto& each : cases) {
    write("shop/secret", each.text);
    EXPECT_NE(only_problem(with("url_file = \"secret\"")).find(each.why), std::string::npos);
  }
  EXPECT_NE(only_problem(with("url_file = \"none\"")).find("cannot be read"), std::string::npos);
  EXPECT_NE(only_problem(with("url_file = \".\"")).find("not an ordinary file"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ + "/shop/pipe").c_str(), 0600), 0);
  EXPECT_NE(only_problem(with("url_file = \"pipe\"")).find("not an ordinary file"),
            std::string::npos);
}

TEST_F(ConfigSecret, IsNeverShown) {
  const std::string url = "oracle://shop:correcthorse@db/shop?sslpassword=correcthorse";
  write("shop/secret", url);
  environment_ = {{"SHOP_URL", url}, {"PASSWORD", "correcthorse"}};
  for (const std::string& lines :
       {std::string{"url_file = \"secret\""}, std::string{"url_env = \"SHOP_URL\""},
        "url = \"" + url + "\"", std::string{"url = \"oracle://shop:${PASSWORD}@db\""}}) {
    const auto problem = only_problem(with(lines));
    EXPECT_NE(problem.find("must begin with sqlite:"), std::string::npos) << problem;
    EXPECT_NE(problem.find("shop:***@db"), std::string::npos) << problem;
    EXPECT_EQ(problem.find("correcthorse"), std::string::npos) << problem;
  }
  environment_["ONEFOLD__STORE__URL"] = url;
  EXPECT_EQ(only_problem(with("url_file = \"secret\"")).find("correcthorse"), std::string::npos);
}

TEST_F(ConfigSecret, WhatIsInForceIsShownWithItsOriginAndWithoutIt) {
  environment_ = {
      {"ONEFOLD__CONSUMER__BILLING__BATCH_MAX", "7"}, {"PASSWORD", "correcthorse"}, {"DEPTH", "9"}};
  const auto loaded =
      load({write("a.toml",
                  "config_version = 1\n[store]\nurl = "
                  "\"sqlite:u:${PASSWORD}@x\"\n" +
                      std::string{source} + "depth_max = \"${DEPTH}\"\n" + consumer)});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  std::string all;
  for (const EffectiveKey& key : loaded.effective) {
    all += key.table + " " + key.name + " = " + key.value + " # " + key.origin + "\n";
  }
  const std::string path = folder_ + "/a.toml";
  for (const std::string& line :
       {"[store] url = \"sqlite:***@x\" # " + path + ":3:7\n",
        "[source.orders] depth_max = 9 # " + path + ":8:13\n",
        std::string{"[source.orders] id_max = 512 # default\n"},
        "[consumer.billing] sources = [\"orders\"] # " + path + ":10:11\n",
        std::string{"[consumer.billing] batch_max = 7 # environment variable "
                    "ONEFOLD__CONSUMER__BILLING__BATCH_MAX\n"},
        std::string{"[consumer.billing] key = \"event\" # default\n"},
        "[[consumer.billing.handler]] sql = \"DELETE FROM t\" # " + path + ":14:7\n"}) {
    EXPECT_NE(all.find(line), std::string::npos) << line << all;
  }
  EXPECT_EQ(all.find("correcthorse"), std::string::npos) << all;
}

}  // namespace
}  // namespace onefold
