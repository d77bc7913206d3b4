#include "onefold/lab/trial/sqlite_time.h"

#include <sqlite3.h>

#include <chrono>
#include <random>

namespace onefold::lab {
namespace {

constexpr sqlite3_int64 julian_milliseconds_1970 = 210'866'760'000'000;

/// SQLite's interface to the system, but for time and chance. SQLite knows it by its address.
struct System {
  sqlite3_vfs replaced{};
  sqlite3_vfs* original = nullptr;
  sqlite3_int64 now = julian_milliseconds_1970;
  std::uint64_t seed = 0;
};
System& system() {
  static System the_one;
  return the_one;
}

int current_time(sqlite3_vfs* /*vfs*/, sqlite3_int64* now) {
  *now = system().now;
  return SQLITE_OK;
}

int randomness(sqlite3_vfs* /*vfs*/, int size, char* bytes) {
  std::mt19937_64 random{system().seed};
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<char>(random());
  return size;
}

}  // namespace

SqliteTime::SqliteTime() {
  System& all = system();
  all.original = sqlite3_vfs_find(nullptr);
  all.replaced = *all.original;
  all.replaced.pNext = nullptr;
  all.replaced.zName = "onefold_lab";
  all.replaced.xCurrentTimeInt64 = current_time;
  all.replaced.xRandomness = randomness;
  sqlite3_vfs_register(&all.replaced, 1);
}

SqliteTime::~SqliteTime() {
  sqlite3_vfs_unregister(&system().replaced);
  sqlite3_vfs_register(system().original, 1);
  sqlite3_randomness(0, nullptr);
}

void SqliteTime::set(Timestamp now, std::uint64_t seed) {
  const auto since_1970 =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  system().now = julian_milliseconds_1970 + since_1970.count();
  system().seed = seed;
  sqlite3_randomness(0, nullptr);
}

}  // namespace onefold::lab
