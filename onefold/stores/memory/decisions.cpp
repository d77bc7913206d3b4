#include <algorithm>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

bool is_conflict(const DeferredRecord& row) {
  return row.reason == to_string(DeferralReason::conflict);
}

DeferredId id_of(const DeferredRecord& row) {
  DeferredId id{row.key, {}};
  if (is_conflict(row)) id.conflicting = row.fingerprint;
  return id;
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
    const auto found = std::ranges::find_if(
        tables().deferred, [&](const auto& entry) { return entry.second->id == id; });
    if (found == tables().deferred.end()) return DiscardAnswer::gone;
    take(&Tables::deferred, found->first);
    const DeferredRecord row = *found->second;
    if (!is_conflict(row)) {
      finish_claim(row.key, id);
      for (const Key& key : row.further_keys) finish_claim(key, id);
    }
    tables().deferred.erase(found);
    database_->add_audit(decision.who, "discard", audit_detail(row, decision));
    return DiscardAnswer::discarded;
  }

  void finish_claim(const Key& key, std::int64_t id) {
    take(&Tables::inbox, key);
    const auto claim = tables().inbox.find(key);
    if (claim == tables().inbox.end() || !claim->second->waiting) {
      throw Error{ErrorKind::bad_configuration,
                  "Number " + std::to_string(id) + " has no waiting claim in the inbox."};
    }
    InboxRecord final = *claim->second;
    final.waiting = false;
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
    for (InboxRecord claim : row.claims) {
      claim.waiting = true;
      tables().inbox.emplace(claim.key, std::make_shared<const InboxRecord>(claim));
    }
    DeferredRecord kept = row.deferred;
    kept.id = ++committed().last_deferred_id;
    tables().deferred.emplace(id_of(kept), std::make_shared<const DeferredRecord>(kept));
    database_->add_audit(decision.who, "import", audit_detail(row.deferred, decision));
    return ImportAnswer::imported;
  }

  std::shared_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Decisions> take_decisions(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryDecisions>(std::move(database));
}

}  // namespace onefold::memory
