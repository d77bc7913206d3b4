#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace onefold::file {

/// The SHA-256 of bytes that are never in memory together.
class RunningDigest {
 public:
  RunningDigest();
  ~RunningDigest();
  RunningDigest(RunningDigest&&) noexcept;
  RunningDigest& operator=(RunningDigest&&) noexcept;

  void add(std::string_view bytes);
  /// In hexadecimal digits. The next `add` begins another text.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace onefold::file
