#include "onefold/cli/inbox_view.h"

#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

std::string line(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  std::string padded{label};
  padded.resize(13, ' ');
  return padded + printable(text, 4096) + "\n";
}

}  // namespace

ScopeNames::ScopeNames(const std::vector<ScopeRecord>& scopes) {
  for (const ScopeRecord& each : scopes) scopes_[each.scope] = each;
}

const ScopeRecord& ScopeNames::operator[](std::int32_t number) const {
  static const ScopeRecord unknown;
  const auto found = scopes_.find(number);
  return found == scopes_.end() ? unknown : found->second;
}

Json inbox_json(const InboxRecord& record, const ScopeRecord& scope) {
  const bool business = scope.key_form == business_key_form;
  Json json;
  json["key"] = key_text(record.key);
  json["consumer"] = json_text(scope.consumer);
  json["handler"] = json_text(scope.handler);
  json["rule"] = business ? json_text(scope.source_or_rule) : Json("");
  json["key_form"] = json_text(scope.key_form);
  json["outcome"] = to_string(record.outcome);
  json["waiting"] = record.waiting;
  json["event_id"] = json_text(record.event_id);
  json["event_source"] = json_text(record.event_source);
  json["event_type"] = json_text(record.event_type);
  json["event_time"] = json_time(record.event_time);
  json["entity"] = json_text(record.entity);
  json["recorded_at"] = json_time(record.recorded_at);
  json["handled_by"] = json_text(record.handled_by);
  json["result"] = json_text(record.result);
  json["fingerprint"] = hex_text(record.fingerprint);
  return json;
}

const std::vector<ListColumn>& inbox_columns() {
  static const std::vector<ListColumn> columns{{.name = "outcome"},
                                               {.name = "consumer", .width_max = 24},
                                               {.name = "handler", .in_table = false},
                                               {.name = "rule", .in_table = false},
                                               {.name = "event_id", .width_max = 40},
                                               {.name = "event_source", .in_table = false},
                                               {.name = "event_type", .width_max = 32},
                                               {.name = "event_time", .in_table = false},
                                               {.name = "entity", .in_table = false},
                                               {.name = "recorded_at"},
                                               {.name = "handled_by", .width_max = 32},
                                               {.name = "result", .in_table = false},
                                               {.name = "waiting", .in_table = false},
                                               {.name = "key"},
                                               {.name = "key_form", .in_table = false},
                                               {.name = "fingerprint", .in_table = false}};
  return columns;
}

std::string inbox_text(const InboxRecord& record, const ScopeRecord& scope) {
  const bool business = scope.key_form == business_key_form;
  std::string text;
  text += line("key", key_text(record.key) + " (" + scope.key_form + ")");
  text += line("consumer", scope.consumer);
  text += line("handler", scope.handler);
  if (business) text += line("key rule", scope.source_or_rule);
  text += line("outcome", std::string{to_string(record.outcome)} +
                              (record.waiting ? ", waiting for a decision" : ", final"));
  text += line("recorded at", format_rfc3339(record.recorded_at));
  text += line("handled by", record.handled_by);
  text += line("event id", record.event_id);
  text += line("source", record.event_source);
  text += line("type", record.event_type);
  if (record.event_time) text += line("event time", format_rfc3339(*record.event_time));
  text += line("entity", record.entity);
  text += line("result", record.result);
  return text + line("fingerprint", hex_text(record.fingerprint));
}

}  // namespace onefold::cli
