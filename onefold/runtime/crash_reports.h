#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "onefold/event.h"
#include "onefold/notice.h"
#include "onefold/runs.h"

// A crash file is named `onefold-crash-NUMBER-STARTED` after its process. Its owner holds a lock on
// it, so that everybody can see whether it lives. It is empty until the process dies by a signal
// that it sees, or by `exit` in a handler; then it has these lines, each ended by a line feed:
//
//   onefold crash 1
//   how signal 11 (SIGSEGV)
//   sender 0                   the process that has sent the signal, if another one has
//   time 1796104423            in seconds since 1970
//   run 17                     0: the thread that died was in no handler
//   consumer billing           at most 512 bytes, where a question mark stands for control bytes
//   handler ship
//   key 3 00112233445566778899aabbccddeeff      or `key none`
//   end

namespace onefold {

inline constexpr std::string_view crash_file_prefix = "onefold-crash-";

/// The last words of a process.
struct CrashReport {
  std::string how;
  std::int64_t sender = 0;  ///< Another process has sent the signal: no event is to blame.
  Timestamp at;
  RunId run = 0;  ///< 0: it was in no handler.
  std::string consumer = {};
  std::string handler = {};
  std::optional<Key> key = {};  ///< Absent: it was in no handler, or had several events.
};

/// Absent: torn, or not ours.
std::optional<CrashReport> parse_crash_report(std::string_view text);

/// A name as a report has it.
std::string as_reported(std::string_view name);
constexpr std::size_t reported_name_bytes_max = 512;
constexpr char reported(char c) noexcept {
  constexpr char delete_character = 127;
  return (c >= 0 && c < ' ') || c == delete_character ? '?' : c;
}

/// For people: "signal 11 (SIGSEGV) in handler 'ship', last at 2026-11-30T14:00:00Z".
std::string words_of(const CrashReport& report);

/// What dead processes have left in a state folder, as it was found once. Thread-safe after that.
class CrashReports {
 public:
  CrashReports() = default;
  /// Removes the files of processes that have said nothing. What cannot be read is told to
  /// `notify`, and set aside under another name. A folder that cannot be read has nothing.
  CrashReports(const std::string& folder, const Notify& notify);

  /// The process had a file, and has let go of it. It may have been on another host.
  bool is_dead(std::int64_t process, std::int64_t started) const;
  /// Null: it has said nothing.
  const CrashReport* of(std::int64_t process, std::int64_t started) const;
  /// It has been counted: its file is removed, from the folder alone.
  void forget(std::int64_t process, std::int64_t started) const noexcept;

 private:
  using Name = std::pair<std::int64_t, std::int64_t>;
  void look_at(const std::string& file, const Name& name, const Notify& notify);

  std::string folder_;
  std::map<Name, std::optional<CrashReport>> dead_;
};

}  // namespace onefold
