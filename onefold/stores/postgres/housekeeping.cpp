#include "onefold/stores/postgres/housekeeping.h"

#include <fmt/core.h>

#include "onefold/stores/postgres/decisions.h"
#include "onefold/stores/postgres/examination.h"
#include "onefold/stores/postgres/migrations.h"

namespace onefold::postgres {
namespace {

constexpr const char* name_of(ClaimMode mode) noexcept {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

class DatabaseHousekeeping final : public Housekeeping {
 public:
  explicit DatabaseHousekeeping(const Options& options) : options_{options}, connection_{options} {}

  std::vector<Migration> migrate() override { return postgres::migrate(connection_); }
  std::vector<Migration> pending() override { return postgres::pending(connection_); }
  void check_schema() override { postgres::check_schema(connection_); }
  ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) override;
  std::vector<Finding> examine(std::span<const std::string> statements) override {
    return postgres::examine(connection_, options_, statements);
  }
  std::string statement_defect(std::string_view sql) override {
    return postgres::statement_defect(connection_, sql);
  }

 private:
  Result find_consumer(const std::string& name);
  void audit_change(const std::string& consumer, const std::string& changes,
                    const std::optional<RuleChange>& change);

  Options options_;
  Connection connection_;
};

/// Locks the row until the end of the transaction.
Result DatabaseHousekeeping::find_consumer(const std::string& name) {
  Arguments arguments;
  arguments.text(name);
  return connection_.run("SELECT id, rules FROM onefold.consumer WHERE name = $1 FOR UPDATE",
                         std::move(arguments), "looking for a consumer");
}

void DatabaseHousekeeping::audit_change(const std::string& consumer, const std::string& changes,
                                        const std::optional<RuleChange>& change) {
  if (!change) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the key rules of consumer \"{}\" are not those of its evidence, so "
                            "events that come again could be applied twice, or look like "
                            "conflicts:\n{}Restore them, or accept the change with "
                            "--accept-key-change --reason (in C++: Runner::Options::rule_change)",
                            consumer, changes)};
  }
  const std::string detail = audit_detail(consumer, changes, *change);
  queue_audit(connection_, change->who, "accept-key-change", detail);
}

ConsumerId DatabaseHousekeeping::adopt(const ConsumerRules& rules,
                                       const std::optional<RuleChange>& change) {
  OwnTransaction transaction{connection_};
  Arguments fresh;
  fresh.text(rules.name).text(merge_rules({}, rules.rules).rules).text(name_of(rules.mode));
  Result found = find_consumer(rules.name);
  if (rows_in(found) == 0) {
    connection_.run(
        "INSERT INTO onefold.consumer (name, rules, mode) VALUES ($1, $2, $3) "
        "ON CONFLICT (name) DO NOTHING",
        std::move(fresh), "registering a consumer");
    found = find_consumer(rules.name);
  }
  if (rows_in(found) == 0) {
    throw Error{ErrorKind::contention, "PostgreSQL: a consumer was removed while it was adopted"};
  }
  const Row row{found.get(), 0};
  const MergedRules merged = merge_rules(row.text(1), rules.rules);
  if (!merged.changes.empty()) audit_change(rules.name, merged.changes, change);
  Arguments stored;
  stored.text(merged.rules).text(name_of(rules.mode)).integer32(row.integer32(0));
  connection_.run("UPDATE onefold.consumer SET rules = $1, mode = $2 WHERE id = $3",
                  std::move(stored), "storing the rules of a consumer");
  transaction.commit();
  return row.integer32(0);
}

}  // namespace

std::unique_ptr<Housekeeping> open_housekeeping(const Options& options) {
  return std::make_unique<DatabaseHousekeeping>(options);
}

}  // namespace onefold::postgres
