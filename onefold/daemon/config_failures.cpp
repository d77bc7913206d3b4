// [consumer.NAME.retry], [consumer.NAME.breaker] and [consumer.NAME.order]: what is done about
// events that fail.

#include <chrono>

#include "onefold/daemon/config_sections.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

using std::chrono::milliseconds;

std::string label_of(const TableReader& owner, std::string_view table) {
  return "\"" + std::string{table} + "\" of " + owner.label();
}

}  // namespace

RetryPolicy read_retry(const TableReader& owner, const std::string& schema_path,
                       const RetryPolicy& otherwise) {
  const toml::table* table = owner.table("retry");
  if (table == nullptr) return otherwise;
  const TableReader reader{*table, table_schema(schema_path), label_of(owner, "retry"),
                           owner.reading()};
  RetryPolicy policy = otherwise;
  const auto given = [&](std::string_view key) { return reader.find(key) != nullptr; };
  if (given("attempts")) policy.attempts = static_cast<int>(reader.integer("attempts"));
  if (given("initial")) policy.initial = milliseconds{reader.duration("initial")};
  if (given("factor")) policy.factor = reader.number("factor");
  if (given("max")) policy.longest = milliseconds{reader.duration("max")};
  if (given("jitter")) policy.jitter = reader.number("jitter");
  if (const auto classes = reader.words("permanent")) {
    policy.permanent.clear();
    for (const std::string& name : *classes) {
      if (const auto failure = failure_class_from(name)) policy.permanent.push_back(*failure);
    }
  }
  if (policy.longest < policy.initial) {
    reader.problem(given("max") ? "max" : "initial",
                   "the longest pause, \"max\", is shorter than the first one, \"initial\"",
                   "raise \"max\", or lower \"initial\"");
    return otherwise;
  }
  return policy;
}

BreakerRule read_breaker(const TableReader& consumer) {
  BreakerRule rule;
  const toml::table* table = consumer.table("breaker");
  if (table == nullptr) return rule;
  const TableReader reader{*table, table_schema("consumer.*.breaker"),
                           label_of(consumer, "breaker"), consumer.reading()};
  rule.failures = static_cast<int>(reader.integer("failures"));
  rule.window = static_cast<int>(reader.integer("window"));
  rule.probe = milliseconds{reader.duration("probe")};
  if (rule.window == 0 || rule.failures < rule.window) return rule;
  reader.problem(reader.find("window") != nullptr ? "window" : "failures",
                 "more than " + std::to_string(rule.failures) + " failures cannot be among " +
                     std::to_string(rule.window) + " events",
                 "\"failures\" must be less than \"window\"; a \"window\" of 0 is no breaker");
  return {};
}

std::optional<OrderRule> read_order(const TableReader& consumer) {
  const toml::table* table = consumer.table("order");
  if (table == nullptr) return std::nullopt;
  const TableReader reader{*table, table_schema("consumer.*.order"), label_of(consumer, "order"),
                           consumer.reading()};
  // The policy is said in words, so that nobody takes it for more than it is.
  reader.require("policy");
  reader.choice("policy");
  if (reader.require("entity") == nullptr) return std::nullopt;
  OrderRule rule{.entity = reader.pointer("entity")};
  if (rule.entity.empty()) return std::nullopt;
  return rule;
}

}  // namespace onefold
