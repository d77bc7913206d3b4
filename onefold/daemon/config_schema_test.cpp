#include "onefold/daemon/config_schema.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/daemon/config_sample.h"
#include "onefold/daemon/quantity.h"
#include "onefold/daemon/schema_text.h"

namespace onefold {
namespace {

using Lines = std::map<std::string, std::string>;

/// A good configuration, key by key and table by table, in which each key can be set anew.
class Parts {
 public:
  /// Sets a key with lines that begin with it.
  void set(const std::string& table, const std::string& key, const std::string& lines) {
    // One of a secret's keys excludes the others, and a handler's key wants a scope of its own.
    if (table == "store" && key.starts_with("url")) tables_.at(table).clear();
    // The rest of [store] is for servers, and some of it for PostgreSQL alone.
    if (table == "store" && !key.starts_with("url")) {
      tables_.at(table)["url"] = "url = \"postgres://shop@localhost/shop\"";
    }
    // More failures than events cannot be.
    if (table == "consumer.*.breaker" && key == "failures") {
      tables_.at(table)["window"] = "breaker.window = 1000";
    }
    // An event's entity is said once.
    if (table == "consumer.*.handler" && key == "entity") tables_.at("consumer.*.order").clear();
    if (table == "consumer.*.handler" && key == "key") {
      tables_.at("consumer.*")["scope"] = "scope = \"handler\"";
    }
    tables_.at(table)[key] = prefixes_.at(table) + lines;
  }

  std::string text() const {
    return of("") + "[store]\n" + of("store") + "[source.orders]\n" + of("source.*") +
           of("source.*.identity") + "[consumer.billing]\n" + of("consumer.*") +
           of("consumer.*.retry") + of("consumer.*.breaker") + of("consumer.*.order") +
           "[[consumer.billing.handler]]\n" + of("consumer.*.handler") +
           of("consumer.*.handler.retry") + of("consumer.*.handler.params.*") +
           "[consumer.billing.invariant.no_debt]\n" + of("consumer.*.invariant.*");
  }

 private:
  std::string of(const std::string& table) const {
    std::string all;
    for (const auto& [key, lines] : tables_.at(table)) all += lines + "\n";
    return all;
  }

  const std::map<std::string, std::string> prefixes_{
      {"", ""},
      {"store", ""},
      {"source.*", ""},
      {"source.*.identity", "identity."},
      {"consumer.*", ""},
      {"consumer.*.retry", "retry."},
      {"consumer.*.breaker", "breaker."},
      {"consumer.*.order", "order."},
      {"consumer.*.handler", ""},
      {"consumer.*.handler.retry", "retry."},
      {"consumer.*.handler.params.*", "params.account."},
      {"consumer.*.invariant.*", ""}};
  std::map<std::string, Lines> tables_{
      {"", {{"config_version", "config_version = 1"}}},
      {"store", {{"url", "url = \"sqlite:shop.db\""}}},
      {"source.*",
       {{"kind", "kind = \"file\""},
        {"path", "path = \"orders.jsonl\""},
        {"format", "format = \"json\""}}},
      {"source.*.identity",
       {{"id", "identity.id = \"/event_id\""},
        {"source", "identity.source = \"literal:shop\""},
        {"type", "identity.type = \"/type\""}}},
      {"consumer.*", {{"sources", "sources = [\"orders\"]"}}},
      {"consumer.*.retry", {}},
      {"consumer.*.breaker", {}},
      {"consumer.*.order",
       {{"entity", "order.entity = \"/account_id\""}, {"policy", "order.policy = \"none\""}}},
      {"consumer.*.handler.retry", {}},
      {"consumer.*.handler",
       {{"name", "name = \"credit\""},
        {"type", "type = \"payment.received\""},
        {"sql", "sql = [\"UPDATE account SET balance = 0 WHERE id = :account\"]"}}},
      {"consumer.*.handler.params.*",
       {{"at", "params.account.at = \"/account_id\""},
        {"type", "params.account.type = \"int64\""}}},
      {"consumer.*.invariant.*", {{"sql", "sql = \"SELECT 1 WHERE 0\""}}}};
};

LoadedConfig parse(const std::string& text) {
  // Tests run side by side, each in a process of its own.
  const std::string folder =
      testing::TempDir() + "config_schema_" + std::to_string(::getpid()) + "/";
  std::filesystem::create_directories(folder);
  const std::string secret = folder + "store-url";
  std::ofstream{secret} << "sqlite:shop.db\n";
  ::chmod(secret.c_str(), 0600);
  return parse_config(
      text, folder + "a.toml",
      ConfigReadingOptions{.environment = Environment{{"SHOP_STORE_URL", "sqlite:shop.db"}}});
}

/// The keys that hold a value themselves: the others are tables with a schema of their own.
std::vector<std::pair<const TableSchema*, const KeySchema*>> values() {
  std::vector<std::pair<const TableSchema*, const KeySchema*>> all;
  for (const TableSchema& table : config_schema()) {
    for (const KeySchema& key : table.keys) {
      if (key.kind == KeyKind::table || key.kind == KeyKind::named ||
          key.kind == KeyKind::table_array) {
        continue;
      }
      all.emplace_back(&table, &key);
    }
  }
  return all;
}

TEST(ConfigSchema, EveryExampleWorks) {
  EXPECT_GT(values().size(), 35U);
  for (const auto& [table, key] : values()) {
    Parts parts;
    parts.set(table->path, key->name, key->example);
    const LoadedConfig loaded = parse(parts.text());
    EXPECT_TRUE(loaded.problems.empty()) << key->example << "\n" << shown(loaded);
  }
}

TEST(ConfigSchema, EveryKeyIsReadAndNothingElse) {
  for (const auto& [table, key] : values()) {
    Parts parts;
    // No key holds a date.
    parts.set(table->path, key->name, key->name + " = 1979-05-27");
    const std::string text = parts.text();
    const auto line =
        1 + std::count(text.begin(),
                       text.begin() + static_cast<std::ptrdiff_t>(text.find("1979-05-27")), '\n');
    const LoadedConfig loaded = parse(text);
    const bool told = std::ranges::any_of(loaded.problems, [&](const ConfigProblem& problem) {
      return problem.place.line == line && problem.text.find("unknown key") == std::string::npos;
    });
    EXPECT_TRUE(told) << table->title << " " << key->name << " is not read\n" << shown(loaded);
    parts.set(table->path, key->name, key->name + "x = 1");
    const LoadedConfig unknown = parse(parts.text());
    EXPECT_NE(shown(unknown).find("unknown key \"" + key->name + "x\""), std::string::npos)
        << shown(unknown);
  }
}

TEST(ConfigSchema, DefaultsAreWhatAnAbsentKeyMeans) {
  for (const auto& [table, key] : values()) {
    if (key->otherwise.empty()) continue;
    Parts parts;
    parts.set(table->path, key->name, key->name + " = " + key->otherwise);
    const LoadedConfig loaded = parse(parts.text());
    EXPECT_TRUE(loaded.problems.empty()) << shown(loaded);
    // What is shown as a default is what would be read.
    EXPECT_TRUE(nlohmann::json::accept(key->otherwise)) << key->otherwise;
  }
}

TEST(ConfigSchema, RangesAreThoseOfTheReaders) {
  for (const auto& [table, key] : values()) {
    const bool counts = key->kind == KeyKind::integer || key->kind == KeyKind::number;
    if (!counts || key->least == key->most) continue;
    for (const auto& [number, fine] : std::map<std::int64_t, bool>{{key->least - 1, false},
                                                                   {key->least, true},
                                                                   {key->most, true},
                                                                   {key->most + 1, false}}) {
      Parts parts;
      parts.set(table->path, key->name, key->name + " = " + std::to_string(number));
      EXPECT_EQ(parse(parts.text()).problems.empty(), fine) << key->name << " = " << number;
    }
  }
}

TEST(ConfigSchema, DurationsHaveUnits) {
  EXPECT_EQ(duration_from("0ms"), 0);
  EXPECT_EQ(duration_from("1500ms"), 1500);
  EXPECT_EQ(duration_from("30s"), 30'000);
  EXPECT_EQ(duration_from("5m"), 300'000);
  EXPECT_EQ(duration_from("2h"), 7'200'000);
  for (const char* text :
       {"", "1", "s", "1 s", "-1s", "1.5s", "1S", "1d", "1min", "9223372036854775807s"}) {
    EXPECT_EQ(duration_from(text), std::nullopt) << text;
  }
  for (const char* text : {"0ms", "1ms", "1500ms", "30s", "5m", "2h"}) {
    EXPECT_EQ(duration_text(duration_from(text).value()), text);
  }
}

TEST(ConfigSchema, SizesHaveUnits) {
  EXPECT_EQ(size_from("0B"), 0);
  EXPECT_EQ(size_from("1KiB"), 1024);
  EXPECT_EQ(size_from("64MiB"), 64 * 1024 * 1024);
  EXPECT_EQ(size_from("3KB"), 3000);
  EXPECT_EQ(size_from("1MB"), 1'000'000);
  for (const char* text : {"", "1", "MiB", "1 MiB", "-1B", "1.5MiB", "1mib", "1GiB", "0x1B",
                           "9223372036854775807MiB", "99999999999999999999B"}) {
    EXPECT_EQ(size_from(text), std::nullopt) << text;
  }
  for (const std::int64_t bytes : {0L, 1L, 1023L, 1024L, 1536L, 65536L, 1048576L, 3000000L}) {
    EXPECT_EQ(size_from(size_text(bytes)), bytes) << size_text(bytes);
  }
}

TEST(ConfigSchema, JsonSchemaKnowsEveryKey) {
  const auto schema = nlohmann::json::parse(schema_as_json());
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto& consumer = schema["properties"]["consumer"]["additionalProperties"];
  const auto& handler = consumer["properties"]["handler"]["items"];
  for (const KeySchema& key : table_schema("consumer.*").keys) {
    EXPECT_TRUE(consumer["properties"].contains(key.name)) << key.name;
  }
  for (const KeySchema& key : table_schema("consumer.*.handler").keys) {
    EXPECT_TRUE(handler["properties"].contains(key.name)) << key.name;
  }
  EXPECT_EQ(consumer["properties"]["batch_max"]["default"], 500);
  EXPECT_EQ(handler["required"], (nlohmann::json{"name", "type", "sql"}));
}

}  // namespace
}  // namespace onefold
