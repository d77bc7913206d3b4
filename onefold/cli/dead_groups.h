#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/list_output.h"
#include "onefold/records.h"

namespace onefold::cli {

/// Events that were set aside for the same trouble, one line for all of them: those of a consumer
/// whose failures have one handler, one class, and messages that differ only in what differs from
/// event to event (`shape_of`).
class DeadGroups {
 public:
  void add(const DeferredRecord& record);
  /// The largest first.
  std::vector<Json> rows() const;

  static const std::vector<ListColumn>& columns();

 private:
  struct Group {
    std::int64_t count = 0;
    Timestamp first_at;
    Timestamp last_at;
    std::int64_t example = 0;  ///< The newest: most probably still there.
  };
  /// Consumer, handler, class, message.
  using Name = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Name, Group> groups_;
};

}  // namespace onefold::cli
