#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

namespace onefold::fuzz {

/// Ends the process if a property does not hold: that is what a fuzzer takes for a find.
inline void require(bool holds, std::string_view property,
                    std::source_location place = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold: %.*s\n", place.file_name(),
               static_cast<unsigned>(place.line()), static_cast<int>(property.size()),
               property.data());
  std::abort();
}

}  // namespace onefold::fuzz
