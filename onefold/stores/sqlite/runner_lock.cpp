#include "onefold/stores/sqlite/runner_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "onefold/stores/sqlite/failure.h"

namespace onefold::sqlite {
namespace {

std::string text_of(int error) {
  return std::generic_category().message(error);
}

/// What the owner wrote into the lock file.
std::string owner_of(int descriptor) {
  std::array<char, 32> text{};
  const auto size = ::pread(descriptor, text.data(), text.size(), 0);
  std::string_view owner{text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  owner = owner.substr(0, owner.find('\n'));
  return owner.empty() ? "that has not said its number yet" : std::string{owner};
}

}  // namespace

RunnerLock::RunnerLock(const std::string& database_path) {
  const std::string path = database_path + ".onefold-lock";
  // Closed in programs that a handler starts: they must not keep the lock alive.
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    const int error = errno;
    throw Error{kind_of_system(error),
                fmt::format("cannot open the lock file {}: {}", path, text_of(error))};
  }
  int result = 0;
  do {
    result = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    const int error = errno;
    const std::string owner = owner_of(descriptor_);
    ::close(descriptor_);
    if (error == EWOULDBLOCK) {
      throw Error{ErrorKind::contention, fmt::format("process {} runs on {} already, and only one "
                                                     "may: stop it, or try again when it has ended",
                                                     owner, database_path)};
    }
    throw Error{kind_of_system(error), fmt::format("cannot lock {}: {}", path, text_of(error))};
  }
  const std::string owner = fmt::format("{}\n", ::getpid());
  // Only for people: a full disk must not keep a runner from starting.
  if (::ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const auto written = ::pwrite(descriptor_, owner.data(), owner.size(), 0);
  }
}

RunnerLock::~RunnerLock() {
  ::close(descriptor_);
}

}  // namespace onefold::sqlite
