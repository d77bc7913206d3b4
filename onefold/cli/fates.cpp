#include "onefold/cli/fates.h"

#include "onefold/cli/dead_choice.h"
#include "onefold/cli/deferred_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/evidence.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

/// Those whose bytes were no event, or were edited, have a key of their own by now.
constexpr const char* settled = "settled";

const char* outcome_of(const DeferredRecord& record) {
  const auto reason = deferral_reason_from(record.reason);
  if (reason == DeferralReason::conflict) return to_string(Outcome::conflict);
  // What is due and dead was not tried: its consumer is paused, say.
  const bool is_dead = reason == DeferralReason::dead && !record.due_at;
  return to_string(is_dead ? Outcome::dead : Outcome::deferred);
}

}  // namespace

Fates::Fates(const OpenedStore& opened, const std::vector<std::int64_t>& ids) : opened_{opened} {
  for (const std::int64_t id : ids) {
    const auto row = look_up(opened_, id);
    if (row) events_[id] = row->key;
  }
}

void Fates::find_out(const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids) {
    if (const auto row = look_up(opened_, id)) {
      ++counts_[outcome_of(*row)];
      consumers_left_.insert(row->consumer);
      const std::string when = row->due_at ? ", next try " + format_rfc3339(*row->due_at) : "";
      left_.push_back({id, row->reason + when + ": " + printable(last_error(*row), 500)});
      continue;
    }
    const auto known = events_.find(id);
    const auto evidence =
        known == events_.end() ? std::nullopt : opened_.records->evidence(known->second);
    ++counts_[evidence ? to_string(evidence->outcome) : settled];
  }
}

std::string Fates::text() const {
  std::string text;
  for (const auto& [outcome, count] : counts_) {
    text += (text.empty() ? "" : ", ") + grouped(count) + " " + outcome;
  }
  return text.empty() ? text : text + "\n";
}

Json Fates::json() const {
  Json json;
  for (const auto& [outcome, count] : counts_) json["outcomes"][outcome] = count;
  if (counts_.empty()) json["outcomes"] = Json::object();
  json["left"] = Json::array();
  for (const Left& each : left_) json["left"].push_back(each.id);
  return json;
}

void Fates::complain_about_failures() const {
  constexpr std::size_t named = 10;
  for (std::size_t i = 0; i < left_.size() && i < named; ++i) {
    const std::string id = std::to_string(left_[i].id);
    complain("number " + id + " is still set aside, " + left_[i].why,
             "onefold dead show " + id + opened_.config_argument + " has everything about it");
  }
  if (left_.size() > named) {
    complain(grouped(static_cast<std::int64_t>(left_.size() - named)) + " more are still set aside",
             "onefold dead list" + opened_.config_argument + " --group sorts them");
  }
}

}  // namespace onefold::cli
