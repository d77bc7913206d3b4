#include "onefold/housekeeping.h"

#include <algorithm>
#include <map>
#include <vector>

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

namespace {

constexpr std::string_view handler_start = "handler ";

/// Lines about handlers, whose names are a part of keys, that one text has and the other has not.
std::vector<std::string> handlers_only_in(const Lines& one, const Lines& other) {
  std::vector<std::string> names;
  for (const auto& [name, value] : one) {
    if (name.starts_with(handler_start) && !other.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

MergedRules merge_rules(std::string_view stored, std::string_view wanted) {
  MergedRules merged;
  Lines lines = lines_of(stored);
  const Lines news = lines_of(wanted);
  const auto gone = handlers_only_in(lines, news);
  const auto added_names = handlers_only_in(news, lines);
  if (!gone.empty() && !added_names.empty()) {
    for (const std::string& name : gone) {
      merged.changes +=
          name + ": " + lines.at(name) + " → no such handler, and there is a new one\n";
      lines.erase(name);
    }
  }
  for (const auto& [name, value] : news) {
    const auto [place, added] = lines.try_emplace(name, value);
    if (added || place->second == value) continue;
    merged.changes += name + ": " + place->second + " → " + value + "\n";
    place->second = value;
  }
  for (const auto& [name, value] : lines) merged.rules += name + " = " + value + "\n";
  return merged;
}

}  // namespace onefold
