#include "tests/power/disk.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace onefold::power {
namespace {

constexpr std::size_t sector_size = 512;
constexpr int files_that_stay = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;

std::vector<unsigned char> contents_of(const char* path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

}  // namespace

Disk::Disk(std::uint32_t seed)
    : default_{sqlite3_vfs_find(nullptr)}, system_{*default_}, random_{seed} {
  // All that is not replaced does not use what it is called with.
  system_.pNext = nullptr;
  system_.zName = "onefold_power";
  system_.pAppData = this;
  system_.szOsFile = static_cast<int>(sizeof(OpenFile)) + default_->szOsFile;
  system_.xOpen = &Disk::open;
  system_.xDelete = &Disk::remove;
  sqlite3_vfs_register(&system_, 1);
}

Disk::~Disk() {
  sqlite3_vfs_unregister(&system_);
  sqlite3_vfs_register(default_, 1);
}

void Disk::fail(Fault fault, int nth, int times) {
  fault_ = fault;
  nth_ = nth;
  times_ = times;
  seen_ = 0;
  happened_ = false;
}

bool Disk::concerns(Call call) const noexcept {
  switch (fault_) {
    case Fault::none:
      return false;
    case Fault::cut:
      return call != Call::read;
    case Fault::write_error:
    case Fault::full:
    case Fault::short_write:
      return call == Call::write;
    case Fault::sync_error:
      return call == Call::sync;
    case Fault::read_error:
      return call == Call::read;
  }
  return false;
}

std::optional<Fault> Disk::enter(Call call) {
  if (!on_) return Fault::cut;
  if (!concerns(call)) return {};
  ++seen_;
  if (seen_ < nth_ || seen_ >= nth_ + times_) return {};
  happened_ = true;
  if (fault_ == Fault::cut) on_ = false;
  return fault_;
}

std::size_t Disk::random(std::size_t limit) {
  return random_() % limit;
}

void Disk::apply(const Change& change, std::vector<unsigned char>& bytes) {
  const std::size_t end = change.offset + change.bytes.size();
  if (change.truncation ? bytes.size() > end : bytes.size() < end) bytes.resize(end);
  std::ranges::copy(change.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

void Disk::settle(Content& content) {
  for (const Change& change : content.pending) apply(change, content.durable);
  content.pending.clear();
}

/// Keeps some sectors of a write, and of the last one some bytes.
void Disk::tear(Change& change) {
  std::vector<unsigned char>& bytes = change.bytes;
  const std::size_t sectors = (bytes.size() + sector_size - 1) / sector_size;
  const std::size_t first = random(sectors) * sector_size;
  const std::size_t size = 1 + random(bytes.size() - first);
  change.offset += first;
  bytes = {bytes.begin() + static_cast<std::ptrdiff_t>(first),
           bytes.begin() + static_cast<std::ptrdiff_t>(first + size)};
}

void Disk::settle_some(Content& content, std::size_t percent) {
  for (Change& change : content.pending) {
    if (random(100) >= percent) continue;
    if (!change.bytes.empty() && percent < 100 && random(4) == 0) tear(change);
    apply(change, content.durable);
  }
  content.pending.clear();
}

void Disk::sync_logs() {
  for (auto& [path, content] : contents_) {
    if (content.is_log) settle(content);
  }
}

void Disk::cut_and_restart() {
  // Little of it, half, nearly all, all: each finds something else.
  constexpr std::array<std::size_t, 5> chances{0, 20, 50, 90, 100};
  for (auto each = contents_.begin(); each != contents_.end();) {
    auto& [path, content] = *each;
    settle_some(content, chances.at(random(chances.size())));
    std::filesystem::remove(path + "-shm");
    if (content.removed && random(2) == 0) {
      each = contents_.erase(each);
      continue;
    }
    content.removed = false;
    std::ofstream{path, std::ios::binary | std::ios::trunc}.write(
        reinterpret_cast<const char*>(content.durable.data()),
        static_cast<std::streamsize>(content.durable.size()));
    ++each;
  }
  on_ = true;
  fail(Fault::none, 0);
}

Disk& Disk::disk_of(sqlite3_vfs* system) {
  return *static_cast<Disk*>(system->pAppData);
}
Disk::OpenFile& Disk::opened(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
sqlite3_file* Disk::real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(&opened(file) + 1);
}

int Disk::open(sqlite3_vfs* system, const char* name, sqlite3_file* file, int flags, int* out) {
  Disk& disk = disk_of(system);
  file->pMethods = nullptr;
  if (!disk.on_) return SQLITE_CANTOPEN;
  const int code = disk.default_->xOpen(disk.default_, name, real(file), flags, out);
  if (code != SQLITE_OK) return code;
  opened(file).disk = &disk;
  opened(file).content = nullptr;
  opened(file).syncs_folder = (flags & SQLITE_OPEN_CREATE) != 0 &&
                              (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  if (name != nullptr && (flags & files_that_stay) != 0) {
    const auto [known, first_seen] = disk.contents_.try_emplace(name);
    Content& content = known->second;
    if (first_seen) content.durable = contents_of(name);
    if (content.removed) content = Content{};
    content.is_log = (flags & SQLITE_OPEN_WAL) != 0;
    opened(file).content = &content;
  }
  file->pMethods = &methods();
  return SQLITE_OK;
}

int Disk::remove(sqlite3_vfs* system, const char* name, int sync_folder) {
  Disk& disk = disk_of(system);
  if (disk.enter(Call::remove)) return SQLITE_IOERR_DELETE;
  const auto known = disk.contents_.find(name);
  if (known != disk.contents_.end() && sync_folder != 0) {
    disk.contents_.erase(known);
  } else if (known != disk.contents_.end()) {
    known->second.removed = true;
  }
  return disk.default_->xDelete(disk.default_, name, sync_folder);
}

int Disk::close(sqlite3_file* file) {
  return real(file)->pMethods->xClose(real(file));
}

int Disk::read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  if (opened(file).disk->enter(Call::read)) return SQLITE_IOERR_READ;
  return real(file)->pMethods->xRead(real(file), to, size, offset);
}

int Disk::write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  Disk& disk = *opened(file).disk;
  Content* const content = opened(file).content;
  if (content == nullptr) return real(file)->pMethods->xWrite(real(file), from, size, offset);
  if (disk.lazy_ && !content->is_log) disk.sync_logs();
  const bool was_on = disk.on_;
  const auto fault = disk.enter(Call::write);
  if (fault == Fault::full) return SQLITE_FULL;
  if (fault == Fault::cut && !was_on) return SQLITE_IOERR_WRITE;
  if (fault && fault != Fault::cut) {
    size = static_cast<int>(disk.random(static_cast<std::size_t>(size)));
  }
  const auto* const bytes = static_cast<const unsigned char*>(from);
  content->pending.push_back(
      {.offset = static_cast<std::size_t>(offset), .bytes = {bytes, bytes + size}});
  if (fault == Fault::cut) return SQLITE_IOERR_WRITE;
  const int code = real(file)->pMethods->xWrite(real(file), from, size, offset);
  if (!fault) return code;
  return fault == Fault::short_write ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int Disk::truncate(sqlite3_file* file, sqlite3_int64 size) {
  Disk& disk = *opened(file).disk;
  Content* const content = opened(file).content;
  const bool was_on = disk.on_;
  const auto fault = disk.enter(Call::truncate);
  if (content != nullptr && was_on) {
    content->pending.push_back({.truncation = true, .offset = static_cast<std::size_t>(size)});
  }
  if (fault) return SQLITE_IOERR_TRUNCATE;
  return real(file)->pMethods->xTruncate(real(file), size);
}

int Disk::sync(sqlite3_file* file, int /*flags*/) {
  Disk& disk = *opened(file).disk;
  Content* const content = opened(file).content;
  const auto fault = disk.enter(Call::sync);
  if (content == nullptr) return SQLITE_OK;
  if (fault == Fault::sync_error) disk.settle_some(*content, 50);
  if (fault) return SQLITE_IOERR_FSYNC;
  if (!disk.lazy_ || !content->is_log) settle(*content);
  if (std::exchange(opened(file).syncs_folder, false)) {
    std::erase_if(disk.contents_, [](const auto& each) { return each.second.removed; });
  }
  return SQLITE_OK;
}

/// Sizes, locks and shared memory are the default file system's.
const sqlite3_io_methods& Disk::methods() {
  static const sqlite3_io_methods all = [] {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xClose = &Disk::close;
    methods.xRead = &Disk::read;
    methods.xWrite = &Disk::write;
    methods.xTruncate = &Disk::truncate;
    methods.xSync = &Disk::sync;
    methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
      return real(file)->pMethods->xFileSize(real(file), size);
    };
    methods.xLock = [](sqlite3_file* file, int level) {
      return real(file)->pMethods->xLock(real(file), level);
    };
    methods.xUnlock = [](sqlite3_file* file, int level) {
      return real(file)->pMethods->xUnlock(real(file), level);
    };
    methods.xCheckReservedLock = [](sqlite3_file* file, int* held) {
      return real(file)->pMethods->xCheckReservedLock(real(file), held);
    };
    methods.xFileControl = [](sqlite3_file* file, int what, void* with) {
      return real(file)->pMethods->xFileControl(real(file), what, with);
    };
    methods.xSectorSize = [](sqlite3_file* file) {
      return real(file)->pMethods->xSectorSize(real(file));
    };
    methods.xDeviceCharacteristics = [](sqlite3_file* file) {
      return real(file)->pMethods->xDeviceCharacteristics(real(file));
    };
    methods.xShmMap = [](sqlite3_file* file, int page, int size, int extend, void volatile** to) {
      return real(file)->pMethods->xShmMap(real(file), page, size, extend, to);
    };
    methods.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
      return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
    };
    methods.xShmBarrier = [](sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); };
    methods.xShmUnmap = [](sqlite3_file* file, int remove) {
      return real(file)->pMethods->xShmUnmap(real(file), remove);
    };
    return methods;
  }();
  return all;
}

}  // namespace onefold::power
