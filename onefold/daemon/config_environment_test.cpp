#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/daemon/config_sample.h"

namespace onefold {
namespace {

LoadedConfig parse(const std::string& text, Environment environment) {
  return parse_config(text, "a.toml", ConfigReadingOptions{.environment = std::move(environment)});
}

std::string url_of(const std::string& written, Environment environment) {
  const LoadedConfig loaded = parse(with_line(3, "url = " + written), std::move(environment));
  EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
  return loaded.config.store_url.reveal();
}

TEST(ConfigEnvironment, VariablesAreReplacedWithinStrings) {
  const Environment environment{{"DB", "shop"}, {"EMPTY", ""}, {"ODD", "a${DB}$$\"\n#'"}};
  EXPECT_EQ(url_of(R"("sqlite:${DB}.db")", environment), "sqlite:shop.db");
  EXPECT_EQ(url_of(R"('sqlite:${DB}/${DB}.db')", environment), "sqlite:shop/shop.db");
  EXPECT_EQ(url_of(R"("sqlite:${NONE:-other}.db")", environment), "sqlite:other.db");
  EXPECT_EQ(url_of(R"("sqlite:${DB:-other}.db")", environment), "sqlite:shop.db");
  EXPECT_EQ(url_of(R"("sqlite:x${NONE:-}.db")", environment), "sqlite:x.db");
  // As in a shell: behind a colon, an empty value is none.
  EXPECT_EQ(url_of(R"("sqlite:x${EMPTY}.db")", environment), "sqlite:x.db");
  EXPECT_EQ(url_of(R"("sqlite:x${EMPTY:-y}.db")", environment), "sqlite:xy.db");
  EXPECT_EQ(url_of(R"("sqlite:${DB:?needed}.db")", environment), "sqlite:shop.db");
  // What a variable holds is never read again, neither as TOML nor as a reference.
  EXPECT_EQ(url_of(R"("sqlite:${ODD}")", environment), "sqlite:a${DB}$$\"\n#'");
}

TEST(ConfigEnvironment, OnlyABraceMakesAReference) {
  EXPECT_EQ(url_of(R"("sqlite:$DB$1$.db$")", {}), "sqlite:$DB$1$.db$");
  EXPECT_EQ(url_of(R"("sqlite:$$")", {}), "sqlite:$");
  EXPECT_EQ(url_of(R"("sqlite:$${DB}")", {}), "sqlite:${DB}");
  EXPECT_EQ(url_of(R"("sqlite:$$$$")", {}), "sqlite:$$");
}

TEST(ConfigEnvironment, WhatIsNotSetIsAProblemAtItsPlace) {
  const struct {
    const char* written;
    const char* text;
  } cases[] = {
      {"sqlite:${NONE}", "the environment variable NONE is not set"},
      {"sqlite:${NONE:?ask the operator}", "NONE is not set: ask the operator"},
      {"sqlite:${EMPTY:?ask the operator}", "EMPTY is empty: ask the operator"},
      {"sqlite:${", "what follows is none"},
      {"sqlite:${}", "what follows is none"},
      {"sqlite:${1A}", "what follows is none"},
      {"sqlite:${A-b}", "what follows is none"},
      {"sqlite:${A B}", "what follows is none"},
      {"sqlite:${A:=b}", "what follows is none"},
      {"sqlite:${A:b}", "what follows is none"},
  };
  for (const auto& each : cases) {
    const LoadedConfig loaded =
        parse(with_line(3, "url = \"" + std::string{each.written} + "\""), {{"EMPTY", ""}});
    ASSERT_EQ(loaded.problems.size(), 1U) << each.written << shown(loaded);
    EXPECT_EQ(to_string(loaded.problems[0].place, ""), "a.toml:3:7");
    EXPECT_NE(loaded.problems[0].text.find(each.text), std::string::npos) << shown(loaded);
    EXPECT_FALSE(loaded.problems[0].hint.empty());
  }
}

TEST(ConfigEnvironment, CommentsAndNamesAreLeftAlone) {
  EXPECT_TRUE(parse(with_line(9, "# ${NONE}"), {}).problems.empty());
}

TEST(ConfigEnvironment, AWholeValueFillsNumbersAndTruths) {
  LoadedConfig loaded = parse(with_line(12, "batch_max = \"${BATCH}\""), {{"BATCH", "7"}});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.consumers.front().batch_max, 7U);
  loaded = parse(with_line(9, "follow = \"${FOLLOW:-true}\""), {});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_TRUE(loaded.config.sources.at("orders").follow);
  loaded = parse(with_line(12, "retry.factor = \"${FACTOR}\""), {{"FACTOR", "1.5"}});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.consumers.front().retry.factor, 1.5);
  for (const char* value : {"", "x", "1,5", "0.5", "nan", "inf", "101"}) {
    loaded = parse(with_line(12, "retry.factor = \"${FACTOR}\""), {{"FACTOR", value}});
    ASSERT_EQ(loaded.problems.size(), 1U) << value << shown(loaded);
    EXPECT_EQ(to_string(loaded.problems[0].place, ""), "a.toml:12:16");
  }
  for (const char* value : {"", "7x", " 7", "7.0", "0x7", "seven", "10001", "0"}) {
    loaded = parse(with_line(12, "batch_max = \"${BATCH}\""), {{"BATCH", value}});
    ASSERT_EQ(loaded.problems.size(), 1U) << value << shown(loaded);
    EXPECT_EQ(to_string(loaded.problems[0].place, ""), "a.toml:12:13");
  }
  // A part of a string stays a string, and so does a string without any variable.
  for (const char* written : {"\"1${BATCH}\"", "\"${BATCH}${BATCH}\"", "\"7\"", "\"$$7\""}) {
    loaded = parse(with_line(12, std::string{"batch_max = "} + written), {{"BATCH", "7"}});
    EXPECT_EQ(loaded.problems.size(), 1U) << written << shown(loaded);
  }
}

TEST(ConfigEnvironment, StatementsDoNotChangeWithIt) {
  const LoadedConfig loaded =
      parse(with_line(19,
                      "sql = [\"INSERT INTO payment VALUES (:event_id, :account)\", \"UPDATE "
                      "${TABLE} SET n = 1\"]"),
            {{"TABLE", "account"}});
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  EXPECT_EQ(loaded.problems[0].place.line, 19U);
  EXPECT_NE(loaded.problems[0].text.find("must not change with the environment"),
            std::string::npos);
  // A dollar is no reference, and stays what it is.
  const LoadedConfig fine = parse(
      with_line(19,
                "sql = [\"INSERT INTO payment VALUES (:event_id, :account)\", \"UPDATE account "
                "SET n = '$$5'\"]"),
      {});
  ASSERT_TRUE(fine.problems.empty()) << shown(fine);
  EXPECT_EQ(fine.config.consumers[0].handlers[0].statements[1].sql, "UPDATE account SET n = '$$5'");
}

TEST(ConfigEnvironment, VariablesStandInForScalarKeys) {
  const LoadedConfig loaded =
      parse(std::string{good}, {{"ONEFOLD__STORE__URL", "sqlite:b.db"},
                                {"ONEFOLD__SOURCE__ORDERS__FOLLOW", "true"},
                                {"ONEFOLD__SOURCE__ORDERS__EVENT_MAX", "2MiB"},
                                {"ONEFOLD__SOURCE__ORDERS__IDENTITY__ID", "/id"},
                                {"ONEFOLD__CONSUMER__BILLING__BATCH_MAX", "12"},
                                {"ONEFOLD_OTHER", "x"},
                                {"ONEFOLD", "x"}});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.store_url.reveal(), "sqlite:b.db");
  EXPECT_TRUE(loaded.config.sources.at("orders").follow);
  EXPECT_EQ(loaded.config.sources.at("orders").limits.event_bytes_max, 2U << 20U);
  EXPECT_EQ(loaded.config.sources.at("orders").identity.id, "/id");
  EXPECT_EQ(loaded.config.consumers[0].batch_max, 12U);
}

TEST(ConfigEnvironment, AVariableWinsOverAReferenceInTheFile) {
  const LoadedConfig loaded =
      parse(with_line(3, "url = \"sqlite:${NONE}\""), {{"ONEFOLD__STORE__URL", "sqlite:$${b}.db"}});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_EQ(loaded.config.store_url.reveal(), "sqlite:$${b}.db");  // As it is.
}

TEST(ConfigEnvironment, AVariableWinsOverTheTwinsInTheFile) {
  const LoadedConfig loaded =
      parse(with_line(3, "url_file = \"none\""), {{"ONEFOLD__STORE__URL", "sqlite:b.db"}});
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const LoadedConfig twin =
      parse(std::string{good}, {{"ONEFOLD__STORE__URL_ENV", "B"}, {"B", "sqlite:b.db"}});
  ASSERT_TRUE(twin.problems.empty()) << shown(twin);
  EXPECT_EQ(twin.config.store_url.reveal(), "sqlite:b.db");
  const LoadedConfig both = parse(std::string{good}, {{"ONEFOLD__STORE__URL", "sqlite:b.db"},
                                                      {"ONEFOLD__STORE__URL_ENV", "B"},
                                                      {"B", "sqlite:b.db"}});
  ASSERT_EQ(both.problems.size(), 1U) << shown(both);
}

TEST(ConfigEnvironment, AVariableThatNamesNoKeyIsAProblem) {
  for (const char* name :
       {"ONEFOLD__STORE__URLS", "ONEFOLD__SOURCE__ORDER__PATH", "ONEFOLD__CONFIG_VERSION",
        "ONEFOLD__", "ONEFOLD__CONSUMER__BILLING__SOURCES", "onefold__store__url",
        "ONEFOLD__CONSUMER__BILLING__HANDLER__CREDIT__SQL"}) {
    const LoadedConfig loaded = parse(std::string{good}, {{name, "sqlite:b.db"}});
    if (name[0] == 'o') {
      EXPECT_TRUE(loaded.problems.empty()) << "not ours";
      continue;
    }
    ASSERT_EQ(loaded.problems.size(), 1U) << name << shown(loaded);
    EXPECT_EQ(to_string(loaded.problems[0].place, "a.toml"),
              std::string{"environment variable "} + name);
    EXPECT_FALSE(loaded.problems[0].hint.empty());
    EXPECT_EQ(loaded.problems[0].text.find("b.db"), std::string::npos);
  }
  const LoadedConfig near = parse(std::string{good}, {{"ONEFOLD__STORE__ULR", ""}});
  EXPECT_NE(near.problems[0].hint.find("ONEFOLD__STORE__URL"), std::string::npos) << shown(near);
}

TEST(ConfigEnvironment, WhatAVariableSaysWrongIsToldWithItsName) {
  const LoadedConfig loaded =
      parse(std::string{good}, {{"ONEFOLD__CONSUMER__BILLING__BATCH_MAX", "hunter2"}});
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  EXPECT_EQ(to_string(loaded.problems[0].place, "a.toml"),
            "environment variable ONEFOLD__CONSUMER__BILLING__BATCH_MAX");
  EXPECT_EQ(shown(loaded).find("hunter2"), std::string::npos) << shown(loaded);
}

TEST(ConfigEnvironment, NamesThatOnlyDifferInADashAreAmbiguous) {
  const std::string text = std::string{good} +
                           "[source.a-b]\nkind = \"stdin\"\nformat = \"cloudevents\"\n"
                           "[source.a_b]\nkind = \"stdin\"\nformat = \"cloudevents\"\n";
  const LoadedConfig loaded = parse(text, {{"ONEFOLD__SOURCE__A_B__ID_MAX", "5"}});
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  EXPECT_NE(loaded.problems[0].text.find("a-b.id_max"), std::string::npos) << shown(loaded);
}

TEST(ConfigEnvironment, AUrlInThePlaceOfANameIsNotShown) {
  for (const char* line : {R"(url_env = "postgres://u:horse@h/d")", R"(url_env = "u:horse@h")",
                           R"(url_file = "postgres://u:horse@h/d")", R"(url = "u:horse@h/d")"}) {
    const LoadedConfig loaded = parse_config(with_line(3, line), "a.toml", {});
    ASSERT_EQ(loaded.problems.size(), 1U) << line;
    const ConfigProblem& problem = loaded.problems.at(0);
    EXPECT_EQ((problem.text + problem.hint).find("horse"), std::string::npos) << problem.text;
  }
  const ConfigReadingOptions without{.environment = std::nullopt};
  const LoadedConfig loaded =
      parse_config(with_line(3, R"(url_env = "postgres://u:horse@h")"), "a.toml", without);
  ASSERT_FALSE(loaded.effective.empty());
  for (const EffectiveKey& key : loaded.effective) {
    EXPECT_EQ(key.value.find("horse"), std::string::npos) << key.value;
  }
}

TEST(ConfigEnvironment, WithoutItWhatDependsOnItIsNoProblem) {
  std::string text = with_line(3, "url = \"sqlite:${NONE}\"");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"orders.jsonl\"", "\"${PATH_OF_ORDERS:?say where}\""},
           {"batch_max = 500", "batch_max = \"${BATCH}\""},
           {"follow = false", "follow = \"${FOLLOW}\""},
           {"type = \"payment.received\"", "type = \"${TYPE}\""},
           {"\"literal:shop\"", "\"literal:${SHOP:-shop}\""}}) {
    text.replace(text.find(from), from.size(), to);
  }
  const ConfigReadingOptions without{.environment = std::nullopt};
  const LoadedConfig loaded = parse_config(text, "a.toml", without);
  EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
  EXPECT_TRUE(loaded.config.store_url.empty());
  EXPECT_EQ(loaded.config.sources.at("orders").identity.source, "literal:shop");
  for (const char* line : {"url_file = \"none\"", "url_env = \"NONE\""}) {
    const LoadedConfig secret = parse_config(with_line(3, line), "a.toml", without);
    EXPECT_TRUE(secret.problems.empty()) << shown(secret);
  }
  // Everything else is still found.
  text.replace(text.find("batch_max"), 9, "batch_mix");
  EXPECT_EQ(parse_config(text, "a.toml", without).problems.size(), 1U);
}

RC_GTEST_PROP(ConfigEnvironment, AnyTextIsInterpolatedWithoutHarm, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "$", "{", "}", "${", "${A}", "${B:-x}", "${C:?y}", ":", "-", "A", "$$", " "));
  std::string written;
  for (const std::string& piece : pieces) written += piece;
  const LoadedConfig loaded =
      parse(with_line(3, "url = 'sqlite:x" + written + "'"), {{"A", "${A}"}});
  // Either there is a problem at the place, or every reference is gone but those of a value.
  if (loaded.problems.empty()) {
    RC_ASSERT(loaded.config.store_url.reveal().starts_with("sqlite:x"));
  } else {
    RC_ASSERT(loaded.problems.size() == 1U);
    RC_ASSERT(to_string(loaded.problems[0].place, "") == "a.toml:3:7");
  }
}

}  // namespace
}  // namespace onefold
