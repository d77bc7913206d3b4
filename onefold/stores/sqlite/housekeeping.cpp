#include "onefold/stores/sqlite/housekeeping.h"

#include <fmt/core.h>

#include "onefold/stores/sqlite/decisions.h"
#include "onefold/stores/sqlite/deferred.h"
#include "onefold/stores/sqlite/migrations.h"

namespace onefold::sqlite {
namespace {

constexpr const char* name_of(ClaimMode mode) noexcept {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

class DatabaseHousekeeping final : public Housekeeping {
 public:
  explicit DatabaseHousekeeping(const Options& options) : connection_{options, nullptr} {}

  std::vector<Migration> migrate() override { return sqlite::migrate(connection_); }
  std::vector<Migration> pending() override { return sqlite::pending(connection_); }
  void check_schema() override { sqlite::check_schema(connection_); }
  ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) override;
  std::vector<Finding> examine(std::span<const std::string> statements) override;
  std::string statement_defect(std::string_view sql) override;

 private:
  ConsumerId insert_consumer(const ConsumerRules& rules, const std::string& text);
  void audit_change(const std::string& consumer, const std::string& changes,
                    const std::optional<RuleChange>& change);

  Connection connection_;
};

ConsumerId DatabaseHousekeeping::insert_consumer(const ConsumerRules& rules,
                                                 const std::string& text) {
  connection_
      .own("INSERT INTO main.onefold_consumer (name, rules, mode, created_at) VALUES (?, ?, ?, ?)")
      .text(1, rules.name)
      .text(2, text)
      .text(3, name_of(rules.mode))
      .integer(4, now_microseconds())
      .run();
  return static_cast<ConsumerId>(sqlite3_last_insert_rowid(connection_.handle()));
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
  insert_audit(connection_, change->who, "accept-key-change", detail);
}

ConsumerId DatabaseHousekeeping::adopt(const ConsumerRules& rules,
                                       const std::optional<RuleChange>& change) {
  OwnTransaction transaction{connection_};
  std::optional<ConsumerId> known;
  std::string stored;
  {
    Statement& select =
        connection_.own("SELECT id, rules FROM main.onefold_consumer WHERE name = ?");
    const ResetAtEnd reset{select};
    if (select.text(1, rules.name).step()) {
      known = static_cast<ConsumerId>(select.integer_at(0));
      stored = select.text_at(1);
    }
  }
  const MergedRules merged = merge_rules(stored, rules.rules);
  if (!known) {
    known = insert_consumer(rules, merged.rules);
  } else {
    if (!merged.changes.empty()) audit_change(rules.name, merged.changes, change);
    // The mode is free to change: the lock file sees to it that there is only one runner.
    connection_.own("UPDATE main.onefold_consumer SET rules = ?, mode = ? WHERE id = ?")
        .text(1, merged.rules)
        .text(2, name_of(rules.mode))
        .integer(3, *known)
        .run();
  }
  transaction.commit();
  return *known;
}

/// The WAL of older ones can be corrupted by two connections that checkpoint at once (traps.md 11).
constexpr int first_safe_version = 3'051'003;

std::vector<Finding> DatabaseHousekeeping::examine(std::span<const std::string> statements) {
  using enum Finding::Severity;
  std::vector<Finding> found;
  const std::string version = fmt::format("SQLite {}", sqlite3_libversion());
  if (sqlite3_libversion_number() < first_safe_version) {
    found.push_back({notice, "version", version,
                     "before 3.51.3, two connections that checkpoint at once can damage the file: "
                     "Onefold does so on one alone; open the database with other programs only "
                     "to read, or with `PRAGMA wal_autocheckpoint = 0`"});
  } else {
    found.push_back({fine, "version", version});
  }
  found.push_back({fine, "durability", "durable: write-ahead log, synchronous = FULL"});
  if (sqlite3_db_readonly(connection_.handle(), "main") != 0) {
    found.push_back({failure, "privileges", "the file can only be read",
                     "give this user the right to write it and its folder"});
  }
  for (const std::string& each : statements) {
    const std::string defect = statement_defect(each);
    if (!defect.empty()) found.push_back({failure, "statements", defect});
  }
  return found;
}

std::string DatabaseHousekeeping::statement_defect(std::string_view sql) {
  ::sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(connection_.handle(), sql.data(),
                                      static_cast<int>(sql.size()), &prepared, nullptr);
  std::string defect = code == SQLITE_OK ? "" : sqlite3_errmsg(connection_.handle());
  sqlite3_finalize(prepared);
  connection_.forgive();
  return defect;
}

}  // namespace

std::unique_ptr<Housekeeping> open_housekeeping(const Options& options) {
  return std::make_unique<DatabaseHousekeeping>(options);
}

}  // namespace onefold::sqlite
