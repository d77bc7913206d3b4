#include "onefold/stores/postgres/decisions.h"

#include <fmt/core.h>

#include <algorithm>

#include "onefold/stores/postgres/deferred.h"
#include "onefold/stores/postgres/health.h"
#include "onefold/stores/postgres/ledger.h"
#include "onefold/stores/postgres/records.h"

namespace onefold::postgres {
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
  explicit DatabaseDecisions(const Options& options) : connection_{options} {}

  std::vector<DiscardAnswer> discard(std::span<const std::int64_t> ids,
                                     const Decision& decision) override;
  std::vector<ImportAnswer> import_deferred(std::span<const ImportedDeferral> rows,
                                            const Decision& decision, bool trial) override;
  std::vector<AuditRecord> audit(const AuditFilter& filter) override;

 private:
  DiscardAnswer discard_one(std::int64_t id, const Decision& decision);
  void finish_claim(const Key& key, std::int64_t id);
  ImportAnswer import_one(const ImportedDeferral& row, const Decision& decision);
  bool is_kept(const ImportedDeferral& row);
  bool claim(const ImportedDeferral& row);
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
  Arguments arguments;
  arguments.integer64(id);
  // Whoever else settles it waits here, or has made it go.
  const Result locked = connection_.run("SELECT 1 FROM onefold.deferred WHERE id = $1 FOR UPDATE",
                                        arguments, "looking for a deferred event");
  if (rows_in(locked) == 0) return DiscardAnswer::gone;
  DeferredFilter this_one;
  this_one.id = id;
  this_one.with_raw = false;
  const auto rows = select_deferred(connection_, this_one);
  if (rows.empty()) return DiscardAnswer::gone;
  const DeferredRecord& row = rows.front();
  if (row.reason != to_string(DeferralReason::conflict)) {
    finish_claim(row.key, id);
    for (const Key& key : row.further_keys) finish_claim(key, id);
  }
  connection_.run("DELETE FROM onefold.deferred WHERE id = $1", std::move(arguments),
                  "discarding an event");
  queue_audit(connection_, decision.who, "discard", audit_detail(row, decision));
  return DiscardAnswer::discarded;
}

void DatabaseDecisions::finish_claim(const Key& key, std::int64_t id) {
  Arguments arguments;
  arguments.integer32(key.scope).bytes(key.bytes);
  const Result result = connection_.run(
      "UPDATE onefold.inbox SET waiting = false WHERE scope = $1 AND key = $2 AND waiting",
      std::move(arguments), "ending a claim's wait");
  if (rows_changed(result) == 1) return;
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
  connection_.run();
  if (!trial) transaction.commit();
  return answers;
}

ImportAnswer DatabaseDecisions::import_one(const ImportedDeferral& row, const Decision& decision) {
  const auto reason = reason_from(row.deferred.reason);
  if (!reason) {
    throw Error{ErrorKind::permanent, "the reason of a row to import is none that is known"};
  }
  if (is_kept(row) || !claim(row)) return ImportAnswer::known;
  insert(row, *reason);
  queue_audit(connection_, decision.who, "import", audit_detail(row.deferred, decision));
  return ImportAnswer::imported;
}

bool DatabaseDecisions::is_kept(const ImportedDeferral& row) {
  Arguments arguments;
  arguments.integer32(row.deferred.key.scope).bytes(row.deferred.key.bytes);
  arguments.text(row.deferred.reason).bytes(row.deferred.fingerprint);
  const Result found = connection_.run(
      "SELECT 1 FROM onefold.deferred WHERE scope = $1 AND key = $2 AND reason = $3 "
      "AND fingerprint = $4",
      std::move(arguments), "looking for a deferred event");
  return rows_in(found) != 0;
}

/// All of its keys or none, as a batch does: the unique key alone says who was first.
bool DatabaseDecisions::claim(const ImportedDeferral& row) {
  std::vector<Evidence> wanted;
  for (const InboxRecord& each : row.claims) wanted.push_back(evidence_of(each));
  std::ranges::sort(wanted, {}, &Evidence::key);
  Health health{connection_};
  ScopeWords words;
  InboxLedger ledger{connection_, health, words};
  std::vector<Key> ours;
  const auto claims = ledger.claim(wanted, ClaimMode::claim_first);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].state == ClaimState::fresh) ours.push_back(wanted[i].key);
  }
  if (ours.size() == wanted.size()) return true;
  ledger.withdraw(ours);
  return false;
}

void DatabaseDecisions::insert(const ImportedDeferral& row, DeferralReason reason) {
  const DeferredRecord& record = row.deferred;
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
  queue_deferred(connection_, deferral);
  Arguments arguments;
  arguments.integer64(record.count).time(record.last_at).integer32(record.key.scope);
  arguments.bytes(record.key.bytes).text(record.reason).bytes(record.fingerprint);
  connection_.queue({.statement = &connection_.own(
                         "UPDATE onefold.deferred SET count = $1, last_at = $2 WHERE scope = $3 "
                         "AND key = $4 AND reason = $5 AND fingerprint = $6"),
                     .arguments = std::move(arguments),
                     .doing = "importing an event",
                     .expected_rows = 1});
}

ConsumerId DatabaseDecisions::number_of(const std::string& consumer) {
  Arguments arguments;
  arguments.text(consumer);
  const Result found = connection_.run("SELECT id FROM onefold.consumer WHERE name = $1",
                                       std::move(arguments), "looking for a consumer");
  if (rows_in(found) != 0) return Row{found.get(), 0}.integer32(0);
  throw Error{ErrorKind::bad_configuration,
              fmt::format("the database knows no consumer \"{}\"", consumer)};
}

std::vector<AuditRecord> DatabaseDecisions::audit(const AuditFilter& filter) {
  Arguments arguments;
  arguments.integer64(filter.after);
  arguments.text_or_null(filter.key ? audit_key_line(*filter.key) : std::string{});
  arguments.integer64(static_cast<std::int64_t>(filter.limit));
  const Result rows = connection_.run(
      "SELECT id, at, who, action, detail FROM onefold.audit "
      "WHERE id > $1 AND ($2::text IS NULL OR strpos(detail, $2) > 0) ORDER BY id LIMIT $3",
      std::move(arguments), "reading the audit");
  std::vector<AuditRecord> found;
  for (int i = 0; i < rows_in(rows); ++i) {
    const Row row{rows.get(), i};
    found.push_back({row.integer64(0), row.time(1), row.text(2), row.text(3), row.text(4)});
  }
  return found;
}

}  // namespace

std::unique_ptr<Decisions> open_decisions(const Options& options) {
  return std::make_unique<DatabaseDecisions>(options);
}

void queue_audit(Connection& connection, const std::string& who, const char* action,
                 const std::string& detail) {
  Arguments arguments;
  arguments.text(who).text(action).text(detail);
  connection.queue(
      {.statement = &connection.own("INSERT INTO onefold.audit (at, who, action, detail) "
                                    "VALUES (clock_timestamp(), $1, $2, $3)"),
       .arguments = std::move(arguments),
       .doing = "writing the audit"});
}

}  // namespace onefold::postgres
