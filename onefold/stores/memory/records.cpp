#include <algorithm>
#include <tuple>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

const char* to_text(ClaimMode mode) {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

bool is_wanted(const InboxFilter& filter, const InboxRecord& row) {
  return (!filter.outcome || row.outcome == *filter.outcome) &&
         (filter.event_source.empty() || row.event_source == filter.event_source) &&
         (filter.event_type.empty() || row.event_type == filter.event_type) &&
         (filter.event_id.empty() || row.event_id == filter.event_id) &&
         (!filter.since || row.recorded_at >= *filter.since);
}

}  // namespace

bool fits(const DeferredFilter& filter, const DeferredRecord& row) {
  const auto says = [](const std::string& wanted, const std::string& text) {
    return wanted.empty() || wanted == text;
  };
  return (!filter.id || row.id == *filter.id) && (!filter.key || row.key == *filter.key) &&
         (!filter.up_to || row.id <= *filter.up_to) && says(filter.consumer, row.consumer) &&
         says(filter.reason, row.reason) && says(filter.event_id, row.event.id) &&
         says(filter.handler, row.handler) && says(filter.failure, row.failure) &&
         says(filter.event_type, row.event.type) && says(filter.source, row.source) &&
         (!filter.since || row.last_at >= *filter.since);
}

namespace {

class MemoryRecords final : public Records {
 public:
  explicit MemoryRecords(std::shared_ptr<Database> database) : database_{std::move(database)} {}

  std::vector<ConsumerRecord> consumers() override {
    std::vector<ConsumerRecord> all;
    for (const auto& [id, rules] : committed().consumers) {
      all.push_back({rules.name, rules.rules, to_text(rules.mode), id});
    }
    std::ranges::sort(all, {}, &ConsumerRecord::name);
    return all;
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
                     id.source_or_rule, id.key_form, !row.counts});
    }
    std::sort(all.begin(), all.end(),
              [](const auto& left, const auto& right) { return left.scope < right.scope; });
    return all;
  }

  std::optional<InboxRecord> evidence(const Key& key) override {
    const auto found = committed().tables.inbox.find(key);
    if (found == committed().tables.inbox.end()) return std::nullopt;
    return *found->second;
  }

  std::vector<DeferredRecord> deferred(const DeferredFilter& filter) override {
    std::vector<DeferredRecord> found;
    for (const auto& [identity, shared] : committed().tables.deferred) {
      const DeferredRecord& row = *shared;
      if (row.id <= filter.after || !fits(filter, row)) continue;
      found.push_back(row);
      if (filter.with_raw) continue;
      found.back().raw.clear();
      found.back().event.data.reset();
    }
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return left.id < right.id; });
    if (found.size() > filter.limit) found.resize(filter.limit);
    return found;
  }

  InboxPage inbox(const InboxFilter& filter) override {
    InboxPage page;
    scan(filter, page, [&](const InboxRecord& row, const ScopeRecord&) {
      page.records.push_back(row);
      return page.records.size() < filter.limit;
    });
    return page;
  }

  InboxCounts count(const InboxFilter& filter) override {
    InboxCounts answer;
    std::map<std::tuple<std::string, Outcome, bool, std::string>, std::int64_t> rows;
    scan(filter, answer, [&](const InboxRecord& row, const ScopeRecord& scope) {
      ++rows[{scope.consumer, row.outcome, row.waiting, row.handled_by}];
      return true;
    });
    for (const auto& [kind, count] : rows) {
      const auto& [consumer, outcome, waiting, handled_by] = kind;
      answer.counts.push_back({consumer, outcome, waiting, handled_by, count});
    }
    return answer;
  }

 private:
  Committed& committed() { return database_->committed; }

  /// Reads on from `filter.after`, and hands the rows that fit to `take`, which says whether it
  /// wants more.
  template <class Answer, class Take>
  void scan(const InboxFilter& filter, Answer& answer, Take take) {
    for (const ScopeRecord& scope : scopes_for(filter, scopes())) {
      Key first{scope.scope, {}};
      if (filter.after && first < *filter.after) first = *filter.after;
      const auto& inbox = committed().tables.inbox;
      for (auto row = inbox.lower_bound(first);
           row != inbox.end() && row->first.scope == scope.scope; ++row) {
        if (filter.after && row->first == *filter.after) continue;
        ++answer.rows_read;
        const bool wants_more = !is_wanted(filter, *row->second) || take(*row->second, scope);
        if (wants_more && answer.rows_read < filter.rows_read_max) continue;
        answer.next = row->first;
        return;
      }
    }
  }

  ConsumerStatus status_of(ConsumerId id, const ConsumerRules& rules) {
    ConsumerStatus status{.name = rules.name,
                          .rules = rules.rules,
                          .mode = to_text(rules.mode),
                          .inbox = {},
                          .deferred = {},
                          .positions = {},
                          .last_recorded_at = {},
                          .next_due_at = {}};
    std::map<std::string, std::int64_t> outcomes;
    std::map<std::string, std::int64_t> reasons;
    const Tables& tables = committed().tables;
    for (const auto& [key, row] : tables.inbox) {
      if (consumer_of(key.scope) != id) continue;
      ++outcomes[to_string(row->outcome)];
      status.last_recorded_at = std::max(status.last_recorded_at, std::optional{row->recorded_at});
    }
    for (const auto& [identity, row] : tables.deferred) {
      if (row->consumer != rules.name) continue;
      ++reasons[row->reason];
      if (row->due_at) status.next_due_at = row->due_at;
    }
    for (const auto& [position, row] : tables.positions) {
      if (position.consumer != id || is_replay_position_source(position.partition.source)) continue;
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

std::unique_ptr<Records> read_records(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryRecords>(std::move(database));
}

}  // namespace onefold::memory
