#include "onefold/runtime/range_workers.h"

#include <algorithm>
#include <utility>

#include "onefold/runtime/range_source.h"
#include "onefold/runtime/rules.h"

namespace onefold {

/// The parts refer to each other, and stay where they are.
struct RangeWorkers::Driven {
  Driven(std::string of, Subscription the_subscription, std::shared_ptr<bool> at_its_end,
         const Careful::Surroundings& around)
      : id{std::move(of)},
        subscription{std::move(the_subscription)},
        ended{std::move(at_its_end)},
        careful{subscription, around},
        worker{subscription,
               around.connection,
               around.clock,
               {.notify = around.notify, .number = 0, .careful = &careful}} {}

  std::string id;
  Subscription subscription;
  std::shared_ptr<bool> ended;  ///< All of the range has been handed out.
  Careful careful;
  Worker worker;
};

RangeWorkers::RangeWorkers(ReplayDriver& driver) : driver_{driver} {}
RangeWorkers::~RangeWorkers() = default;

void RangeWorkers::step(const std::function<void(Worker&)>& finish,
                        const Careful::Surroundings& around) {
  for (const auto& driven : driven_) {
    finish(driven->worker);
    if (*driven->ended && driven->worker.at_rest()) driver_.finish(driven->id, {});
  }
  remove_ended();
  for (const ReplayRecord& replay : driver_.ranges()) {
    const bool known =
        std::ranges::any_of(driven_, [&](const auto& driven) { return driven->id == replay.id; });
    if (!known && replay.state == ReplayState::running) begin(replay, around);
  }
}

void RangeWorkers::remove_ended() {
  std::erase_if(driven_, [this](const auto& driven) {
    const auto& open = driver_.ranges();
    if (std::ranges::find(open, driven->id, &ReplayRecord::id) != open.end()) return false;
    ended_ += driven->worker.totals();
    driven->careful.end();
    return true;
  });
}

void RangeWorkers::begin(const ReplayRecord& replay, const Careful::Surroundings& around) {
  const auto found = served_.find(replay.consumer);
  if (found == served_.end()) return;
  const ServedConsumer& served = found->second;
  const auto source = std::ranges::find(served.sources, replay.range.source, &SourceFactory::name);
  if (source == served.sources.end() || source->traits.kind != SourceClass::owned_log) {
    driver_.finish(replay.id, "the consumer reads no source '" + replay.range.source +
                                  "' that can be read again; put it back, or cancel the replay");
    return;
  }
  auto ended = std::make_shared<bool>(false);
  const ReplayLookup lookup = [this, id = replay.id] { return driver_.look(id); };
  Subscription subscription{
      .consumer = served.consumer,
      .id = served.id,
      .source = range_source(*source, replay.range, lookup, around.clock, ended),
      .mode = ClaimMode::claim_first,
      .id_prefixes = id_prefixes_of(served.sources),
      .replay = std::make_shared<const ReplayRecord>(replay)};
  driven_.push_back(
      std::make_unique<Driven>(replay.id, std::move(subscription), std::move(ended), around));
}

Totals RangeWorkers::totals() const {
  Totals totals = ended_;
  for (const auto& driven : driven_) totals += driven->worker.totals();
  return totals;
}

void RangeWorkers::end() noexcept {
  for (const auto& driven : driven_) driven->careful.end();
}

}  // namespace onefold
