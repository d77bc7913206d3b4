#include <algorithm>

#include "onefold/formats/state_digest.h"
#include "onefold/runtime/worker.h"

// What the rest of a run depends on, for the disorder lab: two workers with equal states do the
// same from here on. Left out are counts, pauses and texts for people; times of commits in doubt
// are compared with the database's, so that they are in.

namespace onefold {
namespace {

void add(StateDigest& digest, const std::map<Partition, Offset>& offsets) {
  digest.add(offsets.size());
  for (const auto& [partition, offset] : offsets) {
    digest.add(partition.incarnation);
    digest.add(partition.name);
    digest.add(offset.high);
    digest.add(offset.low);
  }
}

void add(StateDigest& digest, const Item& item) {
  const auto number = [](const std::optional<Outcome>& outcome) {
    return outcome ? static_cast<std::uint64_t>(*outcome) + 1 : 0;
  };
  digest.add(item.delivery->receipt);
  digest.add(number(item.verdict) * 16 + number(item.outcome));
  digest.add((item.committed ? 1U : 0U) + (item.conflicting != nullptr ? 2U : 0U) +
             (item.held ? 4U : 0U) + (item.gone ? 8U : 0U));
  digest.add(static_cast<std::uint64_t>(item.reason));
  if (const Waiting* waiting = item.waiting()) {
    digest.add(static_cast<std::uint64_t>(waiting->id));
    digest.add(static_cast<std::uint64_t>(waiting->turn));
    digest.add(waiting->reason);
  }
  digest.add(item.result);
  digest.add(static_cast<std::uint64_t>(item.attempts));
  digest.add(item.errors.size());
  if (!item.in_doubt) return;
  digest.add(number(item.in_doubt->outcome));
  digest.add(static_cast<std::uint64_t>(item.in_doubt->recorded_at.time_since_epoch().count()));
}

}  // namespace

Worker::State Worker::state() const {
  StateDigest digest;
  digest.add(static_cast<std::uint64_t>(step_));
  digest.add(static_cast<std::uint64_t>(plan_));
  digest.add(unit_max_);
  digest.add((source_ ? 1U : 0U) + (transaction_ ? 2U : 0U) + (touched_ ? 4U : 0U) +
             (connection_.generation() == generation_ ? 8U : 0U) +
             (identifier_.knows_scopes() ? 16U : 0U));
  add(digest, expected_);
  State state;
  if (!at_rest()) {
    for (const std::size_t number : {unit_first_, unit_.items().size(), item_, handler_}) {
      digest.add(number);
    }
    add(digest, in_doubt_);
    for (const std::string& front : fronts_) digest.add(front);
    for (const Item& item : items_) {
      add(digest, item);
      state.in_doubt = state.in_doubt || item.in_doubt.has_value();
    }
  }
  state.digest = digest.value();
  return state;
}

bool Worker::is_alone() const {
  if (step_ == Step::identify || step_ == Step::begin) {
    return connection_.generation() == generation_ && identifier_.knows_scopes();
  }
  return step_ == Step::handle &&
         std::ranges::all_of(unit_.items(), [](const Item& item) { return !!item.outcome; });
}

}  // namespace onefold
