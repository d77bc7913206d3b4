#include "onefold/daemon/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/catalog.h"
#include "onefold/daemon/config_sample.h"

namespace onefold {
namespace {

TEST(Config, ReadsEveryKey) {
  const LoadedConfig loaded = parse_config(good, "conf/a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const Config& config = loaded.config;
  EXPECT_EQ(config.store_url.reveal(), "sqlite:shop.db");
  EXPECT_EQ(config.store_folder, "conf");
  const SourceConfig& source = config.sources.at("orders");
  EXPECT_EQ(source.path, "conf/orders.jsonl");
  EXPECT_EQ(source.kind, SourceKind::file);
  EXPECT_EQ(source.format, SourceFormat::json);
  EXPECT_EQ(source.identity.id, "/event_id");
  EXPECT_EQ(source.identity.source, "literal:shop");
  EXPECT_EQ(source.identity.type, "/type");
  ASSERT_EQ(config.consumers.size(), 1U);
  const ConsumerConfig& consumer = config.consumers.front();
  EXPECT_EQ(consumer.name, "billing");
  EXPECT_EQ(consumer.sources, std::vector<std::string>{"orders"});
  EXPECT_EQ(consumer.batch_max, 500U);
  ASSERT_EQ(consumer.handlers.size(), 1U);
  const HandlerConfig& handler = consumer.handlers.front();
  EXPECT_EQ(handler.name, "credit");
  EXPECT_EQ(handler.type, "payment.received");
  ASSERT_EQ(handler.parameters.size(), 1U);
  EXPECT_EQ(handler.parameters.front().at, "/account");
  EXPECT_EQ(handler.parameters.front().type, FieldType::int64);
  EXPECT_TRUE(handler.parameters.front().required);
  ASSERT_EQ(handler.statements.size(), 2U);
  EXPECT_EQ(handler.statements[0].parameters, (std::vector<std::string>{"event_id", "account"}));
  EXPECT_EQ(handler.statements[0].expect_rows, 1);
  EXPECT_EQ(handler.statements[1].expect_rows, std::nullopt);
}

TEST(Config, HasDefaults) {
  const LoadedConfig loaded = parse_config(R"(
config_version = 1
store.url = "sqlite:/var/shop.db"
source.a = { kind = "stdin", format = "cloudevents", identity = { id_prefix = "evt_" } }
[consumer.c]
sources = "a"
[[consumer.c.handler]]
name = "h"
type = "*"
sql = "DELETE FROM t"
expect_rows = 0
)",
                                           "a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const ConsumerConfig& consumer = loaded.config.consumers.front();
  EXPECT_EQ(consumer.batch_max, 500U);
  EXPECT_EQ(consumer.retry, RetryPolicy{});
  EXPECT_EQ(consumer.breaker, BreakerRule{});
  EXPECT_EQ(consumer.crashes_max, 3);
  EXPECT_TRUE(loaded.config.state_folder.empty());
  EXPECT_FALSE(consumer.order.has_value());
  EXPECT_EQ(consumer.unsupported, Unsupported::dead_letter);
  EXPECT_EQ(consumer.claim, std::nullopt);
  EXPECT_EQ(consumer.handlers.front().version, 1);
  EXPECT_EQ(consumer.handlers.front().entity, "");
  EXPECT_EQ(consumer.handlers.front().statements.front().expect_rows, 0);
  EXPECT_EQ(loaded.config.sources.at("a").id_prefix, "evt_");
  EXPECT_EQ(loaded.config.sources.at("a").kind, SourceKind::standard_input);
}

TEST(Config, FailuresAreHandledAsConfigured) {
  using std::chrono::milliseconds;
  std::string text = with_line(12, R"(retry = { attempts = 8, factor = 1.5, permanent = ["crash"] }
breaker = { failures = 7, window = 9, probe = "5s" }
crashes_max = 5
order = { entity = "/account", policy = "none" })");
  text += R"(retry = { initial = "2s", max = "1h", jitter = 0 }
[[consumer.billing.handler]]
name = "refund"
type = "payment.refunded"
sql = "DELETE FROM payment"
)";
  const LoadedConfig loaded = parse_config(text, "a.toml");
  ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
  const ConsumerConfig& consumer = loaded.config.consumers.front();
  RetryPolicy expected{.attempts = 8, .factor = 1.5, .permanent = {FailureClass::crash}};
  EXPECT_EQ(consumer.retry, expected);
  EXPECT_EQ(consumer.breaker,
            (BreakerRule{.failures = 7, .window = 9, .probe = milliseconds{5'000}}));
  EXPECT_EQ(consumer.crashes_max, 5);
  EXPECT_EQ(consumer.order.value().entity, "/account");
  // What a handler does not say is as its consumer says.
  expected.initial = milliseconds{2'000};
  expected.longest = milliseconds{3'600'000};
  expected.jitter = 0;
  EXPECT_EQ(consumer.handlers.at(0).retry, expected);
  EXPECT_EQ(consumer.handlers.at(1).retry, std::nullopt);
}

TEST(Config, TheStateFolderIsFoundFromTheFileOrTheEnvironment) {
  const std::string line = "config_version = 1\nstate_folder = \"state\"";
  const LoadedConfig relative = parse_config(with_line(1, line), "conf/a.toml");
  ASSERT_TRUE(relative.problems.empty()) << shown(relative);
  EXPECT_EQ(relative.config.state_folder, "conf/state");
  const LoadedConfig overridden =
      parse_config(with_line(1, line), "conf/a.toml",
                   {.environment = Environment{{"ONEFOLD__STATE_FOLDER", "/var/lib/onefold"}}});
  ASSERT_TRUE(overridden.problems.empty()) << shown(overridden);
  EXPECT_EQ(overridden.config.state_folder, "/var/lib/onefold");
}

TEST(Config, WhatIsReadIsWhatTheRuntimeAccepts) {
  for (const char* line :
       {"retry = { attempts = 1000, initial = \"1ms\", factor = 100, max = \"24h\", jitter = 1 }",
        "retry = { attempts = 1, factor = 1, jitter = 0, permanent = [] }",
        R"(retry.permanent = ["transient", "constraint", "data", "rows", "statement", "crash"])",
        "breaker = { failures = 999, window = 1000 }", "breaker = { window = 0 }"}) {
    const LoadedConfig loaded = parse_config(with_line(12, line), "a.toml");
    ASSERT_TRUE(loaded.problems.empty()) << shown(loaded);
    EXPECT_EQ(defect_of(loaded.config.consumers.front().retry), "") << line;
    EXPECT_EQ(defect_of(loaded.config.consumers.front().breaker), "") << line;
  }
}

TEST(Config, StatementsAreReadAsTheStoresDatabaseReadsThem) {
  const auto parameters_of = [](const std::string& url) {
    const LoadedConfig loaded = parse_config("config_version = 1\nstore.url = \"" + url + R"("
source.a = { kind = "stdin", format = "cloudevents" }
[consumer.c]
sources = "a"
[[consumer.c.handler]]
name = "h"
type = "*"
sql = "UPDATE t SET a[:event_id] = $$:data$$"
)",
                                             "a.toml");
    return loaded.problems.empty()
               ? loaded.config.consumers.at(0).handlers.at(0).statements.at(0).parameters
               : std::vector<std::string>{loaded.problems.at(0).text};
  };
  EXPECT_EQ(parameters_of("sqlite:a.db").at(0).find("write parameters as :name"), 15U);
  if (store_url_defect("postgres://a").text.empty()) {
    EXPECT_EQ(parameters_of("postgres://host/a"), std::vector<std::string>{"event_id"});
  }
}

TEST(Config, AllProblemsComeInOneRunAndInOrder) {
  std::string text = with_line(5, "kind = \"fil\"");
  text.replace(text.find("batch_max"), 9, "batch_mix");
  text.replace(text.find("expect_rows"), 11, "expect_roes");
  text.replace(text.find("url ="), 5, "uri =");
  const LoadedConfig loaded = parse_config(text, "a.toml");
  std::vector<std::string> places;
  for (const ConfigProblem& problem : loaded.problems) {
    places.push_back(to_string(problem.place, ""));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"a.toml:2:1", "a.toml:3:1", "a.toml:5:8",
                                              "a.toml:12:1", "a.toml:20:1"}))
      << shown(loaded);
}

TEST(Config, OneStandardInputCannotFeedTwoConsumers) {
  std::string text = with_line(5, "kind = \"stdin\"\n#");
  for (const char* line : {"path = \"orders.jsonl\"\n", "follow = false\n"}) {
    text.erase(text.find(line), std::string_view{line}.size());
  }
  EXPECT_TRUE(parse_config(text, "a.toml").problems.empty());
  text +=
      "[consumer.other]\nsources = [\"orders\"]\n[[consumer.other.handler]]\n"
      "name = \"h\"\ntype = \"*\"\nsql = \"DELETE FROM t\"\n";
  const LoadedConfig loaded = parse_config(text, "a.toml");
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  EXPECT_NE(loaded.problems.front().text.find("two subscriptions"), std::string::npos);
  EXPECT_EQ(loaded.problems.front().place.line, 21U) << shown(loaded);
}

TEST(Config, StandardInputHasNoPath) {
  const LoadedConfig loaded = parse_config(with_line(5, "kind = \"stdin\""), "a.toml");
  ASSERT_EQ(loaded.problems.size(), 2U) << shown(loaded);
  EXPECT_EQ(to_string(loaded.problems[0].place, ""), "a.toml:6:8");
  EXPECT_EQ(to_string(loaded.problems[1].place, ""), "a.toml:9:10");
}

TEST(Config, CloudEventsCarryTheirIdentityThemselves) {
  std::string text = with_line(7, "format = \"cloudevents\"");
  const LoadedConfig loaded = parse_config(text, "a.toml");
  ASSERT_EQ(loaded.problems.size(), 3U) << shown(loaded);
  EXPECT_NE(loaded.problems[0].text.find("a CloudEvent carries it itself"), std::string::npos);
}

TEST(Config, TooLargeOrNotUtf8IsRefused) {
  const LoadedConfig large = parse_config(std::string(config_bytes_max + 1, '#'), "a.toml");
  ASSERT_EQ(large.problems.size(), 1U);
  EXPECT_NE(large.problems.front().text.find("larger than 1 MiB"), std::string::npos);
  const LoadedConfig bytes = parse_config("config_version = 1\nx = \"\xff\xfe\"\n", "a.toml");
  ASSERT_EQ(bytes.problems.size(), 1U);
  EXPECT_EQ(bytes.problems.front().place.line, 2U) << shown(bytes);
  EXPECT_NE(bytes.problems.front().text.find("UTF-8"), std::string::npos) << shown(bytes);
}

TEST(Config, FilesThatCannotBeReadAreProblemsToo) {
  const std::string missing = testing::TempDir() + "no-such-onefold.toml";
  const LoadedConfig none = load_config(missing);
  ASSERT_EQ(none.problems.size(), 1U);
  EXPECT_EQ(to_string(none.problems.front().place, missing), missing);
  EXPECT_NE(none.problems.front().text.find("no such file"), std::string::npos);
}

TEST(Config, EmptyFileNamesWhatItNeeds) {
  const LoadedConfig loaded = parse_config("", "a.toml");
  EXPECT_EQ(loaded.problems.size(), 4U) << shown(loaded);
}

TEST(Config, LookingNeedsTheStoreOnly) {
  constexpr std::string_view store = "config_version = 1\n[store]\nurl = \"sqlite:shop.db\"\n";
  const LoadedConfig look = parse_config(store, "a.toml", ConfigUse::look);
  EXPECT_TRUE(look.problems.empty()) << shown(look);
  EXPECT_EQ(look.config.store_url.reveal(), "sqlite:shop.db");
  EXPECT_EQ(parse_config(store, "a.toml", ConfigUse::apply).problems.size(), 2U);
  EXPECT_EQ(parse_config("", "a.toml", ConfigUse::look).problems.size(), 2U);
  const std::string wrong = std::string{store} + "[source.a]\nkind = \"tcp\"\n";
  EXPECT_FALSE(parse_config(wrong, "a.toml", ConfigUse::look).problems.empty());
}

TEST(Config, WhatTheParserAssertsIsAnOrdinaryProblem) {
  for (const char* text :
       {"[[[a]]]", "[[[", "[[\"\"\"", "[ [ [", "a = [[[", "[[=]]", "[a.[b]]", "a.[b] = 1",
        "a = {[b] = 1}", "[\n[", "=", "[", "[[", "a.=1", "\"\"\"=1"}) {
    const LoadedConfig loaded = parse_config(text, "a.toml");
    ASSERT_EQ(loaded.problems.size(), 1U) << text << '\n' << shown(loaded);
    EXPECT_NE(loaded.problems.front().text.find("this is not TOML"), std::string::npos) << text;
  }
}

RC_GTEST_PROP(Config, MutilatedTextNeverCrashes, ()) {
  std::string text{good};
  // "[[[" is in here because of an assertion in toml++ 3.3.
  const auto cuts = *rc::gen::inRange(1, 8);
  for (int i = 0; i < cuts; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 12);
    text.replace(at, length,
                 *rc::gen::element<std::string>("", "\"", "[", "[[[", "]", "=", "{", "\n", ":", ";",
                                                "''''''", "\xc3", "1", ","));
    if (text.empty()) break;
  }
  const LoadedConfig loaded = parse_config(text, "a.toml");
  for (const ConfigProblem& problem : loaded.problems) {
    RC_ASSERT(!problem.text.empty());
    RC_ASSERT(problem.place.line <= 64U);
  }
}

}  // namespace
}  // namespace onefold
