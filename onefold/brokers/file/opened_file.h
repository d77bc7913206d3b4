#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace onefold::file {

struct FileState {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< Only to be compared.
  bool linked = false;        ///< It has a name still.
};

/// A file descriptor that is closed on destruction, and read at given offsets. It is never mapped:
/// a mapped file that somebody truncates kills the process.
class OpenedFile {
 public:
  /// Absent if there is no such file. Throws `bad_configuration` if it is not a regular file, is
  /// one of the kernel's (procfs), or may not be read; `unavailable` otherwise.
  static std::optional<OpenedFile> open(const std::string& path);
  ~OpenedFile();
  OpenedFile(OpenedFile&& other) noexcept;
  OpenedFile& operator=(OpenedFile&& other) noexcept;

  /// Fills `room` from `offset` on, as far as there are bytes. Throws `unavailable`.
  std::size_t read(std::uint64_t offset, std::span<char> room) const;
  /// The first bytes, as many as count for an incarnation.
  std::string beginning() const;
  FileState state() const;
  /// Whether `path` leads to this file now; absent if it leads nowhere.
  std::optional<bool> is_at(const std::string& path) const;
  const std::string& path() const noexcept { return path_; }

 private:
  OpenedFile(int descriptor, std::string path);
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace onefold::file
