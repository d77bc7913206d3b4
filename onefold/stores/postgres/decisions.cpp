#include "onefold/stores/postgres/decisions.h"

#include <fmt/core.h>

#include <algorithm>

#include "onefold/stores/postgres/deferred.h"
#include "onefold/stores/postgres/health.h"
#include "onefold/stores/postgres/ledger.h"
#include "onefold/stores/postgres/records.h"

namespace onefold::postgres {
namespace {

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
  std::vector<ReplayAnswer> replay(std::span<const std::int64_t> ids,
                                   const Decision& decision) override;
  bool edit(const EditedEvent& edited, const Decision& decision) override;
  bool resume(std::string_view consumer, const Decision& decision) override;
  std::vector<AuditRecord> audit(const AuditFilter& filter) override;

 private:
  void lock(std::span<const std::int64_t> ids);
  std::optional<DeferredRecord> row_of(std::int64_t id);
  DiscardAnswer discard_one(std::int64_t id, const Decision& decision);
  void discard_row(const DeferredRecord& row, std::string_view result);
  void finish_claim(const Key& key, std::int64_t id, std::string_view result);
  ReplayAnswer replay_one(std::int64_t id, const Decision& decision);
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
  lock(ids);
  std::vector<DiscardAnswer> answers;
  answers.reserve(ids.size());
  for (const std::int64_t id : ids) answers.push_back(discard_one(id, decision));
  transaction.commit();
  return answers;
}

/// Whoever else settles them waits here, or has made them go. Rows of `deferred` are always locked
/// before their claims, and in the order of their numbers.
void DatabaseDecisions::lock(std::span<const std::int64_t> ids) {
  Array wanted{type::integer64};
  for (const std::int64_t id : ids) wanted.integer64(id);
  Arguments arguments;
  wanted.into(arguments);
  connection_.run(
      "SELECT 1 FROM onefold.deferred WHERE id = ANY($1::int8[]) ORDER BY id FOR UPDATE",
      std::move(arguments), "looking for deferred events");
}

std::optional<DeferredRecord> DatabaseDecisions::row_of(std::int64_t id) {
  DeferredFilter this_one;
  this_one.id = id;
  this_one.with_raw = false;
  auto rows = select_deferred(connection_, this_one);
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

DiscardAnswer DatabaseDecisions::discard_one(std::int64_t id, const Decision& decision) {
  const auto row = row_of(id);
  if (!row) return DiscardAnswer::gone;
  discard_row(*row, {});
  queue_audit(connection_, decision.who, "discard", audit_detail(*row, decision));
  return DiscardAnswer::discarded;
}

void DatabaseDecisions::discard_row(const DeferredRecord& row, std::string_view result) {
  if (row.reason != to_string(DeferralReason::conflict)) {
    finish_claim(row.key, row.id, result);
    for (const Key& key : row.further_keys) finish_claim(key, row.id, result);
  }
  Arguments arguments;
  arguments.integer64(row.id);
  connection_.run("DELETE FROM onefold.deferred WHERE id = $1", std::move(arguments),
                  "discarding an event");
  if (row.replay.empty()) return;
  Arguments replay;
  replay.text(row.replay);
  connection_.run("UPDATE onefold.replay SET gone = gone + 1 WHERE id = $1", std::move(replay),
                  "counting for a replay");
}

void DatabaseDecisions::finish_claim(const Key& key, std::int64_t id, std::string_view result) {
  Arguments arguments;
  arguments.integer32(key.scope).bytes(key.bytes).text_or_null(result);
  const Result ended = connection_.run(
      "UPDATE onefold.inbox SET waiting = false, result = coalesce($3, result) "
      "WHERE scope = $1 AND key = $2 AND waiting",
      std::move(arguments), "ending a claim's wait");
  if (rows_changed(ended) == 1) return;
  throw Error{
      ErrorKind::bad_configuration,
      fmt::format("number {} has no waiting claim in the inbox, which only a change by hand "
                  "can bring about; nothing was changed",
                  id)};
}

std::vector<ReplayAnswer> DatabaseDecisions::replay(std::span<const std::int64_t> ids,
                                                    const Decision& decision) {
  OwnTransaction transaction{connection_};
  lock(ids);
  std::vector<ReplayAnswer> answers;
  answers.reserve(ids.size());
  for (const std::int64_t id : ids) answers.push_back(replay_one(id, decision));
  connection_.run();
  transaction.commit();
  return answers;
}

ReplayAnswer DatabaseDecisions::replay_one(std::int64_t id, const Decision& decision) {
  const auto row = row_of(id);
  if (!row) return ReplayAnswer::gone;
  if (const auto answer = objection_to_replay(*row)) return *answer;
  Arguments arguments;
  arguments.integer64(id);
  connection_.run(
      "UPDATE onefold.deferred SET due_at = clock_timestamp(), attempts = 0 WHERE id = $1",
      std::move(arguments), "making an event due");
  queue_audit(connection_, decision.who, "replay", audit_detail(*row, decision));
  return ReplayAnswer::due;
}

bool DatabaseDecisions::edit(const EditedEvent& edited, const Decision& decision) {
  OwnTransaction transaction{connection_};
  lock({&edited.of, 1});
  const auto original = row_of(edited.of);
  if (!original) return false;
  const EditedRow row{*original, edited};
  if (is_kept(row.imported) || !claim(row.imported)) return false;
  discard_row(*original, edited_result(edited));
  queue_audit(connection_, decision.who, "edit", audit_detail(*original, edited, decision));
  insert(row.imported, DeferralReason::dead);
  Arguments arguments;
  arguments.integer32(edited.key.scope).bytes(edited.key.bytes);
  connection_.run(
      "UPDATE onefold.deferred SET due_at = clock_timestamp() WHERE scope = $1 AND key = $2",
      std::move(arguments), "making an edited event due");
  transaction.commit();
  return true;
}

bool DatabaseDecisions::resume(std::string_view consumer, const Decision& decision) {
  OwnTransaction transaction{connection_};
  const std::string name{consumer};
  Arguments arguments;
  arguments.integer32(number_of(name));
  const Result gone = connection_.run("DELETE FROM onefold.pause WHERE consumer = $1",
                                      std::move(arguments), "ending a pause");
  if (rows_changed(gone) != 1) return false;
  queue_audit(connection_, decision.who, "resume", audit_detail_of(name, {}, decision));
  connection_.run();
  transaction.commit();
  return true;
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
  const auto reason = deferral_reason_from(row.deferred.reason);
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
                          .entity = record.entity,
                          .handler = record.handler,
                          .errors = record.errors,
                          .attempts = record.attempts,
                          .recorded_at = record.first_at,
                          .further_keys = record.further_keys};
  queue_deferred(connection_, deferral);
  Arguments arguments;
  arguments.integer64(record.count).time(record.last_at).integer32(record.key.scope);
  arguments.bytes(record.key.bytes).text(record.reason).bytes(record.fingerprint);
  arguments.text(record.failure);
  record.due_at ? arguments.time(*record.due_at) : arguments.null(type::time);
  arguments.boolean(record.decoded);
  connection_.queue({.statement = &connection_.own(
                         "UPDATE onefold.deferred SET count = $1, last_at = $2, failure = $7, "
                         "due_at = $8, decoded = $9 WHERE scope = $3 AND key = $4 "
                         "AND reason = $5 AND fingerprint = $6"),
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
