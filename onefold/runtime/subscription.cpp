#include "onefold/runtime/subscription.h"

#include <algorithm>
#include <utility>

namespace onefold {
namespace {

void rename_all(std::vector<Position>& positions, const std::string& source) {
  for (Position& position : positions) {
    Partition partition = *position.partition;
    partition.source = source;
    position.partition = std::make_shared<const Partition>(std::move(partition));
  }
}

}  // namespace

/// A replay has positions of its own. To the source they are its own ones, so that what it hands
/// out is what it was: a partition of which nothing is stored yet is read from its beginning, in
/// the incarnation that the consumer has passed.
std::vector<Position> committed_positions(Session& session, const Subscription& subscription) {
  std::vector<Position> stored = session.positions(subscription.id, subscription.log_name());
  if (!subscription.replay) return stored;
  rename_all(stored, subscription.source.name);
  for (const RangeEnd& end : subscription.replay->range.ends) {
    const Partition partition{subscription.source.name, end.incarnation, end.partition};
    const bool known = std::ranges::any_of(
        stored, [&](const Position& position) { return *position.partition == partition; });
    if (!known) stored.push_back({std::make_shared<const Partition>(partition), {}, {}});
  }
  return stored;
}

std::vector<Position> positions_to_store(std::vector<Position> reached,
                                         const Subscription& subscription) {
  if (subscription.replay) rename_all(reached, subscription.log_name());
  return reached;
}

}  // namespace onefold
