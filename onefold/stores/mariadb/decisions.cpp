#include "onefold/stores/mariadb/decisions.h"

#include <fmt/core.h>

#include <chrono>

#include "onefold/stores/mariadb/deferred.h"
#include "onefold/stores/mariadb/health.h"
#include "onefold/stores/mariadb/ledger.h"
#include "onefold/stores/mariadb/records.h"

namespace onefold::mariadb {
namespace {

std::optional<DeferralReason> reason_from(std::string_view name) {
  for (const DeferralReason each :
       {DeferralReason::dead, DeferralReason::quarantine, DeferralReason::conflict}) {
    if (name == to_string(each)) return each;
  }
  return std::nullopt;
}

Evidence evidence_of(const InboxRecord& record) {
  return {.key = record.key,
          .outcome = record.outcome,
          .waiting = true,
          .event_source = record.event_source,
          .event_id = record.event_id,
          .event_type = record.event_type,
          .event_time = record.event_time,
          .entity = record.entity,
          .handled_by = record.handled_by,
          .fingerprint = record.fingerprint,
          .result = record.result,
          .recorded_at = record.recorded_at};
}

class DatabaseDecisions final : public Decisions {
 public:
  explicit DatabaseDecisions(const Options& options) : connection_{options, Purpose::look} {}

  std::vector<DiscardAnswer> discard(std::span<const std::int64_t> ids,
                                     const Decision& decision) override;
  std::vector<ImportAnswer> import_deferred(std::span<const ImportedDeferral> rows,
                                            const Decision& decision, bool trial) override;
  std::vector<AuditRecord> audit(const AuditFilter& filter) override;

 private:
  DiscardAnswer discard_one(std::int64_t id, const Decision& decision);
  void finish_claim(const Key& key, std::int64_t id);
  ImportAnswer import_one(const ImportedDeferral& row, const Decision& decision);
  bool is_known(const ImportedDeferral& row);
  void insert(const ImportedDeferral& row, DeferralReason reason);
  ConsumerId number_of(const std::string& consumer);

  Connection connection_;
};

std::vector<DiscardAnswer> DatabaseDecisions::discard(std::span<const std::int64_t> ids,
                                                      const Decision& decision) {
  OwnTransaction transaction{connection_};
  std::vector<DiscardAnswer> answers;
  answers.reserve(ids.size());
  for (const std::int64_t id : ids) answers.push_back(discard_one(id, decision));
  transaction.commit();
  return answers;
}

DiscardAnswer DatabaseDecisions::discard_one(std::int64_t id, const Decision& decision) {
  // Somebody else may be settling it: then he is waited for, and the row is gone.
  Statement& lock = connection_.own("SELECT 1 FROM onefold_deferred WHERE id = ? FOR UPDATE");
  lock.run(ParameterRows{1}.integer(id));
  if (!lock.step()) return DiscardAnswer::gone;
  lock.finish();
  DeferredFilter this_one;
  this_one.id = id;
  this_one.with_raw = false;
  const DeferredRecord row = select_deferred(connection_, this_one).at(0);
  if (row.reason != to_string(DeferralReason::conflict)) {
    finish_claim(row.key, id);
    for (const Key& key : row.further_keys) finish_claim(key, id);
  }
  connection_.own("DELETE FROM onefold_deferred WHERE id = ?").run(ParameterRows{1}.integer(id));
  insert_audit(connection_, decision.who, "discard", audit_detail(row, decision));
  return DiscardAnswer::discarded;
}

void DatabaseDecisions::finish_claim(const Key& key, std::int64_t id) {
  const std::int64_t changed = connection_
                                   .own(
                                       "UPDATE onefold_inbox SET waiting = 0 "
                                       "WHERE scope = ? AND event_key = ? AND waiting = 1")
                                   .run(ParameterRows{2}.integer(key.scope).blob(key.bytes));
  if (changed == 1) return;
  throw Error{
      ErrorKind::bad_configuration,
      fmt::format("number {} has no waiting claim in the inbox, which only a change by hand "
                  "can bring about; nothing was discarded",
                  id)};
}

std::vector<ImportAnswer> DatabaseDecisions::import_deferred(std::span<const ImportedDeferral> rows,
                                                             const Decision& decision, bool trial) {
  OwnTransaction transaction{connection_};
  std::vector<ImportAnswer> answers;
  answers.reserve(rows.size());
  for (const ImportedDeferral& row : rows) answers.push_back(import_one(row, decision));
  if (!trial) transaction.commit();
  return answers;
}

ImportAnswer DatabaseDecisions::import_one(const ImportedDeferral& row, const Decision& decision) {
  const auto reason = reason_from(row.deferred.reason);
  if (!reason) {
    throw Error{ErrorKind::permanent, "the reason of a row to import is none that is known"};
  }
  // What a rival takes from here on is told by the insert: then all of it is to be repeated.
  if (is_known(row)) return ImportAnswer::known;
  insert(row, *reason);
  insert_audit(connection_, decision.who, "import", audit_detail(row.deferred, decision));
  return ImportAnswer::imported;
}

bool DatabaseDecisions::is_known(const ImportedDeferral& row) {
  for (const InboxRecord& claim : row.claims) {
    if (select_evidence(connection_, claim.key)) return true;
  }
  DeferredFilter same;
  same.key = row.deferred.key;
  same.reason = row.deferred.reason;
  same.with_raw = false;
  // Several conflicts may stand under one key, each with a fingerprint of its own.
  for (;;) {
    const auto page = select_deferred(connection_, same);
    for (const DeferredRecord& each : page) {
      if (each.fingerprint == row.deferred.fingerprint) return true;
    }
    if (page.size() < same.limit) return false;
    same.after = page.back().id;
  }
}

/// By the hands that write these rows in a batch, so that they are the same to the last column.
void DatabaseDecisions::insert(const ImportedDeferral& row, DeferralReason reason) {
  const DeferredRecord& record = row.deferred;
  Health health{connection_};
  ScopeWords words;
  InboxLedger ledger{connection_, health, words};
  std::vector<Evidence> claims;
  for (const InboxRecord& each : row.claims) claims.push_back(evidence_of(each));
  ledger.record(claims, ClaimMode::optimistic);
  Delivery delivery;
  delivery.event = record.event;
  delivery.position = record.position;
  delivery.raw = record.raw;
  const Deferral deferral{.key = record.key,
                          .fingerprint = record.fingerprint,
                          .consumer = number_of(record.consumer),
                          .source = record.source,
                          .delivery = &delivery,
                          .reason = reason,
                          .handler = record.handler,
                          .errors = record.errors,
                          .attempts = record.attempts,
                          .recorded_at = record.first_at,
                          .further_keys = record.further_keys};
  ledger.defer({&deferral, 1});
  connection_.own("UPDATE onefold_deferred SET count = ?, last_at = ? WHERE id = LAST_INSERT_ID()")
      .run(ParameterRows{2}
               .integer(record.count)
               .integer(record.last_at.time_since_epoch().count()));
}

ConsumerId DatabaseDecisions::number_of(const std::string& consumer) {
  Statement& select = connection_.own("SELECT id FROM onefold_consumer WHERE name = ?");
  select.run(ParameterRows{1}.text(consumer));
  if (select.step()) return static_cast<ConsumerId>(select.integer_at(0));
  throw Error{ErrorKind::bad_configuration,
              fmt::format("the database knows no consumer \"{}\"", consumer)};
}

std::vector<AuditRecord> DatabaseDecisions::audit(const AuditFilter& filter) {
  const std::string line = filter.key ? audit_key_line(*filter.key) : std::string{};
  Statement& select = connection_.own(
      "SELECT id, at, who, action, detail FROM onefold_audit "
      "WHERE id > ? AND (? = 0 OR INSTR(detail, ?) > 0) ORDER BY id LIMIT ?");
  ParameterRows row{4};
  row.integer(filter.after).integer(filter.key ? 1 : 0).text(line);
  row.integer(static_cast<std::int64_t>(filter.limit));
  select.run(row);
  std::vector<AuditRecord> found;
  while (select.step()) {
    found.push_back({select.integer_at(0),
                     Timestamp{std::chrono::microseconds{select.integer_at(1)}}, select.text_at(2),
                     select.text_at(3), select.text_at(4)});
  }
  return found;
}

}  // namespace

std::unique_ptr<Decisions> open_decisions(const Options& options) {
  return std::make_unique<DatabaseDecisions>(options);
}

void insert_audit(Connection& connection, const std::string& who, const char* action,
                  const std::string& detail) {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  connection.own("INSERT INTO onefold_audit (at, who, action, detail) VALUES (?, ?, ?, ?)")
      .run(ParameterRows{4}.integer(now.count()).text(who).text(action).text(detail));
}

}  // namespace onefold::mariadb
