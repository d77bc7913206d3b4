#include <algorithm>
#include <utility>

#include "onefold/replay_rows.h"
#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

/// Short transactions on what is committed: a row that an open one holds is waited for. A second
/// has always passed.
class MemoryReplayRows final : public ReplayRows {
 public:
  explicit MemoryReplayRows(std::shared_ptr<Database> database) : database_{std::move(database)} {}

  void transact(std::string_view consumer, const std::function<void()>& work) override {
    const bool known = std::ranges::any_of(
        committed().consumers, [&](const auto& entry) { return entry.second.name == consumer; });
    if (!consumer.empty() && !known) {
      throw Error{ErrorKind::bad_configuration,
                  "The database knows no consumer \"" + std::string{consumer} + "\"."};
    }
    Committed before = committed();
    try {
      work();
      ++database_->versions;
    } catch (...) {
      committed() = std::move(before);
      throw;
    }
  }

  ReplayPreview preview(const DeferredFilter& filter) override {
    ReplayPreview preview;
    for (const auto& [id, row] : tables().deferred) {
      if (!can_be_replayed(*row) || !fits(filter, *row)) continue;
      ++preview.selected;
      preview.up_to = std::max(preview.up_to, row->id);
    }
    return preview;
  }

  std::vector<StoredReplay> list(const ReplayQuery& query) override {
    std::vector<StoredReplay> found;
    for (const auto& [id, row] : tables().replays) {
      const bool open = row->state == ReplayState::running || row->state == ReplayState::paused;
      if ((!query.id.empty() && id != query.id) || (query.open && !open) ||
          (!query.consumer.empty() && row->consumer != query.consumer) ||
          (query.consumer_id != 0 && row->consumer != name_of(query.consumer_id))) {
        continue;
      }
      if (query.locked) wait_for(&Tables::replays, id);
      found.push_back({*row, committed().replays_passed[id], std::chrono::seconds{1}});
      ReplayRecord& replay = found.back().replay;
      if (replay.is_of_range()) replay.accepted = found.back().passed;
    }
    std::ranges::reverse(found);  // Ids are in the order of their times.
    return found;
  }

  void put(const StoredReplay& stored, bool /*is_new*/) override {
    ReplayRecord row = stored.replay;
    if (row.state == ReplayState::done || row.state == ReplayState::cancelled) {
      row.ended_at = Timestamp{};
    }
    committed().replays_passed[row.id] = stored.passed;
    tables().replays.insert_or_assign(row.id, std::make_shared<const ReplayRecord>(row));
  }

  std::int64_t make_due(StoredReplay& stored, std::int64_t limit) override {
    std::vector<DeferredRow> next;
    for (const auto& [id, row] : tables().deferred) {
      const bool turn = row->id > stored.passed && row->id <= stored.replay.up_to;
      if (turn && can_be_replayed(*row) && fits(stored.replay.filter, *row)) next.push_back(row);
    }
    std::ranges::sort(next, {}, [](const DeferredRow& row) { return row->id; });
    if (std::ssize(next) > limit) next.resize(static_cast<std::size_t>(limit));
    for (const DeferredRow& row : next) {
      DeferredRecord due = *row;
      due.due_at = Timestamp{};
      due.attempts = 0;
      due.replay = stored.replay.id;
      replace(due);
      stored.passed = due.id;
    }
    return std::ssize(next);
  }

  std::int64_t take_back(std::string_view id) override {
    std::vector<DeferredRow> due;
    for (const auto& [place, row] : tables().deferred) {
      if (row->replay == id && waits_for_a_person(*row)) due.push_back(row);
    }
    for (const DeferredRow& row : due) {
      DeferredRecord again = *row;
      again.due_at.reset();
      again.replay.clear();
      replace(again);
    }
    return std::ssize(due);
  }

  std::vector<Position> positions(std::string_view consumer, std::string_view source) override {
    std::vector<Position> found;
    for (const auto& [id, row] : tables().positions) {
      if (name_of(id.consumer) != consumer || id.partition.source != source) continue;
      found.push_back(
          {std::make_shared<const Partition>(id.partition), row.next, row.next, row.mark});
    }
    return found;
  }

  void forget_positions(const ReplayRecord& replay) override {
    const std::string source = replay_position_source(replay.id);
    std::erase_if(tables().positions,
                  [&](const auto& entry) { return entry.first.partition.source == source; });
    std::erase_if(committed().careful,
                  [&](const auto& entry) { return entry.first.second == source; });
    std::erase_if(committed().runs,
                  [&](const auto& entry) { return entry.second.start.source == source; });
  }

  void audit(const std::string& who, const char* action, const std::string& detail) override {
    database_->add_audit(who, action, detail);
  }

 private:
  Committed& committed() { return database_->committed; }
  Tables& tables() { return committed().tables; }
  std::string name_of(ConsumerId id) {
    const auto found = committed().consumers.find(id);
    return found == committed().consumers.end() ? "" : found->second.name;
  }
  static bool can_be_replayed(const DeferredRecord& row) {
    return !row.due_at && waits_for_a_person(row);
  }
  template <class Table>
  void wait_for(Table Tables::* table, const typename Table::key_type& id) {
    while (const int holder = database_->holder_of(table, id, 0)) database_->wait_for(holder, 0);
  }
  void replace(const DeferredRecord& row) {
    wait_for(&Tables::deferred, id_of(row));
    tables().deferred.insert_or_assign(id_of(row), std::make_shared<const DeferredRecord>(row));
  }

  std::shared_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Replays> keep_replays(std::shared_ptr<Database> database) {
  return replays_over(std::make_unique<MemoryReplayRows>(std::move(database)));
}

}  // namespace onefold::memory
