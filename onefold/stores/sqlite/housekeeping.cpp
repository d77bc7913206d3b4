#include "onefold/stores/sqlite/housekeeping.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "onefold/stores/sqlite/deferred.h"
#include "onefold/stores/sqlite/migrations.h"

namespace onefold::sqlite {
namespace {

constexpr const char* name_of(ClaimMode mode) noexcept {
  return mode == ClaimMode::optimistic ? "optimistic" : "claim-first";
}

std::int64_t now_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

Timestamp time_at(const Statement& row, int column) {
  return Timestamp{std::chrono::microseconds{row.integer_at(column)}};
}

Outcome outcome_at(const Statement& row, int column) {
  const std::int64_t stored = row.integer_at(column);
  if (stored < 0 || stored >= static_cast<std::int64_t>(outcome_count)) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the inbox holds an outcome {} that this program does not know: use a "
                            "newer one",
                            stored)};
  }
  return static_cast<Outcome>(stored);
}

class DatabaseHousekeeping final : public Housekeeping {
 public:
  explicit DatabaseHousekeeping(const Options& options) : connection_{options, nullptr} {}

  std::vector<Migration> migrate() override { return sqlite::migrate(connection_); }
  void check_schema() override { sqlite::check_schema(connection_); }
  ConsumerId adopt(const ConsumerRules& rules, const std::optional<RuleChange>& change) override;
  std::vector<ConsumerStatus> status() override;
  std::vector<ScopeRecord> scopes() override;
  std::optional<InboxRecord> evidence(const Key& key) override;
  std::vector<DeferredRecord> deferred(const DeferredFilter& filter) override {
    const Connection::Inside inside{connection_};
    return select_deferred(connection_, filter);
  }

 private:
  ConsumerId insert_consumer(const ConsumerRules& rules, const std::string& text);
  void audit_change(const std::string& consumer, const std::string& changes,
                    const std::optional<RuleChange>& change);
  void count_inbox(ConsumerId id, ConsumerStatus& status);
  void count_deferred(ConsumerId id, ConsumerStatus& status);

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
                            "events could be applied twice:\n{}Restore them, or accept the change "
                            "with --accept-key-change --reason",
                            consumer, changes)};
  }
  const std::string detail =
      fmt::format("consumer: {}\nreason: {}\n{}", consumer, change->reason, changes);
  connection_
      .own(
          "INSERT INTO main.onefold_audit (at, who, action, detail) "
          "VALUES (?, ?, 'accept-key-change', ?)")
      .integer(1, now_microseconds())
      .text(2, change->who)
      .text(3, detail)
      .run();
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

void DatabaseHousekeeping::count_inbox(ConsumerId id, ConsumerStatus& status) {
  Statement& count = connection_.own(inbox_counts_sql);
  const ResetAtEnd reset{count};
  if (!count.integer(1, id).step() || count.is_null(0)) return;
  status.last_recorded_at = time_at(count, 0);
  // Throw if there is one that is not counted.
  outcome_at(count, 1);
  outcome_at(count, 2);
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const std::int64_t rows = count.integer_at(static_cast<int>(i) + 3);
    if (rows > 0) status.inbox.emplace_back(to_string(static_cast<Outcome>(i)), rows);
  }
}

void DatabaseHousekeeping::count_deferred(ConsumerId id, ConsumerStatus& status) {
  Statement& count = connection_.own(deferred_counts_sql);
  const ResetAtEnd reset{count};
  count.integer(1, id).step();
  int column = 0;
  for (const DeferralReason reason :
       {DeferralReason::conflict, DeferralReason::dead, DeferralReason::quarantine}) {
    const std::int64_t rows = count.integer_at(column++);
    if (rows > 0) status.deferred.emplace_back(to_string(reason), rows);
  }
}

std::vector<ConsumerStatus> DatabaseHousekeeping::status() {
  const Connection::Inside inside{connection_};
  std::vector<ConsumerStatus> all;
  Statement& select =
      connection_.own("SELECT id, name, rules, mode FROM main.onefold_consumer ORDER BY name");
  // Open until the end: everything is read from the snapshot of this first row.
  const ResetAtEnd reset{select};
  while (select.step()) {
    ConsumerStatus& status = all.emplace_back();
    const auto id = static_cast<ConsumerId>(select.integer_at(0));
    status.name = select.text_at(1);
    status.rules = select.text_at(2);
    status.mode = select.text_at(3);
    count_inbox(id, status);
    count_deferred(id, status);
    status.positions = select_positions(connection_, id, std::nullopt);
  }
  return all;
}

std::vector<ScopeRecord> DatabaseHousekeeping::scopes() {
  const Connection::Inside inside{connection_};
  std::vector<ScopeRecord> all;
  Statement& select = connection_.own(
      "SELECT s.id, c.name, s.handler, s.source_or_rule, s.key_form FROM main.onefold_scope s "
      "JOIN main.onefold_consumer c ON c.id = s.consumer ORDER BY s.id");
  const ResetAtEnd reset{select};
  while (select.step()) {
    all.push_back({static_cast<std::int32_t>(select.integer_at(0)), select.text_at(1),
                   select.text_at(2), select.text_at(3), select.text_at(4)});
  }
  return all;
}

std::optional<InboxRecord> DatabaseHousekeeping::evidence(const Key& key) {
  const Connection::Inside inside{connection_};
  Statement& select = connection_.own(
      "SELECT i.outcome, i.waiting, coalesce(i.event_source, s.source_or_rule, ''), i.event_id, "
      "i.event_type, i.event_time, i.entity, i.handled_by, i.fingerprint, i.result, i.recorded_at "
      "FROM main.onefold_inbox i LEFT JOIN main.onefold_scope s ON s.id = i.scope "
      "WHERE i.scope = ? AND i.key = ?");
  const ResetAtEnd reset{select};
  if (!select.integer(1, key.scope).blob(2, key.bytes).step()) return std::nullopt;
  InboxRecord record;
  record.key = key;
  record.outcome = outcome_at(select, 0);
  record.waiting = select.integer_at(1) != 0;
  record.event_source = select.text_at(2);
  record.event_id = select.text_at(3);
  record.event_type = select.text_at(4);
  if (!select.is_null(5)) record.event_time = time_at(select, 5);
  record.entity = select.text_at(6);
  record.handled_by = select.text_at(7);
  select.copy_blob(8, record.fingerprint);
  record.result = select.text_at(9);
  record.recorded_at = time_at(select, 10);
  return record;
}

}  // namespace

std::unique_ptr<Housekeeping> open_housekeeping(const Options& options) {
  return std::make_unique<DatabaseHousekeeping>(options);
}

std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source) {
  Statement& select = connection.own(
      "SELECT source, incarnation, partition, next_high, next_low, mark "
      "FROM main.onefold_position WHERE consumer = ?1 AND (?2 IS NULL OR source = ?2) "
      "ORDER BY source, incarnation, partition");
  const ResetAtEnd reset{select};
  select.integer(1, consumer);
  source ? select.text(2, *source) : select.null(2);
  std::vector<Position> positions;
  while (select.step()) {
    auto partition = std::make_shared<const Partition>(
        Partition{select.text_at(0), select.text_at(1), select.text_at(2)});
    const Offset next = offset_of(select, 3);
    const auto mark = static_cast<std::uint64_t>(select.integer_at(5));
    positions.push_back({std::move(partition), next, next, mark});
  }
  return positions;
}

}  // namespace onefold::sqlite
