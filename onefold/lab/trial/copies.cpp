#include "onefold/lab/trial/copies.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "onefold/error.h"
#include "onefold/lab/trial/reader.h"

namespace onefold::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* folder_in_memory = "/dev/shm";
constexpr std::uint64_t spare_bytes = 64U << 20U;
constexpr int pages_a_step = 1024;
constexpr int waits_max = 100;
constexpr int wait_milliseconds = 50;

/// Files in memory are written without waiting for a disk; a large database does not belong there.
std::string folder_for(std::uint64_t bytes) {
  struct statvfs memory{};
  if (::access(folder_in_memory, W_OK) == 0 && ::statvfs(folder_in_memory, &memory) == 0) {
    const std::uint64_t room = std::uint64_t{memory.f_bavail} * memory.f_frsize;
    if (room / 2 > bytes + spare_bytes) return folder_in_memory;
  }
  return fs::temp_directory_path().string();
}

void copy(const std::string& from, const std::string& to) {
  Reader original{from, Reader::Access::read};
  Reader target{to, Reader::Access::create};
  sqlite3_backup* backup = sqlite3_backup_init(target.handle(), "main", original.handle(), "main");
  int code = backup == nullptr ? sqlite3_errcode(target.handle()) : SQLITE_OK;
  for (int waits = 0; backup != nullptr && code != SQLITE_DONE && waits < waits_max;) {
    code = sqlite3_backup_step(backup, pages_a_step);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      ++waits;
      sqlite3_sleep(wait_milliseconds);
    } else if (code != SQLITE_OK) {
      break;
    }
  }
  sqlite3_backup_finish(backup);
  if (code == SQLITE_DONE) return;
  throw Error{
      code == SQLITE_BUSY || code == SQLITE_LOCKED ? ErrorKind::contention : ErrorKind::unavailable,
      fmt::format("cannot copy the database {} for the lab: {}", from, sqlite3_errstr(code))};
}

}  // namespace

Copies::Copies(const std::string& original) {
  std::error_code error;
  const auto size = fs::file_size(original, error);
  if (error) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("cannot read the database {}: {}", original, error.message())};
  }
  std::string pattern = folder_for(size) + "/onefold-lab-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw Error{ErrorKind::unavailable,
                fmt::format("cannot make a folder for copies of the database: {}; TMPDIR can name "
                            "another place",
                            std::generic_category().message(errno))};
  }
  folder_ = pattern;
  path_ = folder_ + "/copy.db";
  try {
    copy(original, path_);
  } catch (...) {
    fs::remove_all(folder_, error);
    throw;
  }
}

Copies::~Copies() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

void Copies::settle() {
  Reader database{path_, Reader::Access::write};
  database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

void Copies::reset() {
  std::error_code error;
  for (const char* ending : {"-wal", "-shm"}) fs::remove(path_ + ending, error);
}

std::uint64_t Copies::log_bytes() const {
  std::error_code error;
  const auto bytes = fs::file_size(path_ + "-wal", error);
  return error ? 0 : bytes;
}

void Copies::cut_log(std::uint64_t bytes) {
  std::error_code error;
  fs::remove(path_ + "-shm", error);
  if (log_bytes() > bytes) fs::resize_file(path_ + "-wal", bytes);
}

}  // namespace onefold::lab
