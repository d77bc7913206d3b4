#include <string>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/envelope.h"
#include "onefold/formats/fingerprint.h"

namespace onefold {
namespace {

constexpr std::string_view literal_prefix = "literal:";

bool is_derived(std::string_view id) {
  return id == id_from_bytes || id == id_from_position;
}

std::string defect_of(std::string_view field, std::string_view rule, bool required, bool literal) {
  const std::string start = "identity." + std::string{field} + ": ";
  if (rule.empty()) return required ? start + "is missing" : std::string{};
  if (rule.starts_with(literal_prefix)) {
    if (!literal) return start + "must be a JSON Pointer, a constant means nothing here";
    return rule.size() == literal_prefix.size() ? start + "the constant is empty" : std::string{};
  }
  const std::string defect = pointer_defect(rule);
  if (defect.empty()) return {};
  return start + defect + (literal ? ", or is a constant such as \"literal:shop\"" : "");
}

/// One attribute's place, read once.
struct Place {
  explicit Place(std::string_view rule)
      : literal{rule.starts_with(literal_prefix)},
        text{literal ? rule.substr(literal_prefix.size()) : rule} {}
  std::optional<JsonValue> in(const JsonValue& object) const {
    if (literal || text.empty()) return {};
    return object.at(text);
  }
  bool literal;
  std::string text;
};

class JsonDecoder final : public Decoder {
 public:
  JsonDecoder(const IdentityRule& rule, DecodeLimits limits)
      : envelope_{limits},
        id_{rule.id},
        source_{rule.source},
        type_{rule.type},
        subject_{rule.subject},
        time_{rule.time},
        id_type_{rule.id_type} {}

  void decode(std::string_view bytes, Delivery& delivery) override {
    const auto object = envelope_.open(bytes, delivery);
    if (!object) return;
    Event& event = delivery.event;
    if (id_.text == id_from_bytes) {
      event.id = sha256_hex(bytes);
    } else if (id_.text != id_from_position) {
      envelope_.read_id(id_.in(*object), id_type_, event.id);
    }
    read(source_, *object, "SOURCE_MISSING: the event has no source", event.source);
    read(type_, *object, "TYPE_MISSING: the event has no type", event.type);
    read(subject_, *object, {}, event.subject);
    envelope_.read_time(time_.in(*object), event.time);
    if (!event.data) event.data.emplace();
    event.data->assign(object->raw());
  }

 private:
  Envelope envelope_;
  Place id_;
  Place source_;
  Place type_;
  Place subject_;
  Place time_;
  IdType id_type_;

  void read(const Place& place, const JsonValue& object, std::string_view missing,
            std::string& to) {
    if (place.literal) {
      to.assign(place.text);
    } else {
      envelope_.read_text(place.in(object), missing, to);
    }
  }
};

}  // namespace

std::string identity_defect(const IdentityRule& rule) {
  if (is_derived(rule.id) && rule.id_type == IdType::integer) {
    return "identity.id: \"" + rule.id + "\" makes texts, no integers";
  }
  const std::string id_defect = is_derived(rule.id) ? "" : defect_of("id", rule.id, true, false);
  for (const std::string& defect :
       {id_defect, defect_of("source", rule.source, true, true),
        defect_of("type", rule.type, true, true), defect_of("subject", rule.subject, false, true),
        defect_of("time", rule.time, false, false)}) {
    if (!defect.empty()) return defect;
  }
  return {};
}

std::unique_ptr<Decoder> open_json_decoder(const IdentityRule& rule, DecodeLimits limits) {
  const std::string defect = identity_defect(rule);
  if (!defect.empty()) throw Error{ErrorKind::bad_configuration, defect};
  return std::make_unique<JsonDecoder>(rule, limits);
}

}  // namespace onefold
