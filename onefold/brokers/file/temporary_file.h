#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace onefold::file {

/// For tests: a folder of its own that vanishes at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("onefold-file-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder&&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << text;
}
inline void append(const std::filesystem::path& path, std::string_view text) {
  std::ofstream{path, std::ios::binary | std::ios::app} << text;
}

}  // namespace onefold::file
