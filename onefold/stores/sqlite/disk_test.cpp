#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/types.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "onefold/stores/sqlite/failure.h"
#include "onefold/stores/sqlite/test_store.h"

// What happens when the disk is full or fails: the system calls of SQLite are told to.

namespace onefold::sqlite {
namespace {

int injected = 0;  ///< What `errno` becomes.

int failing_open(const char* /*path*/, int /*flags*/, int /*mode*/) {
  errno = injected;
  return -1;
}
int failing_fcntl(int /*file*/, int /*command*/, ...) {
  errno = injected;
  return -1;
}
ssize_t failing_read(int /*file*/, void* /*to*/, size_t /*size*/) {
  errno = injected;
  return -1;
}
ssize_t failing_pread(int /*file*/, void* /*to*/, size_t /*size*/, off_t /*at*/) {
  errno = injected;
  return -1;
}
ssize_t failing_write(int /*file*/, const void* /*from*/, size_t /*size*/) {
  errno = injected;
  return -1;
}
ssize_t failing_pwrite(int /*file*/, const void* /*from*/, size_t /*size*/, off_t /*at*/) {
  errno = injected;
  return -1;
}

/// While one lives, a kind of system call fails.
class Failing {
 public:
  enum class What { open, lock, read, write };

  Failing(What what, int error) {
    injected = error;
    switch (what) {
      case What::open:
        replace("open", reinterpret_cast<sqlite3_syscall_ptr>(&failing_open));
        break;
      case What::lock:
        replace("fcntl", reinterpret_cast<sqlite3_syscall_ptr>(&failing_fcntl));
        break;
      case What::read:
        replace("read", reinterpret_cast<sqlite3_syscall_ptr>(&failing_read));
        replace("pread", reinterpret_cast<sqlite3_syscall_ptr>(&failing_pread));
        replace("pread64", reinterpret_cast<sqlite3_syscall_ptr>(&failing_pread));
        break;
      case What::write:
        replace("write", reinterpret_cast<sqlite3_syscall_ptr>(&failing_write));
        replace("pwrite", reinterpret_cast<sqlite3_syscall_ptr>(&failing_pwrite));
        replace("pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&failing_pwrite));
        break;
    }
  }
  ~Failing() {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    system->xSetSystemCall(system, nullptr, nullptr);
  }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

 private:
  static void replace(const char* name, sqlite3_syscall_ptr by) {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    ASSERT_EQ(system->xSetSystemCall(system, name, by), SQLITE_OK) << name;
  }
};

class Disk : public SqliteStore {
 protected:
  fs::path log() const { return directory_ / "shop.db-wal"; }
  std::string contents() const {
    std::ifstream file{options().path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  /// Keeps the log from being copied when the last connection of the runner is closed.
  std::unique_ptr<Housekeeping> visitor() const {
    Options visiting = options();
    visiting.role = Role::visitor;
    return open_store(visiting)->housekeeping();
  }
};

TEST_F(Disk, WhatMayPassDoesNotKeepARunnerFromBeingStartedAgain) {
  session_.reset();
  store_.reset();
  const auto opening_while = [&](Failing::What what, int error) {
    const Failing failing{what, error};
    return kind_thrown_by([&] { open_store(options()); });
  };
  EXPECT_EQ(opening_while(Failing::What::read, EIO), ErrorKind::unavailable);
  EXPECT_EQ(opening_while(Failing::What::lock, EIO), ErrorKind::unavailable);
  EXPECT_EQ(opening_while(Failing::What::open, EMFILE), ErrorKind::unavailable);
  EXPECT_EQ(opening_while(Failing::What::open, EACCES), ErrorKind::bad_configuration);
  fs::remove(options().path);
  EXPECT_EQ(opening_while(Failing::What::write, EIO), ErrorKind::unavailable);
  EXPECT_EQ(opening_while(Failing::What::write, ENOSPC), ErrorKind::unavailable);
  EXPECT_NO_THROW(open_store(options()));
}

TEST(Failures, SystemErrorsThatAPersonMustMend) {
  for (const int error : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ENOSYS}) {
    EXPECT_EQ(kind_of_system(error), ErrorKind::bad_configuration) << error;
  }
  for (const int error : {EIO, ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOLCK, EINTR}) {
    EXPECT_EQ(kind_of_system(error), ErrorKind::unavailable) << error;
  }
}

TEST_F(Disk, CommitSaysWhyItIsInDoubt) {
  const auto commit_while = [&](int error) {
    const auto transaction = session_->begin();
    transaction->statements().execute(credit, {});
    const Failing failing{Failing::What::write, error};
    CommitAnswer answer = transaction->commit();
    return answer;
  };
  const CommitAnswer full = commit_while(ENOSPC);
  EXPECT_EQ(full.result, CommitResult::in_doubt);
  EXPECT_EQ(full.why, "database or disk is full (SQLite code 13)");
  EXPECT_EQ(kind_thrown_by([&] { session_->begin(); }), ErrorKind::unavailable);
  session_ = store_->connect();
  const CommitAnswer broken = commit_while(EIO);
  EXPECT_EQ(broken.result, CommitResult::in_doubt);
  EXPECT_EQ(broken.why, "disk I/O error (SQLite code 778)");
  session_ = store_->connect();
  EXPECT_EQ(balance(), 100);
}

TEST_F(Disk, ARunnerCopiesTheLogThatWasLeftToIt) {
  const auto reader = visitor();
  session_.reset();
  store_.reset();
  const std::string before = contents();
  store_ = open_store(options());
  session_ = store_->connect();
  ASSERT_EQ(contents(), before);
  session_->begin();
  EXPECT_NE(contents(), before);
}

TEST_F(Disk, TheLogIsCopiedAfterTheDiskWasFull) {
  const auto reader = visitor();
  const std::string before = contents();
  {
    const auto transaction = session_->begin();
    // The pragma is refused to handlers, so the limit is set behind the guard.
    sqlite3* const raw = connection(*transaction);
    sqlite3_set_authorizer(raw, nullptr, nullptr);
    ASSERT_EQ(sqlite3_exec(raw, "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(kind_thrown_by([&] {
                transaction->statements().execute(
                    "CREATE TABLE large AS SELECT zeroblob(100000) AS a", {});
              }),
              ErrorKind::unavailable);
  }
  EXPECT_EQ(contents(), before);
  session_.reset();
  session_ = store_->connect();
  EXPECT_EQ(balance(), 100);
  EXPECT_NE(contents(), before);
}

TEST_F(Disk, TheLogStaysSmall) {
  constexpr std::uintmax_t mebibyte = 1024UL * 1024;
  const auto fill = [&](const char* sql) {
    const auto transaction = session_->begin();
    transaction->statements().execute(sql, {});
    ASSERT_EQ(transaction->commit(), CommitResult::committed);
  };
  as_another_program("CREATE TABLE filling (a)");
  for (int batch = 0; batch < 12; ++batch) {
    fill("INSERT INTO filling SELECT zeroblob(2097152)");
    EXPECT_LT(fs::file_size(log()), 20 * mebibyte);
  }
  // What one large transaction has needed is given back.
  fill("INSERT INTO filling SELECT zeroblob(25165824)");
  EXPECT_GT(fs::file_size(log()), 20 * mebibyte);
  fill(credit);
  EXPECT_LE(fs::file_size(log()), 16 * mebibyte);
}

}  // namespace
}  // namespace onefold::sqlite
