#pragma once

#include <span>
#include <string_view>

/// Bugs that somebody could have written, in copies of the runtime's sources that are made for
/// tests; see bugs.toml. Those that look for them show so that they can find what they promise.
namespace onefold {

namespace mutants {

struct Bug {
  int number;  ///< From 1, in the order of bugs.toml.
  std::string_view name;
  std::string_view why;  ///< Why somebody would write it.
  bool in_the_lab;       ///< Whether the lab can see it; ordinary tests see all of them.
};

/// All that are planted.
std::span<const Bug> bugs();

/// The number of the one that is switched on; 0: none. One thread.
inline int switched_on = 0;

}  // namespace mutants

/// Asked by the copies at each place of a bug.
inline bool planted(int number) noexcept {
  return mutants::switched_on == number;
}

}  // namespace onefold
