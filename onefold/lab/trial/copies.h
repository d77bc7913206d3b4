#pragma once

#include <cstdint>
#include <string>

namespace onefold::lab {

/// A copy of a database in a folder of its own, in memory where the system allows it. Each schedule
/// starts from it without copying again: nobody checkpoints, so that everything which a schedule
/// changes stands in the log, and cutting the log is going back.
class Copies {
 public:
  /// Copies the database at `original`, which is only read. Throws `Error`.
  explicit Copies(const std::string& original);
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// What was changed so far belongs to the start. No connection may be open, here and below.
  void settle();
  void reset();
  /// Where the log ends. Connections may be open.
  std::uint64_t log_bytes() const;
  /// Back to where it ended then.
  void cut_log(std::uint64_t bytes);

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace onefold::lab
