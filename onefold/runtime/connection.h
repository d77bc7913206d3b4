#pragma once

#include <cstdint>
#include <memory>

#include "onefold/store.h"

namespace onefold {

/// The session that the workers of a thread share, opened when it is needed and again after it was
/// dropped.
class Connection {
 public:
  explicit Connection(Store& store) : store_{store} {}

  /// Opens a session if there is none. Throws `Error` if that fails.
  Session& session() {
    if (!session_) {
      session_ = store_.connect();
      ++generation_;
    }
    return *session_;
  }
  /// The session cannot be trusted: close it. No transaction of it may be alive.
  void drop() noexcept { session_.reset(); }
  /// Grows with each session: whoever remembers something of an earlier one must forget it.
  std::uint64_t generation() const noexcept { return generation_; }

 private:
  Store& store_;
  std::unique_ptr<Session> session_;
  std::uint64_t generation_ = 0;
};

}  // namespace onefold
