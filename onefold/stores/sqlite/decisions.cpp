#include "onefold/stores/sqlite/decisions.h"

#include <fmt/core.h>

#include <chrono>

#include "onefold/stores/sqlite/deferred.h"
#include "onefold/stores/sqlite/health.h"
#include "onefold/stores/sqlite/ledger.h"
#include "onefold/stores/sqlite/records.h"
#include "onefold/stores/sqlite/waiting_room.h"

namespace onefold::sqlite {
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
  explicit DatabaseDecisions(const Options& options) : connection_{options, nullptr} {}

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
  std::optional<DeferredRecord> row_of(std::int64_t id);
  DiscardAnswer discard_one(std::int64_t id, const Decision& decision);
  void discard_row(const DeferredRecord& row, std::string_view result);
  ReplayAnswer replay_one(std::int64_t id, const Decision& decision);
  void insert_edited(const DeferredRecord& original, const EditedEvent& edited);
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
  insert_audit(connection_, decision.who, "discard", audit_detail(*row, decision));
  return DiscardAnswer::discarded;
}

void DatabaseDecisions::discard_row(const DeferredRecord& row, std::string_view result) {
  if (row.reason != to_string(DeferralReason::conflict)) {
    finish_claim(connection_, row.key, row.id, result);
    for (const Key& key : row.further_keys) finish_claim(connection_, key, row.id, result);
  }
  connection_.own("DELETE FROM main.onefold_deferred WHERE id = ?").integer(1, row.id).run();
  if (row.replay.empty()) return;
  connection_.own("UPDATE main.onefold_replay SET gone = gone + 1 WHERE id = ?")
      .text(1, row.replay)
      .run();
}

std::vector<ReplayAnswer> DatabaseDecisions::replay(std::span<const std::int64_t> ids,
                                                    const Decision& decision) {
  OwnTransaction transaction{connection_};
  std::vector<ReplayAnswer> answers;
  answers.reserve(ids.size());
  for (const std::int64_t id : ids) answers.push_back(replay_one(id, decision));
  transaction.commit();
  return answers;
}

ReplayAnswer DatabaseDecisions::replay_one(std::int64_t id, const Decision& decision) {
  const auto row = row_of(id);
  if (!row) return ReplayAnswer::gone;
  if (const auto answer = objection_to_replay(*row)) return *answer;
  connection_.own("UPDATE main.onefold_deferred SET due_at = ?2, attempts = 0 WHERE id = ?1")
      .integer(1, id)
      .integer(2, now_microseconds())
      .run();
  insert_audit(connection_, decision.who, "replay", audit_detail(*row, decision));
  return ReplayAnswer::due;
}

bool DatabaseDecisions::edit(const EditedEvent& edited, const Decision& decision) {
  OwnTransaction transaction{connection_};
  const auto original = row_of(edited.of);
  if (!original || select_evidence(connection_, edited.key)) return false;
  discard_row(*original, edited_result(edited));
  insert_audit(connection_, decision.who, "edit", audit_detail(*original, edited, decision));
  insert_edited(*original, edited);
  transaction.commit();
  return true;
}

/// As bytes that were no event, which are due: what they are is found out when they are tried.
void DatabaseDecisions::insert_edited(const DeferredRecord& original, const EditedEvent& edited) {
  const EditedRow row{original, edited};
  insert(row.imported, DeferralReason::dead);
  connection_
      .own(
          "UPDATE main.onefold_deferred SET due_at = ?2, decoded = 0 "
          "WHERE id = last_insert_rowid() AND scope = ?1")
      .integer(1, edited.key.scope)
      .integer(2, now_microseconds())
      .run();
}

bool DatabaseDecisions::resume(std::string_view consumer, const Decision& decision) {
  OwnTransaction transaction{connection_};
  const std::string name{consumer};
  connection_.own("DELETE FROM main.onefold_pause WHERE consumer = ?")
      .integer(1, number_of(name))
      .run();
  if (sqlite3_changes(connection_.handle()) != 1) return false;
  insert_audit(connection_, decision.who, "resume", audit_detail_of(name, {}, decision));
  transaction.commit();
  return true;
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
  const auto reason = deferral_reason_from(row.deferred.reason);
  if (!reason) {
    throw Error{ErrorKind::permanent, "the reason of a row to import is none that is known"};
  }
  // We hold the write lock: what is free now stays free until the insert.
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
                          .entity = record.entity,
                          .handler = record.handler,
                          .errors = record.errors,
                          .attempts = record.attempts,
                          .recorded_at = record.first_at,
                          .further_keys = record.further_keys};
  ledger.defer({&deferral, 1});
  Statement& rest = connection_.own(
      "UPDATE main.onefold_deferred SET count = ?, last_at = ?, failure = ?, due_at = ?, "
      "decoded = ? WHERE id = last_insert_rowid()");
  rest.integer(1, record.count).integer(2, record.last_at.time_since_epoch().count());
  rest.text(3, record.failure);
  record.due_at ? rest.integer(4, record.due_at->time_since_epoch().count()) : rest.null(4);
  rest.integer(5, record.decoded ? 1 : 0).run();
}

ConsumerId DatabaseDecisions::number_of(const std::string& consumer) {
  Statement& select = connection_.own("SELECT id FROM main.onefold_consumer WHERE name = ?");
  const ResetAtEnd reset{select};
  if (select.text(1, consumer).step()) return static_cast<ConsumerId>(select.integer_at(0));
  throw Error{ErrorKind::bad_configuration,
              fmt::format("the database knows no consumer \"{}\"", consumer)};
}

std::vector<AuditRecord> DatabaseDecisions::audit(const AuditFilter& filter) {
  const Connection::Inside inside{connection_};
  const std::string line = filter.key ? audit_key_line(*filter.key) : std::string{};
  Statement& select = connection_.own(
      "SELECT id, at, who, action, detail FROM main.onefold_audit "
      "WHERE id > ?1 AND (?2 IS NULL OR instr(detail, ?2) > 0) ORDER BY id LIMIT ?3");
  const ResetAtEnd reset{select};
  select.integer(1, filter.after).text_or_null(2, line);
  select.integer(3, static_cast<std::int64_t>(filter.limit));
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
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  connection.own("INSERT INTO main.onefold_audit (at, who, action, detail) VALUES (?, ?, ?, ?)")
      .integer(1, std::chrono::duration_cast<std::chrono::microseconds>(now).count())
      .text(2, who)
      .text(3, action)
      .text(4, detail)
      .run();
}

}  // namespace onefold::sqlite
