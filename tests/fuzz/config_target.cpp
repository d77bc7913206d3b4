#include "onefold/daemon/config.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "onefold/daemon/sql_text.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

bool is_printable(std::string_view text) {
  return std::ranges::all_of(
      text, [](char byte) { return static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F; });
}

void check(const LoadedConfig& loaded, std::string_view bytes) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(bytes, '\n')) + 1;
  for (const ConfigProblem& problem : loaded.problems) {
    require(!problem.text.empty(), "a problem is told in words");
    require(is_printable(problem.text) && is_printable(problem.hint),
            "a message holds no control characters of the file");
    // Behind the last line break the parser counts one more line.
    require(problem.place.line <= lines + 1, "a problem stands in the file");
  }
}

void check_usable(const Config& config) {
  require(!config.consumers.empty(), "what can be applied has a consumer");
  for (const ConsumerConfig& consumer : config.consumers) {
    require(!consumer.handlers.empty() && !consumer.sources.empty(),
            "a consumer has handlers and sources");
    for (const HandlerConfig& handler : consumer.handlers) {
      for (const StatementConfig& statement : handler.statements) {
        require(read_sql(statement.sql).defect.empty(), "its statements have been read");
      }
    }
  }
}

}  // namespace

void config(std::string_view bytes) {
  static const ConfigReadingOptions empty{ConfigUse::apply, Environment{}};
  static const ConfigReadingOptions unknown{ConfigUse::apply, std::nullopt};
  static const ConfigReadingOptions filled{
      ConfigUse::apply,
      Environment{{"A", "7"}, {"HOME", "\x1b[31m'\""}, {"ONEFOLD__CONSUMER__A__BATCH_MAX", "8"}}};
  static const ConfigReadingOptions looking{ConfigUse::look, Environment{}};

  const LoadedConfig applied = parse_config(bytes, "onefold.toml", empty);
  check(applied, bytes);
  if (applied.problems.empty()) check_usable(applied.config);
  const LoadedConfig looked = parse_config(bytes, "onefold.toml", looking);
  check(looked, bytes);
  const LoadedConfig without = parse_config(bytes, "onefold.toml", unknown);
  check(without, bytes);
  check(parse_config(bytes, "onefold.toml", filled), bytes);
  require(!applied.problems.empty() || looked.problems.empty(),
          "what can be applied can be looked at");
  require(!applied.problems.empty() || without.problems.empty(),
          "what is not known about the environment is no problem");
}

}  // namespace onefold::fuzz
