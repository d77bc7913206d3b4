#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onefold {

/// The candidate that a mistyped word most probably meant, by edit distance (insert, delete,
/// replace, swap of neighbours); absent if none is close. Of equally close ones, the first.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// A hint for a person: `did you mean "batch_max"?`, or `known are: a, b, c` if none is close.
/// Empty without candidates. `plural` names what the candidates are, for example "keys".
std::string nearest_hint(std::string_view word, std::span<const std::string> candidates,
                         std::string_view plural);

}  // namespace onefold
