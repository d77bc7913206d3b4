#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// A disk below SQLite that loses power, or fails, at a call that a test has chosen.
namespace onefold::power {

enum class Fault {
  none,
  cut,          ///< Nothing works any more. What was not synced may be there or not, or in part.
  write_error,  ///< EIO: some of the bytes have been written.
  full,         ///< ENOSPC: none have.
  short_write,  ///< ENOSPC in the middle.
  /// EIO: what was written since the last sync is still read, but is on the disk or not, and the
  /// next sync says nothing about it. That is how Linux behaves.
  sync_error,
  read_error,
};

/// While one lives, all databases that this process opens are on it; files that are there already
/// have been synced. They are real ones, so that
/// locks and shared memory are those of SQLite; only syncs are played, which makes it quick. What a
/// power cut leaves is kept in memory. For one thread.
class Disk {
 public:
  explicit Disk(std::uint32_t seed);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  /// The `nth` call from now that can fail this way does, counted from 1, and the `times - 1` that
  /// follow. For a cut these are the calls that change something.
  void fail(Fault fault, int nth, int times = 1);
  /// The fault of the last `fail` has happened.
  bool happened() const noexcept { return happened_; }
  bool is_on() const noexcept { return on_; }
  /// What an unlucky power cut leaves. Also without a fault; all databases must be closed.
  void cut_and_restart();
  /// As with `synchronous = NORMAL`: the log is only synced before its pages are copied.
  void set_lazy(bool lazy) noexcept { lazy_ = lazy; }

 private:
  enum class Call { write, truncate, sync, remove, read };
  /// A change since the last sync. A truncation has no bytes, and its offset is the new size.
  struct Change {
    bool truncation = false;
    std::size_t offset = 0;
    std::vector<unsigned char> bytes = {};
  };
  /// A file as the disk has it; what SQLite reads is in the real file.
  struct Content {
    std::vector<unsigned char> durable;
    std::vector<Change> pending;
    bool is_log = false;
    bool removed = false;  ///< But its name may come back.
  };
  /// What SQLite holds of an open file; the default file system's own follows in memory.
  struct OpenFile {
    sqlite3_file first;
    Disk* disk;
    Content* content;
    bool syncs_folder;  ///< With its first sync, as the default file system does.
  };

  static Disk& disk_of(sqlite3_vfs* system);
  static OpenFile& opened(sqlite3_file* file);
  static sqlite3_file* real(sqlite3_file* file);
  static const sqlite3_io_methods& methods();
  static int open(sqlite3_vfs* system, const char* name, sqlite3_file* file, int flags, int* out);
  static int remove(sqlite3_vfs* system, const char* name, int sync_folder);
  static int close(sqlite3_file* file);
  static int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset);
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int sync(sqlite3_file* file, int flags);

  bool concerns(Call call) const noexcept;
  /// Counts the call; the fault that it meets, if any.
  std::optional<Fault> enter(Call call);
  void sync_logs();
  std::size_t random(std::size_t limit);
  static void apply(const Change& change, std::vector<unsigned char>& bytes);
  static void settle(Content& content);
  /// Each change with this chance in percent, and one that is kept may be torn.
  void settle_some(Content& content, std::size_t percent);
  void tear(Change& change);

  sqlite3_vfs* default_;
  sqlite3_vfs system_;
  std::map<std::string, Content> contents_;  ///< By path.
  std::mt19937 random_;
  bool on_ = true;
  bool lazy_ = false;
  Fault fault_ = Fault::none;
  int nth_ = 0;
  int times_ = 0;
  int seen_ = 0;
  bool happened_ = false;
};

}  // namespace onefold::power
