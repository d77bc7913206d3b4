#include "onefold/records.h"

#include <algorithm>

#include "onefold/replays.h"

namespace onefold {

bool is_of_replay(const Position& position) noexcept {
  return is_replay_position_source(position.partition->source);
}

std::vector<ScopeRecord> scopes_for(const InboxFilter& filter, std::vector<ScopeRecord> all) {
  std::erase_if(all, [&](const ScopeRecord& each) {
    return (!filter.consumer.empty() && each.consumer != filter.consumer) ||
           (filter.scope && each.scope != *filter.scope) ||
           (filter.after && each.scope < filter.after->scope);
  });
  std::ranges::sort(all, {}, &ScopeRecord::scope);
  return all;
}

}  // namespace onefold
