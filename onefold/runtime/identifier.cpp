#include "onefold/runtime/identifier.h"

#include <algorithm>
#include <utility>

#include "onefold/formats/json_token.h"

namespace onefold {
namespace {

constexpr std::size_t routes_max = 1024;
constexpr std::size_t scopes_max = 4096;
constexpr std::string_view attribute_start = "attr:";

const std::vector<KeySpec>& event_key_alone() {
  static const std::vector<KeySpec> keys{KeySpec{}};
  return keys;
}

std::string_view attribute(const Event& event, std::string_view name) {
  if (name == "id") return event.id;
  if (name == "source") return event.source;
  if (name == "type") return event.type;
  return event.subject;
}

/// "-0" would be a second spelling of 0.
bool is_plain_integer(std::string_view token) {
  return is_json_integer(token) && token != "-0" && integer_from<std::int64_t>(token).has_value();
}

/// The part of a key that `place` leads to, or why there is none.
struct Found {
  KeyValue value;
  std::string_view defect;
};
Found find_value(const Event& event, const std::optional<JsonValue>& data,
                 const std::string& place) {
  if (place.starts_with(attribute_start)) {
    const std::string_view text =
        attribute(event, std::string_view{place}.substr(attribute_start.size()));
    return {{false, text}, text.empty() ? "KEY_MISSING: the event does not have" : ""};
  }
  const auto value = data ? data->at(place) : std::nullopt;
  if (!value || value->kind() == JsonKind::null) {
    return {{}, "KEY_MISSING: the event's data does not have"};
  }
  if (value->kind() == JsonKind::string) return {{false, value->text()}, {}};
  if (value->kind() == JsonKind::number && is_plain_integer(value->raw())) {
    return {{true, value->raw()}, {}};
  }
  return {{}, "KEY_TYPE: neither a string nor a 64-bit integer is"};
}

}  // namespace

Identifier::Identifier(const Consumer& consumer, ConsumerId id, std::string source, KeyRule rule)
    : consumer_{consumer},
      id_{id},
      source_{std::move(source)},
      rule_{std::move(rule)},
      fingerprinter_{consumer.fingerprint} {}

void Identifier::open(const Delivery& delivery, std::vector<Item>& items) {
  if (!delivery.defect.empty()) {
    items.emplace_back(delivery);
    return;
  }
  const std::vector<Route>& routes = routes_of(delivery.event.type);
  for (std::size_t part = 0; part < routes.size(); ++part) {
    Item& item = items.emplace_back(delivery, &routes[part]);
    item.part = part;
    item.last_part = part + 1 == routes.size();
  }
}

const std::vector<Route>& Identifier::routes_of(const std::string& type) {
  const auto known = routes_.find(type);
  if (known != routes_.end()) return known->second;
  std::vector<const HandlerSpec*> handlers;
  for (const HandlerSpec& handler : consumer_.handlers) {
    if (matches(handler.type, type)) handlers.push_back(&handler);
  }
  std::vector<Route> routes;
  if (consumer_.scope == Scope::handler && !handlers.empty()) {
    for (const HandlerSpec* handler : handlers) routes.push_back(route_of({&handler, 1}));
  } else {
    routes.push_back(route_of(handlers));
  }
  return routes_.emplace(type, std::move(routes)).first->second;
}

Route Identifier::route_of(std::span<const HandlerSpec* const> handlers) const {
  Route route;
  route.keys = consumer_.keys.empty() ? &event_key_alone() : &consumer_.keys;
  for (const HandlerSpec* handler : handlers) {
    if (!route.handled_by.empty()) route.handled_by += ' ';
    route.handled_by += handler->name + "@" + std::to_string(handler->version);
    route.handlers.push_back(handler);
    if (!handler->keys.empty()) route.keys = &handler->keys;
    if (consumer_.scope == Scope::handler) route.scope = handler->name;
    route.compared.insert(route.compared.end(), handler->fingerprint_of.begin(),
                          handler->fingerprint_of.end());
  }
  std::ranges::sort(route.compared);
  const auto repeated = std::ranges::unique(route.compared);
  route.compared.erase(repeated.begin(), repeated.end());
  return route;
}

void Identifier::identify(std::span<Item> parts, Session& session) {
  if (parts.front().route == nullptr) {
    identify_defect(parts.front(), session);
    return;
  }
  const Reading reading = read(parts.front().delivery->event);
  for (Item& item : parts) identify_part(item, reading, session);
  if (const Waiting* waiting = parts.front().waiting()) identify_waiting(parts, *waiting);
}

namespace {

bool has_the_keys_of(const Item& item, const Waiting& waiting) {
  return item.key.key == waiting.key &&
         std::ranges::is_permutation(item.further_keys, waiting.further_keys, {},
                                     [](const ItemKey& key) { return key.key; });
}

}  // namespace

/// What has waited is run under the keys that it holds, by the handlers to which they belong.
void Identifier::identify_waiting(std::span<Item> parts, const Waiting& waiting) {
  const auto own =
      std::ranges::find_if(parts, [&](const Item& item) { return has_the_keys_of(item, waiting); });
  if (own == parts.end() && !waiting.decoded) return;  // Its own key is claimed now.
  Item& kept = own == parts.end() ? parts.front() : *own;
  for (Item& item : parts) {
    if (&item != &kept) item.verdict = Outcome::ignored;
  }
  kept.held = true;
  if (own != parts.end()) return;
  kept.key = {.key = waiting.key, .fingerprint = kept.key.fingerprint};
  kept.further_keys.clear();
  for (const Key& key : waiting.further_keys) kept.further_keys.push_back({.key = key});
  refuse(kept, FailureClass::key,
         "KEY_CHANGED: by the rules of today this event has another key, or its handler is gone; "
         "bring the rule back, or edit the event to give it another id");
}

void Identifier::identify_defect(Item& item, Session& session) {
  const Delivery& delivery = *item.delivery;
  refuse(item, FailureClass::undecodable, delivery.defect);
  if (const Waiting* waiting = item.waiting()) {
    item.key = {.key = waiting->key, .fingerprint = sha256_128(delivery.raw)};
    item.held = true;
    return;
  }
  item.keyed_by_bytes = !delivery.position.has_value();
  const DerivedKey derived =
      item.keyed_by_bytes ? rule_.of_bytes(delivery.raw) : rule_.of_position(*delivery.position);
  const auto number = scope(scope_name(item, source_, derived.form, true), session);
  item.key = {.key = {.scope = number.value(), .bytes = derived.bytes},
              .fingerprint = sha256_128(delivery.raw)};
}

Identifier::Reading Identifier::read(const Event& event) {
  Reading reading{.event = event};
  if (event.data && is_json(event.content_type) && document_.parse(*event.data)) {
    reading.data = document_.root();
  }
  reading.fingerprint =
      reading.data ? fingerprinter_.of(event, *reading.data) : fingerprinter_.of(event);
  return reading;
}

/// What the event is about: by the rule of order, or else by the first handler that says so.
std::string Identifier::entity_of(const Route& route, const Reading& reading) const {
  std::vector<std::string_view> places;
  if (consumer_.order) places.emplace_back(consumer_.order->entity);
  for (const HandlerSpec* handler : route.handlers) {
    if (!consumer_.order && !handler->entity.empty()) places.emplace_back(handler->entity);
  }
  for (const std::string_view place : places) {
    const auto value = reading.data ? reading.data->at(place) : std::nullopt;
    if (!value || value->kind() == JsonKind::null) continue;
    return std::string{value->kind() == JsonKind::string ? value->text() : value->raw()};
  }
  return {};
}

void Identifier::identify_part(Item& item, const Reading& reading, Session& session) {
  const Route& route = *item.route;
  if (route.handlers.empty()) {
    if (consumer_.unsupported == Unsupported::ignore) {
      item.verdict = Outcome::ignored;
      return;
    }
    refuse(item, FailureClass::unsupported,
           "UNSUPPORTED: no handler of consumer '" + consumer_.name + "' matches the event's type");
  }
  item.entity = entity_of(route, reading);
  item.further_keys.clear();
  const auto& specs = route.handlers.empty() ? event_key_alone() : *route.keys;
  for (const KeySpec& spec : specs) {
    const auto key = spec.rule.empty() ? event_key(item, reading, session)
                                       : business_key(item, spec, reading, session);
    if (!key) {
      // It is set aside under the one key that every event has.
      item.key = event_key(item, reading, session);
      item.further_keys.clear();
      return;
    }
    if (&spec == &specs.front()) {
      item.key = *key;
    } else {
      item.further_keys.push_back(*key);
    }
  }
}

void Identifier::refuse(Item& item, FailureClass failure, std::string why) {
  const Waiting* const waiting = item.waiting();
  item.verdict = Outcome::dead;
  item.reason = DeferralReason::dead;
  item.attempts = waiting != nullptr ? waiting->attempts : 0;
  item.errors = waiting != nullptr ? waiting->errors : std::vector<std::string>{};
  item.add_error(std::move(why), failure);
}

ItemKey Identifier::event_key(const Item& item, const Reading& reading, Session& session) {
  const Event& event = reading.event;
  DerivedKey derived = rule_.of_id(event.id);
  auto number = scope(scope_name(item, event.source, derived.form, false), session);
  if (!number) {
    derived = rule_.of_source_and_id(event.source, event.id);
    number = scope(scope_name(item, "*", derived.form, true), session);
  }
  return {.key = {.scope = number.value(), .bytes = derived.bytes},
          .fingerprint = reading.fingerprint};
}

std::optional<ItemKey> Identifier::business_key(Item& item, const KeySpec& spec,
                                                const Reading& reading, Session& session) {
  std::vector<KeyValue> values;
  for (const std::string& place : spec.values) {
    const Found found = find_value(reading.event, reading.data, place);
    if (!found.defect.empty()) {
      refuse(item, FailureClass::key,
             std::string{found.defect} + " " + place + ", which is a part of the key '" +
                 spec.rule + "'");
      return {};
    }
    values.push_back(found.value);
  }
  const DerivedKey derived = rule_.of_values(values);
  const auto number = scope(scope_name(item, spec.rule, derived.form, true), session);
  const bool fields = reading.data && !item.route->compared.empty();
  return ItemKey{.key = {.scope = number.value(), .bytes = derived.bytes},
                 .fingerprint = fields
                                    ? fingerprinter_.of_fields(*reading.data, item.route->compared)
                                    : reading.fingerprint,
                 .rule = spec.rule};
}

ScopeName Identifier::scope_name(const Item& item, std::string_view source_or_rule,
                                 std::string_view form, bool always) const {
  return {.consumer = id_,
          .handler = item.route != nullptr ? item.route->scope : std::string_view{},
          .source_or_rule = source_or_rule,
          .key_form = form,
          .always = always};
}

std::optional<std::int32_t> Identifier::scope(const ScopeName& name, Session& session) {
  scope_text_.assign(name.handler).append(1, '\n').append(name.key_form);
  scope_text_.append(1, '\n').append(name.source_or_rule);
  const auto known = scopes_.find(scope_text_);
  if (known != scopes_.end()) return known->second;
  const std::optional<std::int32_t> number = session.scope(name);
  if (scopes_.size() >= scopes_max) scopes_.clear();
  scopes_.emplace(scope_text_, number);
  return number;
}

void Identifier::trim() {
  if (routes_.size() >= routes_max) routes_.clear();
}

}  // namespace onefold
