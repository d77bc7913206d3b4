#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Transactions whose answer to COMMIT was lost, until a new session has asked what became of them.
class Doubts {
 public:
  /// `transaction` is its number in the server's words; one without a number cannot be asked about.
  void add(std::string transaction);
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  std::vector<std::string> transactions_;
};

/// Asks the server about them, outside of a transaction, and tells `notify` (if there is one) one
/// sentence for each. A second witness only: the claims decide, so no failure of the question is
/// thrown. If the connection is lost meanwhile, the next session asks again.
void tell_doubts(Connection& connection, Doubts& doubts,
                 const std::function<void(const std::string&)>& notify);

}  // namespace onefold::postgres
