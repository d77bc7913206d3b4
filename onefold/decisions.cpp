#include "onefold/decisions.h"

#include <string_view>

namespace onefold {
namespace {

/// A value must not look like lines of its own.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\0') {
      line += "\\0";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::string audit_key_line(const Key& key) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line = "key: " + std::to_string(key.scope) + ":";
  for (const std::uint8_t byte : key.bytes) {
    line += digits[byte >> 4U];
    line += digits[byte & 15U];
  }
  return line + "\n";
}

std::string audit_detail(const DeferredRecord& row, const Decision& decision) {
  std::string keys = audit_key_line(row.key);
  for (const Key& key : row.further_keys) keys += audit_key_line(key);
  return "consumer: " + on_one_line(row.consumer) + "\n" + keys +
         "event id: " + on_one_line(row.event.id) + "\n" +
         "event source: " + on_one_line(row.event.source) + "\n" +
         "set aside as: " + on_one_line(row.reason) + "\n" +
         "reason: " + on_one_line(decision.reason) + "\n";
}

std::string audit_detail(const std::string& consumer, const std::string& changes,
                         const Decision& decision) {
  return "consumer: " + on_one_line(consumer) + "\nreason: " + on_one_line(decision.reason) + "\n" +
         changes;
}

std::string audit_detail(const DeferredRecord& row, const EditedEvent& edited,
                         const Decision& decision) {
  return audit_detail(row, decision) + "new event id: " + on_one_line(edited.new_id) + "\n" +
         "new " + audit_key_line(edited.key);
}

std::optional<ReplayAnswer> objection_to_replay(const DeferredRecord& row) {
  if (row.reason == to_string(DeferralReason::conflict)) return ReplayAnswer::conflict;
  const bool for_a_person = row.reason == to_string(DeferralReason::dead) ||
                            row.reason == to_string(DeferralReason::quarantine);
  if (!for_a_person || row.due_at) return ReplayAnswer::waiting;
  return std::nullopt;
}

std::string edited_result(const EditedEvent& edited) {
  constexpr std::size_t bytes_max = 512;
  return "edited: " + edited.new_id.substr(0, bytes_max);
}

EditedRow::EditedRow(const DeferredRecord& original, const EditedEvent& edited) {
  DeferredRecord& row = imported.deferred;
  row.consumer = original.consumer;
  row.key = edited.key;
  row.reason = to_string(DeferralReason::dead);
  row.failure = to_string(FailureClass::undecodable);
  row.errors = {"edited by a person, and not tried yet"};
  row.decoded = false;
  row.source = original.source;
  row.position = original.position;
  row.event.headers = original.event.headers;
  row.raw = edited.raw;
  row.first_at = original.first_at;
  row.last_at = original.last_at;
  InboxRecord& claim = imported.claims.emplace_back();
  claim.key = edited.key;
  claim.outcome = Outcome::dead;
  claim.waiting = true;
  claim.recorded_at = original.last_at;
}

std::string audit_detail_of(const std::string& consumer, const std::string& what,
                            const Decision& decision) {
  return "consumer: " + on_one_line(consumer) + "\n" + what +
         "reason: " + on_one_line(decision.reason) + "\n";
}

}  // namespace onefold
