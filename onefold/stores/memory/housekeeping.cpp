#include <algorithm>
#include <array>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

class MemoryHousekeeping final : public Housekeeping {
 public:
  explicit MemoryHousekeeping(std::shared_ptr<Database> database)
      : database_{std::move(database)} {}

  std::vector<Migration> migrate() override {
    const bool now = !committed().migrated;
    committed().migrated = true;
    return {{1, "model", now}};
  }

  std::vector<Migration> pending() override {
    if (committed().migrated) return {};
    return {{.version = 1, .name = "model", .applied_now = false, .sql = {}}};
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
      while (const int holder = database_->holder_of(&Tables::touches, id, 0)) {
        database_->wait_for(holder, 0);
      }
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

  std::vector<Finding> examine(std::span<const std::string> /*statements*/) override {
    return {{Finding::Severity::warning, "durability", "nothing survives the end of the process"}};
  }

  std::string statement_defect(std::string_view sql) override {
    const std::array known{insert_cell, update_cell, select_cell};
    return std::ranges::find(known, sql) == known.end() ? "the model knows no such statement" : "";
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
    database_->add_audit(change->who, "accept-key-change",
                         audit_detail(consumer, changes, *change));
  }

  std::shared_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Housekeeping> keep_house(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryHousekeeping>(std::move(database));
}

}  // namespace onefold::memory
