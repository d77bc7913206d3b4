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

bool is_running_range(const ReplayRecord& replay) {
  return replay.is_of_range() && replay.state == ReplayState::running;
}

/// A person has mended why it had paused: nothing of it stays behind, and the ramp would not let it
/// go on otherwise.
///
/// Events of a range that failed are dead letters now, and no part of it any more.
void go_on_after_failures(StoredReplay& stored) {
  if (stored.replay.is_of_range()) {
    stored.passed = stored.replay.accepted = stored.replay.failed;
    return;
  }
  stored.replay.due -= stored.replay.failed;
  stored.replay.failed = 0;
  stored.passed = 0;
}

std::string offset_text(const Offset& offset) {
  return (offset.high == 0 ? "" : std::to_string(offset.high) + ":") + std::to_string(offset.low);
}

std::string selection_in_words(const ReplayRecord& replay, const DeferredFilter& filter) {
  if (!replay.is_of_range()) {
    return "filter: " + words_of_filter(filter) + "\nevents: " + std::to_string(replay.selected) +
           "\nup to: " + std::to_string(replay.up_to) + "\n";
  }
  std::string text =
      "source: " + replay.range.source + "\nfrom: " + std::to_string(replay.range.from) + "\n";
  for (const RangeEnd& end : replay.range.ends) text += "up to: " + offset_text(end.end) + "\n";
  return text;
}

bool is_same_range(const SourceRange& one, const SourceRange& other) {
  return std::tie(one.source, one.from, one.to) == std::tie(other.source, other.from, other.to);
}

class ReplaysOver final : public Replays {
 public:
  explicit ReplaysOver(std::unique_ptr<ReplayRows> rows) : rows_{std::move(rows)} {}

  ReplayPreview preview(const DeferredFilter& filter) override;
  SourceRange preview(std::string_view consumer, SourceRange wanted) override;
  StartedReplay start(const ReplayRequest& request) override;
  std::vector<ReplayRecord> list(std::string_view id) override;
  std::optional<ReplayRecord> change(std::string_view id, ReplayState state,
                                     const Decision& decision) override;
  std::int64_t advance(ConsumerId consumer) override;
  void finish_range(std::string_view id, const std::string& note) override;

 private:
  void select(StoredReplay& stored);
  SourceRange with_ends(std::string_view consumer, SourceRange range);
  ReplayRecord take_back(std::string_view id);
  std::int64_t advance_one(StoredReplay stored);
  void forget_positions(const StoredReplay& stored);

  std::unique_ptr<ReplayRows> rows_;
};

ReplayPreview ReplaysOver::preview(const DeferredFilter& filter) {
  ReplayPreview preview;
  rows_->transact({}, [&] { preview = rows_->preview(filter); });
  return preview;
}

SourceRange ReplaysOver::preview(std::string_view consumer, SourceRange wanted) {
  SourceRange range;
  rows_->transact(consumer, [&] { range = with_ends(consumer, std::move(wanted)); });
  return range;
}

SourceRange ReplaysOver::with_ends(std::string_view consumer, SourceRange range) {
  range.ends.clear();
  for (const Position& passed : rows_->positions(consumer, range.source)) {
    Offset end = passed.next;
    if (range.to) end = std::min(end, Offset{0, *range.to});
    range.ends.push_back({passed.partition->incarnation, passed.partition->name, end});
  }
  return range;
}

/// What a new replay consists of: it is pinned here, and never grows.
void ReplaysOver::select(StoredReplay& stored) {
  ReplayRecord& replay = stored.replay;
  if (replay.is_of_range()) {
    replay.range = with_ends(replay.consumer, std::move(replay.range));
    return;
  }
  const ReplayPreview preview = rows_->preview(replay.filter);
  replay.up_to = preview.up_to;
  replay.selected = preview.selected;
}

/// Under the lock of the consumer, so that asking twice at the same time is asking once as well.
StartedReplay ReplaysOver::start(const ReplayRequest& request) {
  StartedReplay started;
  rows_->transact(request.consumer, [&] {
    StoredReplay stored;
    ReplayRecord& replay = stored.replay;
    replay.filter = request.filter;
    replay.filter.consumer = request.consumer;
    replay.range = request.range;
    for (StoredReplay& open : rows_->list({.consumer = request.consumer, .open = true})) {
      if (!is_same_filter(open.replay.filter, replay.filter)) continue;
      if (!is_same_range(open.replay.range, replay.range)) continue;
      started = {std::move(open.replay), false};
      return;
    }
    replay.id = request.id;
    replay.consumer = request.consumer;
    select(stored);
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
                        "replay: " + replay.id + "\n" + selection_in_words(replay, request.filter),
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
    if (state == ReplayState::running && !stored.replay.note.empty()) go_on_after_failures(stored);
    stored.replay.state = state;
    if (state != ReplayState::paused) stored.replay.note.clear();
    rows_->put(stored, false);
    if (state == ReplayState::cancelled) forget_positions(stored);
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

void ReplaysOver::forget_positions(const StoredReplay& stored) {
  const bool kept = !stored.replay.is_of_range() || is_open(stored.replay);
  if (!kept) rows_->forget_positions(stored.replay);
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
  if (replay.is_of_range()) return 0;  // Its events come from their source.
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

void ReplaysOver::finish_range(std::string_view id, const std::string& note) {
  rows_->transact({}, [&] {
    const auto known = rows_->list({.id = id});
    if (known.empty() || !is_running_range(known.front().replay)) return;
    StoredReplay stored = rows_->list({.id = id, .locked = true}).front();
    ReplayRecord& replay = stored.replay;
    if (!is_running_range(replay)) return;
    // What failed last may be known to nobody yet.
    const std::string objection = replay_objection(replay);
    replay.note = note.empty() ? objection : note;
    replay.state = replay.note.empty() ? ReplayState::done : ReplayState::paused;
    rows_->put(stored, false);
    forget_positions(stored);
  });
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
