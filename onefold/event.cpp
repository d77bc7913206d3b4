#include "onefold/event.h"

#include <array>
#include <string_view>

namespace onefold {
namespace {
constexpr std::array<const char*, outcome_count> outcome_names{
    "applied", "duplicate", "stale", "deferred", "dead", "conflict", "ignored"};
}  // namespace

const char* to_string(Outcome outcome) noexcept {
  return outcome_names.at(static_cast<std::size_t>(outcome));
}

std::optional<Outcome> outcome_from(std::string_view name) noexcept {
  for (std::size_t i = 0; i < outcome_names.size(); ++i) {
    if (name == outcome_names.at(i)) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

}  // namespace onefold
