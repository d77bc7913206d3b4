#include "onefold/brokers/file/opened_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "onefold/brokers/file/incarnation.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

[[noreturn]] void fail(ErrorKind kind, std::string_view what, const std::string& path, int number,
                       std::string_view advice) {
  throw Error{kind, fmt::format("cannot {} {}: {}; {}", what, path,
                                std::generic_category().message(number), advice)};
}

[[noreturn]] void fail_to_open(const std::string& path, int number) {
  switch (number) {
    case EACCES:
    case EPERM:
      fail(ErrorKind::bad_configuration, "open", path, number, "make it readable for this user");
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case ENODEV:
      fail(ErrorKind::bad_configuration, "open", path, number, "give the path of a regular file");
    default:
      fail(ErrorKind::unavailable, "open", path, number, "it is tried again");
  }
}

}  // namespace

std::optional<OpenedFile> OpenedFile::open(const std::string& path) {
  // Without O_NONBLOCK a FIFO would hang here until somebody writes to it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0 && errno == ENOENT) return std::nullopt;
  if (descriptor < 0) fail_to_open(path, errno);
  OpenedFile file{descriptor, path};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail_to_open(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("cannot read {}: it is not a regular file; give the path of one, or "
                            "\"-\" to read a pipe through standard input",
                            path)};
  }
  struct statfs system{};
  if (::fstatfs(descriptor, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("cannot read {}: it is made up by the kernel and has no size; give the "
                            "path of a file on a disk, or copy it first",
                            path)};
  }
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

OpenedFile::OpenedFile(int descriptor, std::string path)
    : descriptor_{descriptor}, path_{std::move(path)} {}

OpenedFile::~OpenedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OpenedFile::OpenedFile(OpenedFile&& other) noexcept
    : descriptor_{std::exchange(other.descriptor_, -1)}, path_{std::move(other.path_)} {}

OpenedFile& OpenedFile::operator=(OpenedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

std::size_t OpenedFile::read(std::uint64_t offset, std::span<char> room) const {
  std::size_t count = 0;
  while (count < room.size()) {
    const auto got = ::pread(descriptor_, room.data() + count, room.size() - count,
                             static_cast<off_t>(offset + count));
    if (got == 0) break;
    if (got > 0) {
      count += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      fail(ErrorKind::unavailable, fmt::format("read at offset {} of", offset + count), path_,
           errno, "check the disk; it is tried again");
    }
  }
  return count;
}

std::string OpenedFile::beginning() const {
  std::string bytes(Incarnation::bytes_max, '\0');
  bytes.resize(read(0, bytes));
  return bytes;
}

FileState OpenedFile::state() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) {
    fail(ErrorKind::unavailable, "look at", path_, errno, "it is tried again");
  }
  return {.size = static_cast<std::uint64_t>(status.st_size),
          .modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          .linked = status.st_nlink > 0};
}

std::optional<bool> OpenedFile::is_at(const std::string& path) const {
  struct stat there{};
  struct stat here{};
  if (::stat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return std::nullopt;
    fail_to_open(path, errno);
  }
  if (::fstat(descriptor_, &here) != 0) fail_to_open(path, errno);
  return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

}  // namespace onefold::file
