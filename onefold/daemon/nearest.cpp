#include "onefold/daemon/nearest.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t word_bytes_min = 3;  ///< Shorter words are near to everything.
constexpr std::size_t word_bytes_max = 64;
constexpr std::size_t listed_max = 12;

/// Optimal string alignment distance, in three rows.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> above(right.size() + 1);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[right.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() < word_bytes_min || word.size() > word_bytes_max) return std::nullopt;
  // A third of the letters may be wrong; beyond that, a guess confuses more than it helps.
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word_bytes_max) continue;
    const std::size_t found = distance(word, candidate);
    if (found < best_distance && found < candidate.size()) {
      best_distance = found;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string> candidates,
                         std::string_view plural) {
  if (const auto best = nearest(word, candidates)) {
    return "did you mean \"" + printable(*best) + "\"?";
  }
  if (candidates.empty()) return {};
  std::string hint = "the " + std::string{plural} + " here are";
  for (std::size_t i = 0; i < std::min(candidates.size(), listed_max); ++i) {
    hint += (i == 0 ? " " : ", ") + printable(candidates[i]);
  }
  if (candidates.size() > listed_max) hint += ", …";
  return hint;
}

}  // namespace onefold
