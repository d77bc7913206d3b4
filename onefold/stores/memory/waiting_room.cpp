#include <algorithm>
#include <utility>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

bool is(const DeferredRecord& row, DeferralReason reason) {
  return row.reason == to_string(reason);
}

class MemoryWaitingRoom final : public WaitingRoom {
 public:
  explicit MemoryWaitingRoom(Access access) : rows_{std::move(access)} {}

  std::vector<Claim> take(std::span<const Waiting* const> events) override {
    return rows_.atomically([&] {
      std::vector<Claim> claims;
      for (const Waiting* event : events) claims.push_back(take_one(*event));
      return claims;
    });
  }

  void leave(std::span<const std::int64_t> ids) override {
    rows_.atomically([&] {
      for (const std::int64_t id : ids) leave_one(id);
    });
  }

  std::vector<bool> blocked(ConsumerId consumer, std::span<const Front> fronts) override {
    return rows_.atomically([&] {
      std::vector<bool> blocked;
      for (const Front& front : fronts) blocked.push_back(is_blocked(consumer, front));
      return blocked;
    });
  }

  void pause(const Pause& pause) override {
    rows_.atomically([&] {
      rows_.take(&Tables::pauses, pause.consumer);
      if (rows_.visible(&Tables::pauses, pause.consumer) == nullptr) {
        const PauseRecord row{.consumer = name_of(pause.consumer),
                              .who = pause.who,
                              .reason = pause.reason,
                              .since = {}};
        rows_.writes().put(&Tables::pauses, pause.consumer,
                           std::make_shared<const PauseRecord>(row));
      }
      if (pause.failing_since) revive(pause);
    });
  }

  void probed(ConsumerId consumer, bool worked, std::chrono::milliseconds /*next_in*/) override {
    rows_.atomically([&] {
      rows_.take(&Tables::pauses, consumer);
      const PauseRow* row = rows_.visible(&Tables::pauses, consumer);
      if (row == nullptr) return;
      PauseRecord changed = **row;
      ++changed.probes;
      rows_.writes().put(&Tables::pauses, consumer,
                         worked ? PauseRow{} : std::make_shared<const PauseRecord>(changed));
    });
  }

  void tally(std::span<const ReplayTally> tallies) override {
    rows_.atomically([&] {
      for (const ReplayTally& tally : tallies) {
        rows_.take(&Tables::replays, tally.replay);
        const ReplayRow* row = rows_.visible(&Tables::replays, tally.replay);
        if (row == nullptr) continue;
        ReplayRecord changed = **row;
        const bool open =
            changed.state == ReplayState::running || changed.state == ReplayState::paused;
        if (tally.received > 0 && !open) {
          throw Error{ErrorKind::contention, "the replay has ended meanwhile"};
        }
        changed.due += tally.received;
        changed.duplicate += tally.duplicate;
        changed.stale += tally.stale;
        changed.deferred += tally.deferred;
        changed.conflict += tally.conflict;
        changed.ignored += tally.ignored;
        changed.applied += tally.applied;
        changed.failed += tally.failed;
        rows_.writes().put(&Tables::replays, tally.replay,
                           std::make_shared<const ReplayRecord>(std::move(changed)));
      }
    });
  }

 private:
  std::string name_of(ConsumerId consumer) const {
    const auto found = rows_.committed().consumers.find(consumer);
    return found == rows_.committed().consumers.end() ? "" : found->second.name;
  }

  Claim take_one(const Waiting& event) {
    const DeferredId id{event.key, {}};
    rows_.take(&Tables::deferred, id);
    const DeferredRow* row = rows_.visible(&Tables::deferred, id);
    if (row == nullptr || (*row)->id != event.id || (*row)->turn != event.turn) {
      const InboxRow* inbox = rows_.visible(&Tables::inbox, event.key);
      if (inbox == nullptr) return {ClaimState::known, {}, {}};
      return {(*inbox)->waiting ? ClaimState::waiting : ClaimState::known, (*inbox)->fingerprint,
              (*inbox)->recorded_at};
    }
    DeferredRecord taken = **row;
    ++taken.turn;
    rows_.writes().put(&Tables::deferred, id,
                       std::make_shared<const DeferredRecord>(std::move(taken)));
    hold(event.key);
    for (const Key& key : event.further_keys) hold(key);
    return {};
  }

  void hold(const Key& key) {
    rows_.take(&Tables::inbox, key);
    const InboxRow* inbox = rows_.visible(&Tables::inbox, key);
    if (inbox == nullptr || !(*inbox)->waiting) {
      throw Error{ErrorKind::bad_configuration,
                  "An event that waits has no waiting claim in the inbox."};
    }
    rows_.writes().put(&Tables::inbox, key, *inbox);
  }

  void leave_one(std::int64_t id) {
    for (const auto& [place, row] : rows_.writes().rows().deferred) {
      if (!row || row->id != id) continue;
      const DeferredId gone = place;
      rows_.writes().put(&Tables::deferred, gone, DeferredRow{});
      return;
    }
    throw std::logic_error{"an event leaves the waiting room that was not taken"};
  }

  bool is_blocked(ConsumerId consumer, const Front& front) const {
    const std::string name = name_of(consumer);
    const auto in_front = [&](const DeferredId& id, const DeferredRow& committed) {
      const DeferredRow* own = rows_.written(&Tables::deferred, id);
      const DeferredRecord* row = own != nullptr ? own->get() : committed.get();
      if (row == nullptr || row->consumer != name || row->entity != front.entity) return false;
      // A row of this transaction has no number yet, and is behind all that have one.
      const bool before = !front.before || (row->id > 0 && row->id < *front.before);
      return is(*row, DeferralReason::retry) || (is(*row, DeferralReason::behind) && before);
    };
    const auto any_in = [&](const auto& table) {
      return std::ranges::any_of(
          table, [&](const auto& entry) { return in_front(entry.first, entry.second); });
    };
    return any_in(rows_.committed().tables.deferred) || any_in(rows_.writes().rows().deferred);
  }

  /// What is dead for the class waits for another try.
  void revive(const Pause& pause) {
    const std::string name = name_of(pause.consumer);
    std::vector<DeferredRow> dead;
    for (const auto& [id, row] : rows_.committed().tables.deferred) {
      if (row->consumer == name && is(*row, DeferralReason::dead) &&
          row->failure == to_string(pause.failure) && row->first_at >= *pause.failing_since) {
        dead.push_back(row);
      }
    }
    for (const DeferredRow& row : dead) {
      const DeferredId id = id_of(*row);
      rows_.take(&Tables::deferred, id);
      DeferredRecord changed = *row;
      changed.reason = to_string(DeferralReason::retry);
      changed.due_at = Timestamp{};
      changed.attempts = 0;
      ++changed.turn;
      rows_.writes().put(&Tables::deferred, id,
                         std::make_shared<const DeferredRecord>(std::move(changed)));
      wait_again(row->key);
      for (const Key& key : row->further_keys) wait_again(key);
    }
  }

  void wait_again(const Key& key) {
    hold(key);
    InboxRecord changed = **rows_.visible(&Tables::inbox, key);
    changed.outcome = Outcome::deferred;
    rows_.writes().put(&Tables::inbox, key,
                       std::make_shared<const InboxRecord>(std::move(changed)));
  }

  Access rows_;
};

}  // namespace

std::unique_ptr<WaitingRoom> open_waiting_room(Access access) {
  return std::make_unique<MemoryWaitingRoom>(std::move(access));
}

Due due_in(const Database& database, const DueQuery& query) {
  const Committed& committed = database.committed;
  const auto consumer = committed.consumers.find(query.consumer);
  if (consumer == committed.consumers.end()) return {};
  const auto& rows = committed.tables.deferred;
  const auto waits_behind = [&](const DeferredRecord& row) {
    return std::ranges::any_of(rows, [&](const auto& entry) {
      return entry.second->consumer == row.consumer && entry.second->entity == row.entity &&
             is(*entry.second, DeferralReason::retry);
    });
  };
  Due due;
  for (const auto& [id, row] : rows) {
    if (row->consumer != consumer->second.name) continue;
    const bool released = !query.probe && is(*row, DeferralReason::behind) && !waits_behind(*row);
    if ((row->due_at && database.has_come(*row->due_at)) || released) due.events.push_back(*row);
  }
  std::ranges::sort(due.events, [&](const DeferredRecord& left, const DeferredRecord& right) {
    return std::pair{query.probe ? left.last_at : Timestamp{}, left.id} <
           std::pair{query.probe ? right.last_at : Timestamp{}, right.id};
  });
  const std::size_t limit = query.probe ? 1 : query.limit;
  if (due.events.size() > limit) due.events.resize(limit);
  return due;
}

}  // namespace onefold::memory
