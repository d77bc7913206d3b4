#include "onefold/runtime/range_source.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace onefold {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

class RangeSource final : public Source {
 public:
  RangeSource(std::unique_ptr<Source> original, SourceRange range, ReplayLookup lookup,
              Clock& clock, std::shared_ptr<bool> ended)
      : original_{std::move(original)},
        range_{std::move(range)},
        lookup_{std::move(lookup)},
        clock_{clock},
        ended_{std::move(ended)},
        handed_out_at_{clock.ticks() - seconds{1}} {
    *ended_ = false;
  }

  std::vector<Delivery> receive(std::size_t limit, milliseconds patience) override;
  void acknowledge(std::span<const Settled> settled) override { original_->acknowledge(settled); }
  void release(std::span<const Delivery> deliveries, milliseconds delay) override {
    original_->release(deliveries, delay);
  }
  void reposition() override {
    *ended_ = false;
    original_->reposition();
  }
  bool at_end() const override { return *ended_ || stands_still_; }
  SourceTraits traits() const override { return original_->traits(); }

 private:
  std::size_t allowance();
  std::vector<Delivery> within(std::vector<Delivery> deliveries);
  bool is_behind(const Position& position) const;
  void spend(const ReplayRecord& replay, std::size_t count);

  std::unique_ptr<Source> original_;
  SourceRange range_;
  ReplayLookup lookup_;
  Clock& clock_;
  std::shared_ptr<bool> ended_;
  std::optional<ReplayRecord> replay_;  ///< As it stood at the last look.
  steady_clock::time_point handed_out_at_;
  bool stands_still_ = false;
};

std::vector<Delivery> RangeSource::receive(std::size_t limit, milliseconds /*patience*/) {
  if (limit == 0) return original_->receive(0, milliseconds{0});
  if (*ended_) return {};
  const std::size_t most = std::min(limit, allowance());
  while (most > 0 && !*ended_) {
    // What lies before the range is skipped, and is no part of what may be handed out.
    std::vector<Delivery> deliveries = original_->receive(most, milliseconds{0});
    if (deliveries.empty()) {
      *ended_ = original_->at_end();
      break;
    }
    deliveries = within(std::move(deliveries));
    if (deliveries.empty()) continue;
    spend(*replay_, deliveries.size());
    return deliveries;
  }
  return {};
}

/// How many deliveries may be handed out now. All that were before have been counted: a worker has
/// nothing in hand when it asks.
std::size_t RangeSource::allowance() {
  replay_ = lookup_();
  // A ramp that has failed pauses as soon as somebody looks.
  const bool runs = replay_ && replay_->state == ReplayState::running;
  stands_still_ = !runs;
  if (!runs || !replay_objection(*replay_).empty()) return 0;
  const auto elapsed = std::chrono::duration_cast<microseconds>(clock_.ticks() - handed_out_at_);
  return static_cast<std::size_t>(replay_allowance(*replay_, elapsed));
}

/// The first delivery behind an end is the end: what follows is the consumer's own way.
std::vector<Delivery> RangeSource::within(std::vector<Delivery> deliveries) {
  const auto behind = std::ranges::find_if(deliveries, [this](const Delivery& delivery) {
    return !delivery.position || is_behind(*delivery.position);
  });
  *ended_ = behind != deliveries.end();
  deliveries.erase(behind, deliveries.end());
  const Offset from{0, range_.from};
  std::erase_if(deliveries, [&](const Delivery& delivery) { return delivery.position->at < from; });
  return deliveries;
}

bool RangeSource::is_behind(const Position& position) const {
  const auto end = std::ranges::find_if(range_.ends, [&](const RangeEnd& one) {
    return one.incarnation == position.partition->incarnation &&
           one.partition == position.partition->name;
  });
  return end == range_.ends.end() || position.at >= end->end;
}

/// What is left of a second counts for the next ones, but a pause does not save up.
void RangeSource::spend(const ReplayRecord& replay, std::size_t count) {
  if (replay.rate == 0) return;
  const auto cost = microseconds{static_cast<std::int64_t>(count) * 1'000'000 / replay.rate};
  handed_out_at_ =
      std::max<steady_clock::time_point>(handed_out_at_, clock_.ticks() - seconds{1}) + cost;
}

}  // namespace

SourceFactory range_source(const SourceFactory& original, SourceRange range, ReplayLookup lookup,
                           Clock& clock, std::shared_ptr<bool> ended) {
  SourceFactory factory = original;
  factory.open = [open = original.open, range = std::move(range), lookup = std::move(lookup),
                  &clock, ended = std::move(ended)](SourceContext context) {
    return std::unique_ptr<Source>{
        std::make_unique<RangeSource>(open(std::move(context)), range, lookup, clock, ended)};
  };
  return factory;
}

}  // namespace onefold
