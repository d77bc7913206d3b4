#pragma once

#include <cstdint>
#include <string>

namespace onefold {

/// A process as others can tell it from all that come after it. Numbers are used again; together
/// with the time of the start they are not.
struct Process {
  std::string host;         ///< Name, boot and process namespace: where its number means something.
  std::int64_t number = 0;  ///< As the system counts.
  std::int64_t started = 0;  ///< Ticks between the boot and its start; 0: not known.
  bool operator==(const Process&) const = default;
};

/// Of the caller. Asked anew each time, so that it is right after a fork as well.
Process this_process();

/// Whether a process of this host is still there; one that waits to be reaped is not.
bool lives(std::int64_t number, std::int64_t started);

}  // namespace onefold
