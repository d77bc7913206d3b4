#include "onefold/runtime/breaker.h"

#include <algorithm>

namespace onefold {

void Breaker::add(std::deque<Seen>& seen, std::span<const Item> items,
                  Timestamp recorded_at) const {
  const auto window = static_cast<std::size_t>(rule_.window);
  for (const Item& item : items) {
    const bool failed = item.is_set_aside() && item.reason != DeferralReason::behind;
    if (!failed && item.outcome != Outcome::applied) continue;
    const bool counts = failed && trips_breaker(item.failure);
    seen.push_back({counts ? std::optional{item.failure} : std::nullopt, recorded_at});
    if (seen.size() > window) seen.pop_front();
  }
}

std::optional<Breaker::Trip> Breaker::judge(std::span<const Item> items,
                                            Timestamp recorded_at) const {
  const bool any_failed = std::ranges::any_of(items, &Item::is_set_aside);
  if (rule_.window == 0 || !any_failed) return std::nullopt;
  std::deque<Seen> seen = seen_;
  add(seen, items, recorded_at);
  std::array<int, failure_class_count> failures{};
  for (const Seen& each : seen) {
    if (each.failure) ++failures.at(static_cast<std::size_t>(*each.failure));
  }
  const auto most = std::ranges::max_element(failures);
  if (*most <= rule_.failures) return std::nullopt;
  const auto failure = static_cast<FailureClass>(most - failures.begin());
  const auto first = std::ranges::find(seen, std::optional{failure}, &Seen::failure);
  return Trip{failure, *most, static_cast<int>(seen.size()), first->at};
}

void Breaker::note(std::span<const Item> items, Timestamp recorded_at) {
  if (rule_.window > 0) add(seen_, items, recorded_at);
}

}  // namespace onefold
