#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/daemon/config_sample.h"
#include "onefold/daemon/sql_handler.h"

namespace onefold {

static bool operator==(const KeySpec& left, const KeySpec& right) {
  return left.rule == right.rule && left.values == right.values;
}
static std::ostream& operator<<(std::ostream& out, const KeySpec& key) {
  out << key.rule << ":";
  for (const std::string& value : key.values) out << " " << value;
  return out;
}

namespace {

using Keys = std::vector<KeySpec>;

Keys keys_of(const std::string& written) {
  const LoadedConfig loaded = parse_config(with_line(13, "key = " + written), "a.toml");
  EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
  return sql_consumer(loaded.config.consumers.at(0)).keys;
}

TEST(ConfigKey, NamesWhatMustHappenOnce) {
  EXPECT_EQ(keys_of(R"("event")"), Keys{});
  EXPECT_EQ(keys_of(R"(["event"])"), Keys{});
  EXPECT_EQ(keys_of(R"({ payment = "/payment_id" })"), (Keys{{"payment", {"/payment_id"}}}));
  EXPECT_EQ(keys_of(R"({ attempt = ["/order_id", "attr:source"] })"),
            (Keys{{"attempt", {"/order_id", "attr:source"}}}));
  EXPECT_EQ(keys_of(R"(["event", { payment = ["/payment_id"] }])"),
            (Keys{{"", {}}, {"payment", {"/payment_id"}}}));
  EXPECT_EQ(keys_of(R"([{ a-1 = "attr:id" }, { b_2 = "attr:subject" }])"),
            (Keys{{"a-1", {"attr:id"}}, {"b_2", {"attr:subject"}}}));
}

struct Wrong {
  const char* written;
  const char* where;
  const char* text;
};

TEST(ConfigKey, WhatIsNoKeyIsToldAtItsPlace) {
  const Wrong cases[] = {
      {R"("payment")", "13:7", "must be \"event\", or a name with pointers, not \"payment\""},
      {"5", "13:7", "not an integer"},
      {"[]", "13:7", "must not be empty"},
      {"{}", "13:7", "has no rule"},
      {R"({ a = "/a", b = "/b" })", "13:7", "several rules in one table"},
      {R"({ event = "/id" })", "13:9", "the event's own identity"},
      {R"({ Payment = "/id" })", "13:9", "is not usable"},
      {R"({ payment = "id" })", "13:19", "is no JSON Pointer"},
      {R"({ payment = "" })", "13:19", "is all of the data"},
      {R"({ payment = 5 })", "13:19", "holds JSON Pointers, not an integer"},
      {R"({ payment = [] })", "13:19", "1 to 8 pointers"},
      {R"({ payment = ["/a", "/a"] })", "13:26", "stands twice in this rule"},
      {R"({ payment = "attr:time" })", "13:19", "is no attribute"},
      {R"({ payment = ["/1","/2","/3","/4","/5","/6","/7","/8","/9"] })", "13:19", "1 to 8"},
      {R"(["event", "event"])", "13:17", "\"event\" stands twice"},
      {R"([{ a = "/a" }, { a = "/b" }])", "13:24", "\"a\" stands twice"},
      {R"(["event", ["event"]])", "13:17", "not an array"},
      {R"([{a="/a"},{b="/a"},{c="/a"},{d="/a"},{e="/a"},{f="/a"},{g="/a"},{h="/a"},{i="/a"}])",
       "13:7", "8 is the most"},
  };
  for (const Wrong& each : cases) {
    const auto loaded = parse_config(with_line(13, std::string{"key = "} + each.written), "a.toml");
    ASSERT_EQ(loaded.problems.size(), 1U) << each.written << shown(loaded);
    EXPECT_EQ(to_string(loaded.problems[0].place, ""), std::string{"a.toml:"} + each.where)
        << each.written;
    EXPECT_NE(loaded.problems[0].text.find(each.text), std::string::npos) << shown(loaded);
    EXPECT_FALSE(loaded.problems[0].hint.empty()) << shown(loaded);
  }
}

TEST(ConfigKey, AHandlersOwnKeyWantsAScopeOfItsOwn) {
  const std::string text = with_line(17, R"(key = { payment = "/payment_id" })");
  const LoadedConfig refused = parse_config(text, "a.toml");
  ASSERT_EQ(refused.problems.size(), 1U) << shown(refused);
  EXPECT_EQ(to_string(refused.problems[0].place, ""), "a.toml:17:7");
  EXPECT_NE(refused.problems[0].hint.find("scope = \"handler\" in [consumer.billing]"),
            std::string::npos);
  std::string scoped = text;
  scoped.replace(scoped.find("key = \"event\""), 13, "scope = \"handler\"");
  const LoadedConfig loaded = parse_config(scoped, "a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const Consumer consumer = sql_consumer(loaded.config.consumers.at(0));
  EXPECT_EQ(consumer.scope, Scope::handler);
  EXPECT_EQ(consumer.handlers.at(0).keys, (Keys{{"payment", {"/payment_id"}}}));
}

TEST(ConfigKey, UnderABusinessKeyOnlyTheParametersAreCompared) {
  const auto compared = [](const std::string& key) {
    const auto loaded = parse_config(with_line(13, key), "a.toml");
    EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
    return sql_consumer(loaded.config.consumers.at(0)).handlers.at(0).fingerprint_of;
  };
  EXPECT_EQ(compared(R"(key = { payment = "/payment_id" })"), std::vector<std::string>{"/account"});
  EXPECT_EQ(compared(R"(key = ["event", { payment = "/payment_id" }])"),
            std::vector<std::string>{"/account"});
  EXPECT_TRUE(compared(R"(key = "event")").empty());
}

TEST(ConfigKey, FingerprintsFollowTheFile) {
  const auto rule = [](const std::string& lines) {
    const auto loaded = parse_config(with_line(13, lines), "a.toml");
    EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
    return sql_consumer(loaded.config.consumers.at(0)).fingerprint;
  };
  EXPECT_EQ(rule("").kind, FingerprintRule::Kind::canonical);
  EXPECT_EQ(rule("fingerprint = \"bytes\"").kind, FingerprintRule::Kind::bytes);
  EXPECT_EQ(rule("fingerprint = \"off\"").kind, FingerprintRule::Kind::off);
  EXPECT_EQ(rule("fingerprint_ignore = [\"/attempt\", \"/sent/at\"]").ignore,
            (std::vector<std::string>{"/attempt", "/sent/at"}));
  for (const char* lines : {"fingerprint = \"canonicl\"", "fingerprint_ignore = [\"attempt\"]",
                            "fingerprint_ignore = \"/attempt\"",
                            "fingerprint = \"off\"\nfingerprint_ignore = [\"/attempt\"]"}) {
    const auto loaded = parse_config(with_line(13, lines), "a.toml");
    EXPECT_EQ(loaded.problems.size(), 1U) << lines << shown(loaded);
  }
}

TEST(ConfigKey, LimitsReachTheSource) {
  const auto loaded =
      parse_config(with_line(9, "event_max = \"64KiB\"\nid_max = 4096\ndepth_max = 3"), "a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const DecodeLimits& limits = loaded.config.sources.at("orders").limits;
  EXPECT_EQ(limits.event_bytes_max, 64U * 1024U);
  EXPECT_EQ(limits.id_bytes_max, 4096U);
  EXPECT_EQ(limits.json.depth_max, 3U);
  for (const char* line : {"event_max = \"63KiB\"", "event_max = \"65MiB\"", "event_max = 65536",
                           "event_max = \"1GiB\"", "event_max = \"\"", "id_max = 0",
                           "id_max = 4097", "depth_max = 0", "depth_max = 513"}) {
    const auto wrong = parse_config(with_line(9, line), "a.toml");
    EXPECT_EQ(wrong.problems.size(), 1U) << line << shown(wrong);
  }
}

TEST(ConfigKey, IdsCanBeMadeWhereTheyAreAskedFor) {
  const auto identity = [](const std::string& members) {
    return parse_config(
        with_line(8, "identity = { source = \"literal:shop\", type = \"/type\", " + members + " }"),
        "a.toml");
  };
  EXPECT_EQ(identity("id = \"position\"").config.sources.at("orders").identity.id, "position");
  EXPECT_TRUE(identity("id = \"position\"").problems.empty());
  EXPECT_EQ(identity("id = \"body-hash\"").config.sources.at("orders").identity.id, "body-hash");
  EXPECT_TRUE(identity("id = \"body-hash\"").problems.empty());
  EXPECT_EQ(identity("id = \"body-hash\", id_prefix = \"e\"").problems.size(), 1U);
  EXPECT_EQ(identity("id = \"position\", id_type = \"integer\"").problems.size(), 1U);
  EXPECT_EQ(identity("id = \"bodyhash\"").problems.size(), 1U);
}

TEST(ConfigKey, StandardInputHasNoPositions) {
  const auto loaded = parse_config(
      "config_version = 1\nstore.url = \"sqlite:shop.db\"\n[source.a]\nkind = \"stdin\"\n"
      "format = \"json\"\nidentity = { id = \"position\", source = \"literal:a\", type = "
      "\"literal:b\" }\n[consumer.c]\nsources = \"a\"\n[[consumer.c.handler]]\nname = \"h\"\n"
      "type = \"*\"\nsql = \"DELETE FROM t\"\n",
      "a.toml");
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  EXPECT_EQ(to_string(loaded.problems[0].place, ""), "a.toml:6:19");
  EXPECT_NE(loaded.problems[0].hint.find("body-hash"), std::string::npos);
}

TEST(ConfigResult, TakesParametersAndReturnedColumns) {
  std::string text = with_line(
      20,
      "expect_rows = [1, \"any\"]\nresult = { id = \":event_id\", account = \":account\", "
      "balance = \"b\", owner = \"owner\" }");
  text.replace(text.find("SET n = 1"), 9, "SET n = 1 RETURNING n + 1 AS b, account.owner");
  const auto loaded = parse_config(text, "a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const auto& result = loaded.config.consumers[0].handlers[0].result;
  ASSERT_EQ(result.size(), 4U);
  EXPECT_EQ(result[0].parameter, "account");
  EXPECT_EQ(result[1].name, "balance");
  EXPECT_EQ(result[1].column, 0U);
  EXPECT_EQ(result[2].parameter, "event_id");
  EXPECT_EQ(result[3].column, 1U);
}

TEST(ConfigResult, WhatCannotBeKeptIsToldAtItsPlace) {
  const struct {
    const char* ending;  ///< Of the last statement.
    const char* result;
    const char* text;
  } cases[] = {
      {"", "{ b = \"b\" }", "which has no RETURNING"},
      {" RETURNING *", "{ b = \"b\" }", "RETURNING *"},
      {" RETURNING a", "{ b = \"b\" }", "returns no column \"b\""},
      {" RETURNING n + 1", "{ b = \"b\" }", "returns no column \"b\""},
      {" RETURNING b, c AS b", "{ b = \"b\" }", "returns \"b\" twice"},
      {"", "{ b = \":acount\" }", "uses :acount"},
      {"", "{ b = \":data\" }", "cannot keep all of :data"},
      {"", "{}", "1 to 32 members"},
      {"", "\"b\"", "must be a table"},
      {"", "{ b = 5 }", "holds strings"},
      {"", "{ b-c = \":account\" }", "cannot be a name"},
  };
  for (const auto& each : cases) {
    std::string text = with_line(20, std::string{"result = "} + each.result);
    text.replace(text.find("SET n = 1"), 9, std::string{"SET n = 1"} + each.ending);
    const auto loaded = parse_config(text, "a.toml");
    ASSERT_EQ(loaded.problems.size(), 1U) << each.result << shown(loaded);
    EXPECT_EQ(loaded.problems[0].place.line, 20U) << shown(loaded);
    EXPECT_NE(loaded.problems[0].text.find(each.text), std::string::npos) << shown(loaded);
  }
}

TEST(ConfigResult, AParameterThatOnlyItUsesIsUsed) {
  const std::string text =
      with_line(18,
                "params = { account = { at = \"/account\", type = \"int64\" }, amount = { at = "
                "\"/amount\", type = \"decimal\" } }\nresult = { amount = \":amount\" }");
  const auto loaded = parse_config(text, "a.toml");
  EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
}

}  // namespace
}  // namespace onefold
