#pragma once

#include <string>

namespace onefold::sqlite {

/// The lock that makes the runner of a database the only one: an exclusive `flock` on
/// "<path>.onefold-lock", which holds the owner's process id for people to read. The kernel lets go
/// of it when the process ends, however it ends. The file stays: removing it would be a race.
class RunnerLock {
 public:
  /// Throws `bad_configuration` if another runner has the database.
  explicit RunnerLock(const std::string& database_path);
  ~RunnerLock();
  RunnerLock(const RunnerLock&) = delete;
  RunnerLock& operator=(const RunnerLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace onefold::sqlite
