#include "onefold/cli/deferred_view.h"

#include <cstddef>

#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr std::size_t raw_bytes_shown = 4096;
constexpr std::size_t error_bytes_shown = 1000;

std::string line(std::string_view label, std::string_view text) {
  std::string padded{label};
  padded.resize(std::max<std::size_t>(padded.size(), 12), ' ');
  return padded + " " + std::string{text} + "\n";
}

std::string optional_line(std::string_view label, const std::string& text) {
  return text.empty() ? std::string{} : line(label, printable(text));
}

std::string what_it_is(const DeferredRecord& record) {
  std::string text = "number " + std::to_string(record.id);
  if (record.reason == "conflict") {
    text += ": its id belongs to an event with other data, which came first";
  } else if (record.reason == "dead") {
    text += ": it could not be applied; nothing of it was, and it is kept";
  } else if (record.reason == "retry") {
    text += ": it failed, and is tried again";
  } else if (record.reason == "behind") {
    text += ": it waits behind an earlier event of its entity, which is tried again";
  } else {
    text += ": set aside, " + printable(record.reason);
  }
  return text + "\n";
}

std::string origin_text(const DeferredRecord& record, bool in_file) {
  std::string text = "source " + printable(record.source);
  if (!record.position) return text;
  if (!record.position->partition->name.empty()) {
    text += ", partition " + printable(record.position->partition->name);
  }
  return text + (in_file ? ", byte offset " : ", offset ") + offset_text(record.position->at);
}

std::string raw_text(const DeferredRecord& record) {
  std::string text = "the bytes as they came (" +
                     grouped(static_cast<std::int64_t>(record.raw.size())) +
                     (record.raw.size() == 1 ? " byte):\n" : " bytes):\n");
  text += printable(record.raw, raw_bytes_shown) + "\n";
  if (record.raw.size() > raw_bytes_shown) {
    text += "(only the first " + grouped(raw_bytes_shown) + " are shown; -o json has all)\n";
  }
  return text;
}

}  // namespace

std::string deferred_text(const DeferredRecord& record, bool in_file) {
  std::string text = what_it_is(record);
  text += line("kind", printable(record.reason));
  text += line("consumer", printable(record.consumer));
  text += optional_line("handler", record.handler);
  text += optional_line("class", record.failure);
  for (const std::string& error : record.errors) {
    text += line("error", printable(error, error_bytes_shown));
  }
  text += line("attempts", std::to_string(record.attempts));
  if (record.due_at) text += line("due at", format_rfc3339(*record.due_at));
  text += optional_line("replay", record.replay);
  text += line("first at", format_rfc3339(record.first_at));
  if (record.count > 1) {
    text += line("last at", format_rfc3339(record.last_at) + ", " + grouped(record.count) +
                                " deliveries in all");
  } else if (record.last_at != record.first_at) {
    text += line("last at", format_rfc3339(record.last_at));
  }
  text += optional_line("event id", record.event.id);
  text += optional_line("event source", record.event.source);
  text += optional_line("type", record.event.type);
  text += optional_line("subject", record.event.subject);
  if (record.event.time) text += line("event time", format_rfc3339(*record.event.time));
  text += optional_line("content type", record.event.content_type);
  text += optional_line("entity", record.entity);
  text += line("came from", origin_text(record, in_file));
  for (const auto& [name, value] : record.event.headers) {
    text += line("header", printable(name) + ": " + printable(value));
  }
  text += line("key", key_text(record.key));
  for (const Key& key : record.further_keys) text += line("and key", key_text(key));
  text += line("fingerprint", hex_text(record.fingerprint));
  return text + raw_text(record);
}

const std::vector<ListColumn>& deferred_columns() {
  constexpr auto right = Table::Align::right;
  static const std::vector<ListColumn> columns{{.name = "id", .align = right},
                                               {.name = "kind"},
                                               {.name = "class"},
                                               {.name = "consumer", .width_max = 24},
                                               {.name = "handler", .in_table = false},
                                               {.name = "event_id", .width_max = 40},
                                               {.name = "event_source", .in_table = false},
                                               {.name = "event_type", .width_max = 32},
                                               {.name = "event_subject", .in_table = false},
                                               {.name = "event_time", .in_table = false},
                                               {.name = "content_type", .in_table = false},
                                               {.name = "entity", .in_table = false},
                                               {.name = "count", .align = right},
                                               {.name = "attempts", .align = right},
                                               {.name = "due_at"},
                                               {.name = "first_at", .in_table = false},
                                               {.name = "last_at"},
                                               {.name = "error", .width_max = 100},
                                               {.name = "source", .in_table = false},
                                               {.name = "replay", .in_table = false},
                                               {.name = "key", .in_table = false},
                                               {.name = "fingerprint", .in_table = false}};
  return columns;
}

Json deferred_json(const DeferredRecord& record, bool with_raw) {
  Json json;
  json["id"] = record.id;
  json["kind"] = record.reason;
  json["class"] = json_text(record.failure);
  json["consumer"] = json_text(record.consumer);
  json["handler"] = json_text(record.handler);
  json["event_id"] = json_text(record.event.id);
  json["event_source"] = json_text(record.event.source);
  json["event_type"] = json_text(record.event.type);
  json["event_subject"] = json_text(record.event.subject);
  json["event_time"] = json_time(record.event.time);
  json["content_type"] = json_text(record.event.content_type);
  json["entity"] = json_text(record.entity);
  json["count"] = record.count;
  json["attempts"] = record.attempts;
  json["due_at"] = json_time(record.due_at);
  json["first_at"] = json_time(record.first_at);
  json["last_at"] = json_time(record.last_at);
  json["error"] = json_text(last_error(record));
  json["errors"] = Json::array();
  for (const std::string& error : record.errors) json["errors"].push_back(json_text(error));
  json["source"] = json_text(record.source);
  json["replay"] = json_text(record.replay);
  json["decoded"] = record.decoded;
  json["position"] = record.position ? json_position(*record.position) : Json(nullptr);
  json["headers"] = Json::array();
  for (const auto& [name, value] : record.event.headers) {
    json["headers"].push_back({{"name", json_text(name)}, {"value", json_text(value)}});
  }
  json["key"] = key_text(record.key);
  json["further_keys"] = Json::array();
  for (const Key& key : record.further_keys) json["further_keys"].push_back(key_text(key));
  json["fingerprint"] = hex_text(record.fingerprint);
  if (!with_raw) return json;
  json["raw"] = json_text(record.raw);
  if (!is_utf8(record.raw)) json["raw_base64"] = encode_base64(record.raw);
  return json;
}

std::string last_error(const DeferredRecord& record) {
  return record.errors.empty() ? std::string{} : record.errors.back();
}

}  // namespace onefold::cli
