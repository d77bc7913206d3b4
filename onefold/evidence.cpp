#include "onefold/evidence.h"

#include <algorithm>
#include <array>

namespace onefold {
namespace {
constexpr std::array<const char*, 5> names{"retry", "behind", "dead", "quarantine", "conflict"};
}  // namespace

const char* to_string(DeferralReason reason) noexcept {
  return names.at(static_cast<std::size_t>(reason));
}

std::optional<DeferralReason> deferral_reason_from(std::string_view name) noexcept {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<DeferralReason>(found - names.begin());
}

}  // namespace onefold
