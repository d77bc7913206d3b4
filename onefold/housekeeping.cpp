#include "onefold/housekeeping.h"

#include <algorithm>
#include <map>

namespace onefold {
namespace {

using Lines = std::map<std::string, std::string, std::less<>>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) continue;
    lines.emplace(line.substr(0, equals), line.substr(equals + 3));
  }
  return lines;
}

}  // namespace

MergedRules merge_rules(std::string_view stored, std::string_view wanted) {
  MergedRules merged;
  Lines lines = lines_of(stored);
  for (auto& [name, value] : lines_of(wanted)) {
    const auto [place, added] = lines.try_emplace(name, value);
    if (added || place->second == value) continue;
    merged.changes += name + ": " + place->second + " → " + value + "\n";
    place->second = value;
  }
  for (const auto& [name, value] : lines) merged.rules += name + " = " + value + "\n";
  return merged;
}

const char* to_string(DeferralReason reason) noexcept {
  switch (reason) {
    case DeferralReason::dead:
      return "dead";
    case DeferralReason::quarantine:
      return "quarantine";
    case DeferralReason::conflict:
      return "conflict";
  }
  return "dead";
}

}  // namespace onefold
