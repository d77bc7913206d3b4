#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config.h"

/// A good configuration, and ways to break it, for the tests.
namespace onefold {

// The lines that the tables below count: each broken configuration is this one with one line
// replaced.
inline constexpr std::string_view good = R"TOML(config_version = 1
[store]
url = "sqlite:shop.db"
[source.orders]
kind = "file"
path = "orders.jsonl"
format = "json"
identity = { id = "/event_id", source = "literal:shop", type = "/type" }
follow = false
[consumer.billing]
sources = ["orders"]
batch_max = 500
key = "event"
[[consumer.billing.handler]]
name = "credit"
type = "payment.received"
version = 1
params = { account = { at = "/account", type = "int64" } }
sql = ["INSERT INTO payment (id, account) VALUES (:event_id, :account)", "UPDATE account SET n = 1"]
expect_rows = [1, "any"]
)TOML";

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// `good` with line `number` (from 1) replaced; the replacement may be several lines or none.
inline std::string with_line(std::size_t number, const std::string& replacement) {
  std::vector<std::string> lines = lines_of(good);
  lines.at(number - 1) = replacement;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// All problems, one a line.
inline std::string shown(const LoadedConfig& loaded) {
  std::string all;
  for (const ConfigProblem& problem : loaded.problems) {
    all += to_string(problem.place, loaded.config.path) + ": " + problem.text + " | " +
           problem.hint + "\n";
  }
  return all;
}

}  // namespace onefold
