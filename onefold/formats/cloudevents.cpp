#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onefold/formats/decoder.h"
#include "onefold/formats/envelope.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/json_token.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

bool is_attribute_name(std::string_view name) {
  if (name.empty()) return false;
  for (const char character : name) {
    if ((character < 'a' || character > 'z') && (character < '0' || character > '9')) return false;
  }
  return true;
}

/// Members that wait for others: their order in the text means nothing.
struct Members {
  std::optional<JsonValue> id;
  std::optional<JsonValue> source;
  std::optional<JsonValue> specversion;
  std::optional<JsonValue> type;
  std::optional<JsonValue> subject;
  std::optional<JsonValue> time;
  std::optional<JsonValue> datacontenttype;
  std::optional<JsonValue> data;
  std::optional<JsonValue> data_base64;
};

constexpr std::array<std::pair<std::string_view, std::optional<JsonValue> Members::*>, 9> known{{
    {"id", &Members::id},
    {"source", &Members::source},
    {"specversion", &Members::specversion},
    {"type", &Members::type},
    {"subject", &Members::subject},
    {"time", &Members::time},
    {"datacontenttype", &Members::datacontenttype},
    {"data", &Members::data},
    {"data_base64", &Members::data_base64},
}};

class CloudEventsDecoder final : public Decoder {
 public:
  explicit CloudEventsDecoder(DecodeLimits limits) : envelope_{limits} {}

  void decode(std::string_view bytes, Delivery& delivery) override {
    const auto object = envelope_.open(bytes, delivery);
    if (!object) return;
    Event& event = delivery.event;
    const Members members = sort_out(*object, event.headers);
    read_version(members.specversion);
    envelope_.read_id(members.id, IdType::string, event.id);
    envelope_.read_text(members.source, "SOURCE_MISSING: the event has no source", event.source);
    envelope_.read_text(members.type, "TYPE_MISSING: the event has no type", event.type);
    envelope_.read_text(members.subject, {}, event.subject);
    envelope_.read_text(members.datacontenttype, {}, event.content_type);
    envelope_.read_time(members.time, event.time);
    read_data(members, event);
  }

 private:
  Envelope envelope_;

  Members sort_out(const JsonValue& object, Headers& headers) {
    Members members;
    for (auto member = object.first(); member; member = member->next()) {
      const std::string_view name = member->name();
      const auto* const place = std::find_if(
          known.begin(), known.end(), [name](const auto& entry) { return entry.first == name; });
      if (place != known.end()) {
        members.*(place->second) = *member;
      } else if (!is_attribute_name(name)) {
        envelope_.refuse("ATTRIBUTE_TYPE: an attribute's name has characters beside a-z and 0-9");
      } else {
        read_extension(*member, headers);
      }
    }
    return members;
  }

  void read_version(const std::optional<JsonValue>& value) {
    if (!value || value->kind() == JsonKind::null) {
      envelope_.refuse("SPECVERSION: specversion is missing, so that this is no CloudEvent");
    } else if (value->kind() != JsonKind::string || value->text() != "1.0") {
      envelope_.refuse("SPECVERSION: specversion is another than the string 1.0");
    }
  }

  /// Booleans and 32-bit integers stand for their canonical strings.
  void read_extension(const JsonValue& value, Headers& headers) {
    std::string text;
    if (value.kind() == JsonKind::null) return;
    if (value.kind() == JsonKind::boolean) {
      text = value.raw();
    } else if (value.kind() == JsonKind::number) {
      const auto number = integer_from<std::int32_t>(value.raw());
      if (!number)
        return envelope_.refuse("ATTRIBUTE_TYPE: a number attribute is no 32-bit integer");
      text = std::to_string(*number);
    } else {
      envelope_.read_text(value, {}, text);
    }
    headers.emplace_back("ce-" + std::string{value.name()}, std::move(text));
  }

  void read_data(const Members& members, Event& event) {
    const bool binary = members.data_base64 && members.data_base64->kind() != JsonKind::null;
    if (binary && members.data) {
      envelope_.refuse("ENVELOPE_CONFLICT: the event has data and data_base64");
    } else if (binary) {
      return read_base64(*members.data_base64, event);
    } else if (members.data) {
      return read_plain(*members.data, event);
    }
    event.data.reset();
  }

  void read_base64(const JsonValue& value, Event& event) {
    event.data.reset();
    if (value.kind() != JsonKind::string)
      return envelope_.refuse("ATTRIBUTE_TYPE: data_base64 is not a string");
    const auto bytes = decode_base64(value.text());
    if (!bytes) return envelope_.refuse("ATTRIBUTE_TYPE: data_base64 is not base64");
    event.data.emplace(bytes->size(), '\0');
    std::transform(bytes->begin(), bytes->end(), event.data->begin(),
                   [](std::byte byte) { return static_cast<char>(byte); });
  }

  /// A string is the content itself, unless the content is JSON: then it is a JSON string.
  static void read_plain(const JsonValue& value, Event& event) {
    const bool content = value.kind() == JsonKind::string && !is_json(event.content_type);
    if (!event.data) event.data.emplace();
    event.data->assign(content ? value.text() : value.raw());
  }
};

}  // namespace

std::unique_ptr<Decoder> open_cloudevents_decoder(DecodeLimits limits) {
  return std::make_unique<CloudEventsDecoder>(limits);
}

}  // namespace onefold
