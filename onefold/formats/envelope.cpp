#include "onefold/formats/envelope.h"

#include <fmt/format.h>

#include <cstdint>

#include "onefold/formats/json_token.h"
#include "onefold/formats/text.h"

namespace onefold {

std::optional<JsonValue> Envelope::open(std::string_view bytes, Delivery& delivery) {
  delivery_ = &delivery;
  delivery.raw.assign(bytes);
  delivery.defect.clear();
  Event& event = delivery.event;
  event.id.clear();
  event.source.clear();
  event.type.clear();
  event.subject.clear();
  event.time.reset();
  event.content_type.clear();
  event.headers.clear();
  if (bytes.size() > limits_.event_bytes_max) {
    refuse(fmt::format("TOO_LARGE: {} bytes, and {} are allowed", bytes.size(),
                       limits_.event_bytes_max));
  } else if (!document_.parse(bytes)) {
    refuse(document_.defect());
  } else if (document_.root().kind() != JsonKind::object) {
    refuse("NOT_AN_OBJECT: an event is a JSON object");
  } else {
    return document_.root();
  }
  event.data.reset();
  return {};
}

void Envelope::refuse(std::string_view defect) {
  if (delivery_->defect.empty()) delivery_->defect.assign(defect);
}

void Envelope::read_id(const std::optional<JsonValue>& value, IdType type, std::string& to) {
  if (value && value->kind() != JsonKind::null) {
    if (type == IdType::string) {
      if (value->kind() != JsonKind::string) return refuse("ID_TYPE: the id is not a string");
      to.assign(value->text());
    } else {
      const std::string_view token = value->raw();
      // "-0" would be a second spelling of 0.
      if (!is_json_integer(token) || token == "-0")
        return refuse("ID_TYPE: the id is not an integer");
      if (!integer_from<std::int64_t>(token))
        return refuse("ID_RANGE: the id does not fit in 64 bits");
      to.assign(token);
    }
  }
  check_id(to);
}

void Envelope::check_id(const std::string& id) {
  if (id.find_first_not_of(" \t\r\n") == std::string::npos) {
    refuse("ID_MISSING: the event has no id, or an empty one");
  } else if (id.size() > limits_.id_bytes_max) {
    refuse(fmt::format("ID_TOO_LONG: the id has {} bytes, and {} are allowed", id.size(),
                       limits_.id_bytes_max));
  } else if (id.find('\0') != std::string::npos) {
    refuse("ID_NUL: the id holds U+0000, which not every database can store");
  }
}

void Envelope::read_text(const std::optional<JsonValue>& value, std::string_view missing,
                         std::string& to) {
  if (value && value->kind() == JsonKind::string) {
    to.assign(value->text());
    if (to.find('\0') != std::string::npos)
      refuse("ATTRIBUTE_TYPE: an attribute holds U+0000, which not every database can store");
  } else if (value && value->kind() != JsonKind::null) {
    refuse("ATTRIBUTE_TYPE: an attribute that must be a string is none");
  }
  if (to.empty() && !missing.empty()) refuse(missing);
}

void Envelope::read_time(const std::optional<JsonValue>& value, std::optional<Timestamp>& to) {
  if (!value || value->kind() == JsonKind::null) return;
  if (value->kind() == JsonKind::string) to = parse_rfc3339(value->text());
  if (!to) refuse("TIME_FORMAT: the time is not RFC 3339, as in 2026-11-30T14:00:00Z");
}

}  // namespace onefold
