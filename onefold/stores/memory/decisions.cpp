#include <algorithm>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

bool is_conflict(const DeferredRecord& row) {
  return row.reason == to_string(DeferralReason::conflict);
}

/// Sees and changes what is committed, in one go, as a short transaction does: a row that an open
/// one holds is waited for.
class MemoryDecisions final : public Decisions {
 public:
  explicit MemoryDecisions(std::shared_ptr<Database> database) : database_{std::move(database)} {}

  std::vector<DiscardAnswer> discard(std::span<const std::int64_t> ids,
                                     const Decision& decision) override {
    return atomically(false, [&] {
      std::vector<DiscardAnswer> answers;
      for (const std::int64_t id : ids) answers.push_back(discard_one(id, decision));
      return answers;
    });
  }

  std::vector<ImportAnswer> import_deferred(std::span<const ImportedDeferral> rows,
                                            const Decision& decision, bool trial) override {
    return atomically(trial, [&] {
      std::vector<ImportAnswer> answers;
      for (const ImportedDeferral& row : rows) answers.push_back(import_one(row, decision));
      return answers;
    });
  }

  std::vector<ReplayAnswer> replay(std::span<const std::int64_t> ids,
                                   const Decision& decision) override {
    return atomically(false, [&] {
      std::vector<ReplayAnswer> answers;
      for (const std::int64_t id : ids) answers.push_back(replay_one(id, decision));
      return answers;
    });
  }

  bool edit(const EditedEvent& edited, const Decision& decision) override {
    return atomically(false, [&] {
      take(&Tables::inbox, edited.key);
      const DeferredRow* found = row_of(edited.of);
      if (found == nullptr || tables().inbox.contains(edited.key)) return false;
      const DeferredRecord original = **found;
      discard_row(original, edited_result(edited));
      database_->add_audit(decision.who, "edit", audit_detail(original, edited, decision));
      EditedRow row{original, edited};
      row.imported.deferred.id = ++committed().last_deferred_id;
      row.imported.deferred.due_at = Timestamp{};
      insert(row.imported);
      return true;
    });
  }

  bool resume(std::string_view consumer, const Decision& decision) override {
    const auto known = std::ranges::find_if(
        committed().consumers, [&](const auto& entry) { return entry.second.name == consumer; });
    if (known == committed().consumers.end()) {
      throw Error{ErrorKind::bad_configuration,
                  "The database knows no consumer \"" + std::string{consumer} + "\"."};
    }
    return atomically(false, [&] {
      take(&Tables::pauses, known->first);
      if (tables().pauses.erase(known->first) == 0) return false;
      database_->add_audit(decision.who, "resume",
                           audit_detail_of(std::string{consumer}, {}, decision));
      return true;
    });
  }

  std::vector<AuditRecord> audit(const AuditFilter& filter) override {
    const std::string line = filter.key ? audit_key_line(*filter.key) : std::string{};
    std::vector<AuditRecord> found;
    for (const AuditRecord& row : committed().audit) {
      if (found.size() == filter.limit) break;
      if (row.id > filter.after && row.detail.find(line) != std::string::npos) found.push_back(row);
    }
    return found;
  }

 private:
  Committed& committed() { return database_->committed; }
  Tables& tables() { return committed().tables; }

  /// All or nothing, and nothing if it is a trial.
  template <class Work>
  auto atomically(bool trial, Work work) -> decltype(work()) {
    Committed before = committed();
    try {
      auto answers = work();
      ++database_->versions;
      if (trial) committed() = std::move(before);
      return answers;
    } catch (...) {
      committed() = std::move(before);
      throw;
    }
  }

  template <class Table, class Id>
  void take(Table Tables::* table, const Id& id) {
    while (const int holder = database_->holder_of(table, id, 0)) database_->wait_for(holder, 0);
  }

  DiscardAnswer discard_one(std::int64_t id, const Decision& decision) {
    const DeferredRow* found = row_of(id);
    if (found == nullptr) return DiscardAnswer::gone;
    const DeferredRecord row = **found;
    discard_row(row, {});
    database_->add_audit(decision.who, "discard", audit_detail(row, decision));
    return DiscardAnswer::discarded;
  }

  /// Null: it is gone. Otherwise nobody else has it.
  const DeferredRow* row_of(std::int64_t id) {
    const auto found = std::ranges::find_if(
        tables().deferred, [&](const auto& entry) { return entry.second->id == id; });
    if (found == tables().deferred.end()) return nullptr;
    take(&Tables::deferred, found->first);
    return &found->second;
  }

  void discard_row(const DeferredRecord& row, const std::string& result) {
    if (!is_conflict(row)) {
      finish_claim(row.key, row.id, result);
      for (const Key& key : row.further_keys) finish_claim(key, row.id, result);
    }
    tables().deferred.erase(id_of(row));
    const auto replay = tables().replays.find(row.replay);
    if (replay == tables().replays.end()) return;
    take(&Tables::replays, row.replay);
    ReplayRecord counted = *replay->second;
    ++counted.gone;
    replay->second = std::make_shared<const ReplayRecord>(std::move(counted));
  }

  ReplayAnswer replay_one(std::int64_t id, const Decision& decision) {
    const DeferredRow* found = row_of(id);
    if (found == nullptr) return ReplayAnswer::gone;
    DeferredRecord row = **found;
    if (const auto answer = objection_to_replay(row)) return *answer;
    row.due_at = Timestamp{};
    row.attempts = 0;
    database_->add_audit(decision.who, "replay", audit_detail(row, decision));
    tables().deferred.insert_or_assign(id_of(row), std::make_shared<const DeferredRecord>(row));
    return ReplayAnswer::due;
  }

  void finish_claim(const Key& key, std::int64_t id, const std::string& result) {
    take(&Tables::inbox, key);
    const auto claim = tables().inbox.find(key);
    if (claim == tables().inbox.end() || !claim->second->waiting) {
      throw Error{ErrorKind::bad_configuration,
                  "Number " + std::to_string(id) + " has no waiting claim in the inbox."};
    }
    InboxRecord final = *claim->second;
    final.waiting = false;
    if (!result.empty()) final.result = result;
    claim->second = std::make_shared<const InboxRecord>(std::move(final));
  }

  ImportAnswer import_one(const ImportedDeferral& row, const Decision& decision) {
    const auto& consumers = committed().consumers;
    const bool known_consumer = std::ranges::any_of(
        consumers, [&](const auto& entry) { return entry.second.name == row.deferred.consumer; });
    for (const InboxRecord& claim : row.claims) {
      take(&Tables::inbox, claim.key);
      if (tables().inbox.contains(claim.key)) return ImportAnswer::known;
    }
    take(&Tables::deferred, id_of(row.deferred));
    if (tables().deferred.contains(id_of(row.deferred))) return ImportAnswer::known;
    if (!known_consumer) {
      throw Error{ErrorKind::bad_configuration,
                  "The database knows no consumer \"" + row.deferred.consumer + "\"."};
    }
    ImportedDeferral kept = row;
    kept.deferred.id = ++committed().last_deferred_id;
    kept.deferred.turn = 0;
    kept.deferred.replay.clear();
    insert(kept);
    database_->add_audit(decision.who, "import", audit_detail(row.deferred, decision));
    return ImportAnswer::imported;
  }

  void insert(const ImportedDeferral& row) {
    for (InboxRecord claim : row.claims) {
      claim.waiting = true;
      tables().inbox.emplace(claim.key, std::make_shared<const InboxRecord>(claim));
    }
    tables().deferred.emplace(id_of(row.deferred),
                              std::make_shared<const DeferredRecord>(row.deferred));
  }

  std::shared_ptr<Database> database_;
};

}  // namespace

bool waits_for_a_person(const DeferredRecord& row) {
  return row.reason == to_string(DeferralReason::dead) ||
         row.reason == to_string(DeferralReason::quarantine);
}

DeferredId id_of(const DeferredRecord& row) {
  DeferredId id{row.key, {}};
  if (is_conflict(row)) id.conflicting = row.fingerprint;
  return id;
}

std::unique_ptr<Decisions> take_decisions(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryDecisions>(std::move(database));
}

}  // namespace onefold::memory
