#include "onefold/stores/mariadb/housekeeping.h"

#include <fmt/core.h>

#include <chrono>

#include "onefold/stores/mariadb/decisions.h"
#include "onefold/stores/mariadb/examination.h"
#include "onefold/stores/mariadb/migrations.h"

namespace onefold::mariadb {
namespace {

constexpr const char* name_of(ClaimMode mode) noexcept {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

std::int64_t now_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

class DatabaseHousekeeping final : public Housekeeping {
 public:
  explicit DatabaseHousekeeping(const Options& options) : connection_{options, Purpose::look} {}

  std::vector<Migration> migrate() override { return mariadb::migrate(connection_); }
  std::vector<Migration> pending() override { return mariadb::pending(connection_); }
  void check_schema() override { mariadb::check_schema(connection_); }
  ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) override;
  std::vector<Finding> examine(std::span<const std::string> statements) override {
    return mariadb::examine(connection_, statements);
  }
  std::string statement_defect(std::string_view sql) override {
    return mariadb::statement_defect(connection_, sql);
  }

 private:
  void audit_change(const std::string& consumer, const std::string& changes,
                    const std::optional<RuleChange>& change);

  Connection connection_;
};

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
  insert_audit(connection_, change->who, "accept-key-change", detail);
}

ConsumerId DatabaseHousekeeping::adopt(const ConsumerRules& rules,
                                       const std::optional<RuleChange>& change) {
  OwnTransaction transaction{connection_};
  // A row to lock is there for the second of two that adopt at once: it then finds the first's.
  connection_
      .own(
          "INSERT INTO onefold_consumer (name, rules, mode, created_at) VALUES (?, '', ?, ?) "
          "ON DUPLICATE KEY UPDATE mode = VALUES(mode)")
      .run(ParameterRows{3}.text(rules.name).text(name_of(rules.mode)).integer(now_microseconds()));
  Statement& select =
      connection_.own("SELECT id, rules FROM onefold_consumer WHERE name = ? FOR UPDATE");
  select.run(ParameterRows{1}.text(rules.name));
  if (!select.step()) {
    throw Error{ErrorKind::contention, "MariaDB: the consumer was removed while it registered"};
  }
  const auto id = static_cast<ConsumerId>(select.integer_at(0));
  const std::string stored = select.text_at(1);
  select.finish();
  const MergedRules merged = merge_rules(stored, rules.rules);
  if (!merged.changes.empty()) audit_change(rules.name, merged.changes, change);
  connection_.own("UPDATE onefold_consumer SET rules = ? WHERE id = ?")
      .run(ParameterRows{2}.text(merged.rules).integer(id));
  transaction.commit();
  return id;
}

}  // namespace

std::unique_ptr<Housekeeping> open_housekeeping(const Options& options) {
  return std::make_unique<DatabaseHousekeeping>(options);
}

}  // namespace onefold::mariadb
