#include "onefold/cli/dead_letter.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "onefold/cli/json_text.h"
#include "onefold/failure.h"
#include "onefold/formats/text.h"
#include "onefold/runtime/key_rule.h"

namespace onefold::cli {
namespace {

constexpr const char* form_name = "onefold_dead_letters";
constexpr int form_version = 1;

Json exact(std::string_view text) {
  return is_utf8(text) ? Json(text) : Json{{"base64", encode_base64(text)}};
}

std::string bytes_from(const Json& base64) {
  const auto bytes = decode_base64(base64.get_ref<const std::string&>());
  if (!bytes) throw LetterDefect{"a text is not base64"};
  std::string text;
  text.reserve(bytes->size());
  for (const std::byte byte : *bytes) text += static_cast<char>(byte);
  return text;
}

std::string exact_from(const Json& json) {
  return json.is_object() ? bytes_from(json.at("base64")) : json.get<std::string>();
}

Timestamp time_from(const Json& json) {
  const auto time = parse_rfc3339(json.get_ref<const std::string&>());
  if (!time) throw LetterDefect{"a time is not one of RFC 3339"};
  return *time;
}

std::optional<Timestamp> optional_time_from(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional{time_from(json)};
}

std::array<std::uint8_t, 16> hex_from(const Json& json) {
  const auto key = key_from("0:" + json.get<std::string>());
  if (!key) throw LetterDefect{"a key or a fingerprint is not 32 hexadecimal digits"};
  return key->bytes;
}

/// "123", or "high-low" beyond 64 bits.
Offset offset_from(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  Offset offset;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  if (const std::size_t dash = text.find('-'); dash != std::string::npos) {
    at = std::from_chars(at, at + dash, offset.high).ptr;
    if (at != text.data() + dash) throw LetterDefect{"an offset is no number"};
    ++at;
  }
  const auto low = std::from_chars(at, end, offset.low);
  if (low.ec != std::errc{} || low.ptr != end) throw LetterDefect{"an offset is no number"};
  return offset;
}

Json position_json(const std::optional<Position>& position) {
  if (!position) return nullptr;
  return {{"incarnation", exact(position->partition->incarnation)},
          {"partition", exact(position->partition->name)},
          {"at", offset_text(position->at)},
          {"next", offset_text(position->next)}};
}

std::optional<Position> position_from(const Json& json, const std::string& source) {
  if (json.is_null()) return std::nullopt;
  auto partition = std::make_shared<const Partition>(
      Partition{source, exact_from(json.at("incarnation")), exact_from(json.at("partition"))});
  return Position{std::move(partition), offset_from(json.at("at")), offset_from(json.at("next"))};
}

Json event_json(const Event& event) {
  Json headers = Json::array();
  for (const auto& [name, value] : event.headers) {
    headers.push_back(Json::array({exact(name), exact(value)}));
  }
  return {{"id", exact(event.id)},         {"source", exact(event.source)},
          {"type", exact(event.type)},     {"subject", exact(event.subject)},
          {"time", json_time(event.time)}, {"content_type", exact(event.content_type)},
          {"headers", std::move(headers)}};
}

Event event_from(const Json& json) {
  Event event{.id = exact_from(json.at("id")),
              .source = exact_from(json.at("source")),
              .type = exact_from(json.at("type")),
              .subject = exact_from(json.at("subject")),
              .time = optional_time_from(json.at("time")),
              .content_type = exact_from(json.at("content_type")),
              .headers = {},
              .data = {}};
  for (const Json& each : json.at("headers")) {
    event.headers.emplace_back(exact_from(each.at(0)), exact_from(each.at(1)));
  }
  return event;
}

Json claim_json(const std::optional<InboxRecord>& claim) {
  if (!claim) return nullptr;
  return {{"outcome", to_string(claim->outcome)},
          {"event_source", exact(claim->event_source)},
          {"event_id", exact(claim->event_id)},
          {"event_type", exact(claim->event_type)},
          {"event_time", json_time(claim->event_time)},
          {"entity", exact(claim->entity)},
          {"handled_by", exact(claim->handled_by)},
          {"result", exact(claim->result)},
          {"fingerprint", hex_text(claim->fingerprint)},
          {"recorded_at", json_time(claim->recorded_at)}};
}

std::optional<InboxRecord> claim_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  const auto outcome = outcome_from(json.at("outcome").get<std::string>());
  if (!outcome) throw LetterDefect{"a claim has an outcome that is not known"};
  return InboxRecord{.key = {},
                     .outcome = *outcome,
                     .waiting = true,
                     .event_source = exact_from(json.at("event_source")),
                     .event_id = exact_from(json.at("event_id")),
                     .event_type = exact_from(json.at("event_type")),
                     .event_time = optional_time_from(json.at("event_time")),
                     .entity = exact_from(json.at("entity")),
                     .handled_by = exact_from(json.at("handled_by")),
                     .fingerprint = hex_from(json.at("fingerprint")),
                     .result = exact_from(json.at("result")),
                     .recorded_at = time_from(json.at("recorded_at"))};
}

Json key_json(const LetterKey& key) {
  return {{"handler", exact(key.handler)}, {"source_or_rule", exact(key.source_or_rule)},
          {"form", exact(key.key_form)},   {"names_source", !key.always},
          {"key", hex_text(key.bytes)},    {"claim", claim_json(key.claim)}};
}

/// No version writes more, and no database holds more attempts.
std::int64_t number_from(const Json& json, std::uint64_t least, const char* defect) {
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (!json.is_number()) throw LetterDefect{"a member has a value of the wrong type"};
  if (!json.is_number_unsigned()) throw LetterDefect{defect};
  const auto number = json.get<std::uint64_t>();
  if (number < least || number > most) throw LetterDefect{defect};
  return static_cast<std::int64_t>(number);
}

/// Text that a person reads as it stands.
bool is_plain(std::string_view text) {
  return printable(text, text.size()) == text;
}

std::string handler_from(const Json& json) {
  std::string handler = exact_from(json);
  if (!is_plain(handler)) throw LetterDefect{"a handler's name has characters that none can have"};
  return handler;
}

bool is_key_form(std::string_view form) {
  for (const std::string_view whole : {"hashed", "source+hashed", "position", "bytes", "values"}) {
    if (form == whole) return true;
  }
  constexpr std::string_view one_value = "values+";
  if (form.starts_with(one_value)) form.remove_prefix(one_value.size());
  if (!form.starts_with("uuid") && !form.starts_with("ulid")) return false;
  form.remove_prefix(4);
  return form.empty() || (form.size() > 1 && form.front() == ':' && is_plain(form));
}

std::string key_form_from(const Json& json) {
  std::string form = exact_from(json);
  if (!is_key_form(form)) throw LetterDefect{"a key has a form that no version of Onefold writes"};
  return form;
}

LetterKey letter_key_from(const Json& json) {
  return {.handler = handler_from(json.at("handler")),
          .source_or_rule = exact_from(json.at("source_or_rule")),
          .key_form = key_form_from(json.at("form")),
          .always = !json.at("names_source").get<bool>(),
          .bytes = hex_from(json.at("key")),
          .claim = claim_from(json.at("claim"))};
}

/// Whether the inbox can say so of an event that is set aside.
bool is_outcome_of(std::string_view reason, Outcome outcome) {
  if (reason == to_string(DeferralReason::dead)) return outcome == Outcome::dead;
  if (outcome == Outcome::deferred) return true;
  return reason == to_string(DeferralReason::quarantine) && outcome == Outcome::dead;
}

/// What must hold between the members: a conflict has no claim, all others have one for each key.
void require_claims(const DeadLetter& letter) {
  if (letter.keys.empty()) throw LetterDefect{"it has no key"};
  const bool conflict = letter.row.reason == to_string(DeferralReason::conflict);
  for (const LetterKey& key : letter.keys) {
    if (key.claim.has_value() == conflict) {
      throw LetterDefect{conflict ? "a conflict has a claim, which none can have"
                                  : "a key has no claim"};
    }
    if (key.claim && !is_outcome_of(letter.row.reason, key.claim->outcome)) {
      throw LetterDefect{"the outcome of a claim is not that of its kind"};
    }
  }
}

/// Keys made of ids can be made again; those of positions, bytes and values cannot.
void require_keys(const DeadLetter& letter) {
  const Event& event = letter.row.event;
  for (const LetterKey& key : letter.keys) {
    const std::string& form = key.key_form;
    const bool made_of_id = form != "position" && form != "bytes" && !form.starts_with("values");
    if (made_of_id && key_under_form(form, event.source, event.id) != key.bytes) {
      throw LetterDefect{"a key is not the one that its event's id gives"};
    }
  }
}

/// What versions before the waiting room did not write is as in a row of theirs: the bytes are
/// decoded anew.
void read_failure(const Json& json, DeferredRecord& row) {
  row.decoded = false;
  if (!json.contains("class")) return;
  row.failure = json.at("class").get<std::string>();
  if (!row.failure.empty() && !failure_class_from(row.failure)) {
    throw LetterDefect{"its class is none that a failure can have"};
  }
  row.entity = exact_from(json.at("entity"));
  row.due_at = optional_time_from(json.at("due_at"));
  row.decoded = json.at("decoded").get<bool>();
}

/// Only a decoded event has data that its bytes do not give again.
void read_data(const Json& json, DeferredRecord& row) {
  const auto data = json.find("data_base64");
  if (data != json.end() && !data->is_null()) row.event.data = bytes_from(*data);
}

DeadLetter letter_of(const Json& json) {
  DeadLetter letter;
  DeferredRecord& row = letter.row;
  row.consumer = exact_from(json.at("consumer"));
  row.reason = json.at("kind").get<std::string>();
  if (!deferral_reason_from(row.reason)) {
    throw LetterDefect{"its kind is none of retry, behind, dead, quarantine, conflict"};
  }
  read_failure(json, row);
  row.handler = handler_from(json.at("handler"));
  for (const Json& each : json.at("errors")) row.errors.push_back(exact_from(each));
  row.attempts = static_cast<int>(
      number_from(json.at("attempts"), 0, "attempts is no whole number from 0 to 2147483647"));
  row.count = number_from(json.at("count"), 1, "count is no whole number from 1 to 2147483647");
  row.first_at = time_from(json.at("first_at"));
  row.last_at = time_from(json.at("last_at"));
  row.source = exact_from(json.at("source"));
  row.position = position_from(json.at("position"), row.source);
  row.event = event_from(json.at("event"));
  row.fingerprint = hex_from(json.at("fingerprint"));
  for (const Json& each : json.at("keys")) letter.keys.push_back(letter_key_from(each));
  row.raw = bytes_from(json.at("raw_base64"));
  read_data(json, row);
  require_claims(letter);
  require_keys(letter);
  return letter;
}

/// Calls `read` with the line as JSON. The library's own messages could hold pieces of the data.
template <class Read>
auto reading(std::string_view line, Read read) {
  try {
    const Json json = Json::parse(line);
    if (!json.is_object()) throw LetterDefect{"it is no JSON object"};
    return read(json);
  } catch (const Json::parse_error&) {
    throw LetterDefect{"it is not JSON, or not all of it is there"};
  } catch (const Json::out_of_range&) {
    throw LetterDefect{"a member is missing"};
  } catch (const Json::exception&) {
    throw LetterDefect{"a member has a value of the wrong type"};
  }
}

}  // namespace

std::string letter_head(const std::vector<ConsumerRecord>& consumers) {
  Json json;
  json[form_name] = form_version;
  json["consumers"] = Json::array();
  for (const ConsumerRecord& each : consumers) {
    json["consumers"].push_back(
        {{"name", exact(each.name)}, {"rules", exact(each.rules)}, {"mode", exact(each.mode)}});
  }
  return dumped_line(json);
}

std::vector<ConsumerRecord> consumers_in_head(std::string_view line) {
  return reading(line, [](const Json& json) {
    const auto version = json.find(form_name);
    if (version == json.end() || *version != form_version) {
      throw LetterDefect{"it does not begin as onefold dead export does"};
    }
    std::vector<ConsumerRecord> consumers;
    for (const Json& each : json.at("consumers")) {
      consumers.push_back(
          {exact_from(each.at("name")), exact_from(each.at("rules")), exact_from(each.at("mode"))});
    }
    return consumers;
  });
}

std::string letter_line(const DeadLetter& letter) {
  const DeferredRecord& row = letter.row;
  Json json;
  json["consumer"] = exact(row.consumer);
  json["kind"] = row.reason;
  json["class"] = row.failure;
  json["entity"] = exact(row.entity);
  json["due_at"] = json_time(row.due_at);
  json["decoded"] = row.decoded;
  json["handler"] = exact(row.handler);
  json["errors"] = Json::array();
  for (const std::string& each : row.errors) json["errors"].push_back(exact(each));
  json["attempts"] = row.attempts;
  json["count"] = row.count;
  json["first_at"] = json_time(row.first_at);
  json["last_at"] = json_time(row.last_at);
  json["source"] = exact(row.source);
  json["position"] = position_json(row.position);
  json["event"] = event_json(row.event);
  json["fingerprint"] = hex_text(row.fingerprint);
  json["keys"] = Json::array();
  for (const LetterKey& each : letter.keys) json["keys"].push_back(key_json(each));
  json["raw_base64"] = encode_base64(row.raw);
  json["data_base64"] = row.event.data ? Json(encode_base64(*row.event.data)) : Json(nullptr);
  return dumped_line(json);
}

DeadLetter letter_from(std::string_view line) {
  return reading(line, letter_of);
}

}  // namespace onefold::cli
