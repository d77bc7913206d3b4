#include "onefold/replay_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace onefold {
namespace {

using std::chrono::microseconds;

auto parts_of(const DeferredFilter& filter) {
  return std::tie(filter.consumer, filter.reason, filter.event_id, filter.handler, filter.failure,
                  filter.event_type, filter.source, filter.since, filter.id);
}

bool is_open(const ReplayRecord& replay) {
  return replay.state == ReplayState::running || replay.state == ReplayState::paused;
}

/// A person has mended why it had paused: nothing of it stays behind, and the ramp would not let it
/// go on otherwise.
void try_failed_again(StoredReplay& stored) {
  stored.replay.due -= stored.replay.failed;
  stored.replay.failed = 0;
  stored.passed = 0;
}

class ReplaysOver final : public Replays {
 public:
  explicit ReplaysOver(std::unique_ptr<ReplayRows> rows) : rows_{std::move(rows)} {}

  ReplayPreview preview(const DeferredFilter& filter) override;
  StartedReplay start(const ReplayRequest& request) override;
  std::vector<ReplayRecord> list(std::string_view id) override;
  std::optional<ReplayRecord> change(std::string_view id, ReplayState state,
                                     const Decision& decision) override;
  std::int64_t advance(ConsumerId consumer) override;

 private:
  ReplayRecord take_back(std::string_view id);
  std::int64_t advance_one(StoredReplay stored);

  std::unique_ptr<ReplayRows> rows_;
};

ReplayPreview ReplaysOver::preview(const DeferredFilter& filter) {
  ReplayPreview preview;
  rows_->transact({}, [&] { preview = rows_->preview(filter); });
  return preview;
}

/// Under the lock of the consumer, so that asking twice at the same time is asking once as well.
StartedReplay ReplaysOver::start(const ReplayRequest& request) {
  StartedReplay started;
  rows_->transact(request.consumer, [&] {
    StoredReplay stored;
    ReplayRecord& replay = stored.replay;
    replay.filter = request.filter;
    replay.filter.consumer = request.consumer;
    for (StoredReplay& open : rows_->list({.consumer = request.consumer, .open = true})) {
      if (!is_same_filter(open.replay.filter, replay.filter)) continue;
      started = {std::move(open.replay), false};
      return;
    }
    const ReplayPreview preview = rows_->preview(replay.filter);
    replay.id = request.id;
    replay.consumer = request.consumer;
    replay.up_to = preview.up_to;
    replay.selected = preview.selected;
    replay.rate = request.rate;
    replay.ramp = request.ramp;
    replay.who = request.decision.who;
    replay.reason = request.decision.reason;
    // The first second's worth need not be waited for.
    stored.elapsed = std::chrono::seconds{1};
    rows_->put(stored, true);
    rows_->audit(
        request.decision.who, "replay start",
        audit_detail_of(request.consumer,
                        "replay: " + replay.id + "\nfilter: " + words_of_filter(request.filter) +
                            "\nevents: " + std::to_string(preview.selected) +
                            "\nup to: " + std::to_string(preview.up_to) + "\n",
                        request.decision));
    started = {rows_->list({.id = request.id}).front().replay, true};
  });
  return started;
}

std::vector<ReplayRecord> ReplaysOver::list(std::string_view id) {
  std::vector<ReplayRecord> replays;
  rows_->transact({}, [&] {
    for (StoredReplay& stored : rows_->list({.id = id}))
      replays.push_back(std::move(stored.replay));
  });
  return replays;
}

std::optional<ReplayRecord> ReplaysOver::change(std::string_view id, ReplayState state,
                                                const Decision& decision) {
  std::optional<ReplayRecord> changed;
  rows_->transact({}, [&] {
    const auto known = rows_->list({.id = id});
    if (known.empty()) return;
    changed = known.front().replay;
    if (!is_open(*changed)) return;
    StoredReplay stored = rows_->list({.id = id, .locked = true}).front();
    changed = stored.replay;
    if (!is_open(stored.replay)) return;
    if (state == ReplayState::running && !stored.replay.note.empty()) try_failed_again(stored);
    stored.replay.state = state;
    if (state != ReplayState::paused) stored.replay.note.clear();
    rows_->put(stored, false);
    rows_->audit(
        decision.who, audit_action(state),
        audit_detail_of(stored.replay.consumer, "replay: " + stored.replay.id + "\n", decision));
    changed = stored.replay;
  });
  if (changed && changed->state == ReplayState::cancelled) changed = take_back(id);
  return changed;
}

/// After nobody makes events of it due any more, and in a transaction of its own: its events are
/// locked before the replay itself, as whoever settles them does. If it is not reached, cancelling
/// again gets here.
ReplayRecord ReplaysOver::take_back(std::string_view id) {
  ReplayRecord cancelled;
  rows_->transact({}, [&] {
    const std::int64_t taken_back = rows_->take_back(id);
    StoredReplay stored = rows_->list({.id = id, .locked = taken_back > 0}).front();
    stored.replay.gone += taken_back;
    if (taken_back > 0) rows_->put(stored, false);
    cancelled = std::move(stored.replay);
  });
  return cancelled;
}

std::int64_t ReplaysOver::advance(ConsumerId consumer) {
  std::int64_t made_due = 0;
  rows_->transact({}, [&] {
    // Without the lock first: there is hardly ever one.
    if (rows_->list({.consumer_id = consumer, .open = true}).empty()) return;
    for (StoredReplay& stored :
         rows_->list({.consumer_id = consumer, .open = true, .locked = true})) {
      if (stored.replay.state == ReplayState::running) made_due += advance_one(std::move(stored));
    }
  });
  return made_due;
}

std::int64_t ReplaysOver::advance_one(StoredReplay stored) {
  ReplayRecord& replay = stored.replay;
  replay.note = replay_objection(replay);
  if (!replay.note.empty()) {
    replay.state = ReplayState::paused;
    rows_->put(stored, false);
    return 0;
  }
  const std::int64_t allowance = replay_allowance(replay, stored.elapsed);
  const std::int64_t made_due = allowance > 0 ? rows_->make_due(stored, allowance) : 0;
  if (allowance > 0 && made_due == 0 && replay.open() == 0) {
    replay.state = ReplayState::done;
    rows_->put(stored, false);
    return 0;
  }
  if (made_due == 0) return 0;
  replay.due += made_due;
  // What is left of a second counts for the next ones.
  const bool late = replay.rate == 0 || stored.elapsed > std::chrono::seconds{1};
  stored.elapsed =
      late ? microseconds{0} : stored.elapsed - microseconds{made_due * 1'000'000 / replay.rate};
  rows_->put(stored, false);
  return made_due;
}

}  // namespace

std::unique_ptr<Replays> replays_over(std::unique_ptr<ReplayRows> rows) {
  return std::make_unique<ReplaysOver>(std::move(rows));
}

std::string words_of_filter(const DeferredFilter& filter) {
  std::string words;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words += (words.empty() ? "" : ", ") + std::string{name} + "=" + value;
  };
  add("consumer", filter.consumer);
  add("kind", filter.reason);
  add("handler", filter.handler);
  add("class", filter.failure);
  add("type", filter.event_type);
  add("source", filter.source);
  add("event id", filter.event_id);
  if (filter.id) add("number", std::to_string(*filter.id));
  if (filter.since) {
    add("since (microseconds)", std::to_string(filter.since->time_since_epoch().count()));
  }
  return words.empty() ? "all" : words;
}

bool is_same_filter(const DeferredFilter& one, const DeferredFilter& other) {
  return parts_of(one) == parts_of(other);
}

}  // namespace onefold
