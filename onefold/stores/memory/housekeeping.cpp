#include <algorithm>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

const char* to_text(ClaimMode mode) {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

class MemoryHousekeeping final : public Housekeeping {
 public:
  explicit MemoryHousekeeping(std::shared_ptr<Database> database)
      : database_{std::move(database)} {}

  std::vector<Migration> migrate() override {
    const bool now = !committed().migrated;
    committed().migrated = true;
    return {{1, "model", now}};
  }

  void check_schema() override {
    if (!committed().migrated) {
      throw Error{ErrorKind::bad_configuration,
                  "The database has no tables of ours yet. Migrate it first."};
    }
  }

  ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) override {
    for (auto& [id, known] : committed().consumers) {
      if (known.name != rules.name) continue;
      const int holder = database_->holder_of(&Tables::touches, id, 0);
      if (holder != 0) database_->wait_for(holder, 0);
      MergedRules merged = merge_rules(known.rules, rules.rules);
      if (!merged.changes.empty()) accept(rules.name, merged.changes, change);
      known.rules = std::move(merged.rules);
      known.mode = rules.mode;
      return id;
    }
    const auto id = static_cast<ConsumerId>(committed().consumers.size() + 1);
    committed().consumers.emplace(
        id, ConsumerRules{rules.name, merge_rules({}, rules.rules).rules, rules.mode});
    return id;
  }

  std::vector<ConsumerStatus> status() override {
    std::vector<ConsumerStatus> all;
    for (const auto& [id, rules] : committed().consumers) all.push_back(status_of(id, rules));
    std::sort(all.begin(), all.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return all;
  }

  std::vector<ScopeRecord> scopes() override {
    std::vector<ScopeRecord> all;
    for (const auto& [id, row] : committed().scopes) {
      all.push_back({row.number, committed().consumers.at(id.consumer).name, id.handler,
                     id.source_or_rule, id.key_form});
    }
    std::sort(all.begin(), all.end(),
              [](const auto& left, const auto& right) { return left.scope < right.scope; });
    return all;
  }

  std::optional<InboxRecord> evidence(const Key& key) override {
    const auto found = committed().tables.inbox.find(key);
    if (found == committed().tables.inbox.end()) return std::nullopt;
    return found->second;
  }

  std::vector<DeferredRecord> deferred(const DeferredFilter& filter) override {
    std::vector<DeferredRecord> found;
    for (const auto& [identity, row] : committed().tables.deferred) {
      if (row.id <= filter.after || (filter.id && row.id != *filter.id) ||
          (filter.key && row.key != *filter.key) ||
          (!filter.consumer.empty() && row.consumer != filter.consumer) ||
          (!filter.reason.empty() && row.reason != filter.reason)) {
        continue;
      }
      found.push_back(row);
      if (!filter.with_raw) found.back().raw.clear();
    }
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return left.id < right.id; });
    if (found.size() > filter.limit) found.resize(filter.limit);
    return found;
  }

 private:
  Committed& committed() { return database_->committed; }

  void accept(const std::string& consumer, const std::string& changes,
              const std::optional<RuleChange>& change) {
    if (!change) {
      throw Error{ErrorKind::bad_configuration,
                  "The key rules of consumer \"" + consumer +
                      "\" differ from those its evidence was written with. Restore them, or accept "
                      "the change with a reason.\n" +
                      changes};
    }
    committed().audit.push_back(change->who + ": changed the rules of " + consumer + ": " +
                                change->reason);
  }

  ConsumerStatus status_of(ConsumerId id, const ConsumerRules& rules) {
    ConsumerStatus status{.name = rules.name,
                          .rules = rules.rules,
                          .mode = to_text(rules.mode),
                          .inbox = {},
                          .deferred = {},
                          .positions = {},
                          .last_recorded_at = {}};
    std::map<std::string, std::int64_t> outcomes;
    std::map<std::string, std::int64_t> reasons;
    const Tables& tables = committed().tables;
    for (const auto& [key, row] : tables.inbox) {
      if (consumer_of(key.scope) != id) continue;
      ++outcomes[to_string(row.outcome)];
      status.last_recorded_at = std::max(status.last_recorded_at, std::optional{row.recorded_at});
    }
    for (const auto& [identity, row] : tables.deferred) {
      if (row.consumer == rules.name) ++reasons[row.reason];
    }
    for (const auto& [position, row] : tables.positions) {
      if (position.consumer != id) continue;
      status.positions.push_back(
          {std::make_shared<const Partition>(position.partition), row.next, row.next, row.mark});
    }
    status.inbox.assign(outcomes.begin(), outcomes.end());
    status.deferred.assign(reasons.begin(), reasons.end());
    return status;
  }

  ConsumerId consumer_of(std::int32_t scope) {
    for (const auto& [id, row] : committed().scopes) {
      if (row.number == scope) return id.consumer;
    }
    return 0;
  }

  std::shared_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Housekeeping> keep_house(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryHousekeeping>(std::move(database));
}

}  // namespace onefold::memory
