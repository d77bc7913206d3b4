#include "onefold/daemon/config.h"

#include <algorithm>
#include <cstddef>
#include <string>

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

}  // namespace

void config(std::string_view bytes) {
  const LoadedConfig applied = parse_config(bytes, "onefold.toml", ConfigUse::apply);
  check(applied, bytes);
  if (applied.problems.empty()) {
    require(!applied.config.consumers.empty(), "what can be applied has a consumer");
    for (const ConsumerConfig& consumer : applied.config.consumers) {
      require(!consumer.handlers.empty() && !consumer.sources.empty(),
              "a consumer has handlers and sources");
    }
  }
  const LoadedConfig looked = parse_config(bytes, "onefold.toml", ConfigUse::look);
  check(looked, bytes);
  require(!applied.problems.empty() || looked.problems.empty(),
          "what can be applied can be looked at");
}

}  // namespace onefold::fuzz
