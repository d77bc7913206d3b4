#include "onefold/notice.h"

#include <cstdio>

namespace onefold {

void to_standard_error(const Notice& notice) {
  const char* severity = notice.severity == Severity::info      ? "note"
                         : notice.severity == Severity::warning ? "warning"
                                                                : "problem";
  const std::string line = std::string{"onefold: "} + severity + ": " + notice.text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // What cannot be said is not worth dying for.
}

}  // namespace onefold
