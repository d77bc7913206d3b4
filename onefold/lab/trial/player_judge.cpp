#include <algorithm>
#include <iterator>

#include "onefold/formats/text.h"
#include "onefold/lab/trial/player.h"

// What has come of a step, and of the whole.

namespace onefold::lab {
namespace {

constexpr std::size_t differences_max = 12;
constexpr std::size_t id_bytes_max = 60;

std::string text_at(sqlite3_stmt* row, int column) {
  const auto* text = sqlite3_column_text(row, column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::string event_at(sqlite3_stmt* row, int column) {
  const std::string id = text_at(row, column);
  return id.empty() ? "(undecodable)" : printable(id, id_bytes_max);
}

/// "account=1, balance=-5"
std::string row_words(sqlite3_stmt* row) {
  std::string text;
  for (int i = 0; i < sqlite3_column_count(row); ++i) {
    text += (text.empty() ? "" : ", ") + printable(sqlite3_column_name(row, i), id_bytes_max) +
            "=" + printable(value_text(row, i), id_bytes_max);
  }
  return text;
}

}  // namespace

void Player::judge() {
  if (!changed_) return;
  changed_ = false;
  if (!reference_) return;
  ++counts_.commits;
  history_.push_back(setting_.copies().log_bytes());
  if (timeline_ != nullptr) timeline_->note_facts(facts());
  check_invariants();
}

void Player::check_invariants() {
  for (const TrialInvariant& invariant : spec().invariants) {
    sqlite3_stmt* const select = stage_.reader().statement(invariant.sql);
    const int code = sqlite3_step(select);
    if (code == SQLITE_ROW) {
      defect_ = TrialDefect{"invariant",
                            "the invariant " + invariant.name + " is broken",
                            {"a row it returns: " + row_words(select)}};
    } else if (code != SQLITE_DONE) {
      defect_ = TrialDefect{"stopped", "the invariant " + invariant.name + " cannot be asked: " +
                                           sqlite3_errmsg(stage_.reader().handle())};
    }
    sqlite3_reset(select);
    if (defect_) return;
  }
}

/// What became of each event, without times and counts.
std::vector<std::string> Player::verdicts() {
  std::vector<std::string> all;
  stage_.reader().each(
      "SELECT event_id, outcome, waiting, handled_by, scope, hex(key) FROM main.onefold_inbox",
      [&](sqlite3_stmt* row) {
        all.push_back(
            event_at(row, 0) + ": " + to_string(static_cast<Outcome>(sqlite3_column_int(row, 1))) +
            (sqlite3_column_int(row, 2) != 0 ? ", set aside" : "") + " by '" + text_at(row, 3) +
            "' (inbox key " + text_at(row, 4) + ":" + text_at(row, 5) + ")");
      });
  stage_.reader().each(
      "SELECT event_id, reason, handler, scope, hex(key), hex(fingerprint) "
      "FROM main.onefold_deferred",
      [&](sqlite3_stmt* row) {
        all.push_back(event_at(row, 0) + ": " + text_at(row, 1) + " by '" + text_at(row, 2) +
                      "' (dead letter of key " + text_at(row, 3) + ":" + text_at(row, 4) +
                      ", data " + text_at(row, 5) + ")");
      });
  std::ranges::sort(all);
  return all;
}

std::vector<std::string> Player::facts() {
  std::vector<std::string> facts = business_->facts(stage_.reader());
  stage_.reader().each(
      "SELECT event_id, outcome FROM main.onefold_inbox UNION ALL "
      "SELECT event_id, -1 FROM main.onefold_deferred WHERE reason = 'conflict'",
      [&](sqlite3_stmt* row) {
        const int outcome = sqlite3_column_int(row, 1);
        facts.push_back(event_at(row, 0) +
                        (outcome < 0
                             ? " conflicts"
                             : std::string{" "} + to_string(static_cast<Outcome>(outcome))));
      });
  std::ranges::sort(facts);
  return facts;
}

void Player::finish(bool quiet) {
  if (!quiet) {
    defect_ = TrialDefect{
        "liveness", "after " + std::to_string(steps_max) + " steps there is still something to do"};
    return;
  }
  if (!reference_) return;
  if (business_->digest(stage_.reader()) != reference_->digest) {
    defect_ = TrialDefect{"result", "the tables are not as an undisturbed run leaves them",
                          business_->differences(reference_->rows, business_->rows(stage_.reader()),
                                                 differences_max)};
    return;
  }
  const std::vector<std::string> found = verdicts();
  if (found == reference_->verdicts) return;
  defect_ = TrialDefect{"decision", "not every event came to what it comes to undisturbed", {}};
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::ranges::set_difference(reference_->verdicts, found, std::back_inserter(missing));
  std::ranges::set_difference(found, reference_->verdicts, std::back_inserter(extra));
  for (const std::string& each : missing) defect_->differences.push_back("undisturbed: " + each);
  for (const std::string& each : extra) defect_->differences.push_back("       here: " + each);
  if (defect_->differences.size() > differences_max) defect_->differences.resize(differences_max);
}

}  // namespace onefold::lab
