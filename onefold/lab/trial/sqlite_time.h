#pragma once

#include <cstdint>

#include "onefold/event.h"

namespace onefold::lab {

/// While it lives, SQLite's clock stands where it is set, and its random numbers come from a seed:
/// so that a schedule runs the same every time. Must outlive every connection that is opened under
/// it; one at a time.
class SqliteTime {
 public:
  SqliteTime();
  ~SqliteTime();
  SqliteTime(const SqliteTime&) = delete;
  SqliteTime& operator=(const SqliteTime&) = delete;

  /// What SQL takes for now, and where random numbers start anew.
  void set(Timestamp now, std::uint64_t seed);
};

}  // namespace onefold::lab
