#include "onefold/runtime/identifier.h"

#include <utility>

namespace onefold {
namespace {
constexpr std::size_t routes_max = 1024;
constexpr std::size_t scopes_max = 4096;
}  // namespace

Identifier::Identifier(const Consumer& consumer, ConsumerId id, std::string source, KeyRule rule)
    : consumer_{consumer}, id_{id}, source_{std::move(source)}, rule_{std::move(rule)} {}

void Identifier::identify(Item& item, Session& session) {
  if (!item.delivery->defect.empty()) {
    identify_defect(item, session);
    return;
  }
  item.route = route_of(item.delivery->event.type);
  if (item.route->handlers.empty()) {
    if (consumer_.unsupported == Unsupported::ignore) {
      item.verdict = Outcome::ignored;
      return;
    }
    item.verdict = Outcome::dead;
    item.errors = {"UNSUPPORTED: no handler of consumer '" + consumer_.name +
                   "' matches the event's type"};
  }
  derive_key(item, session);
  read_data(item);
}

void Identifier::identify_defect(Item& item, Session& session) {
  item.verdict = Outcome::dead;
  item.errors = {item.delivery->defect};
  item.keyed_by_bytes = !item.delivery->position.has_value();
  const DerivedKey derived = item.keyed_by_bytes ? rule_.of_bytes(item.delivery->raw)
                                                 : rule_.of_position(*item.delivery->position);
  item.key = {.scope = scope(source_, derived.form, true, session).value(), .bytes = derived.bytes};
  item.fingerprint = sha256_128(item.delivery->raw);
}

void Identifier::derive_key(Item& item, Session& session) {
  const Event& event = item.delivery->event;
  DerivedKey derived = rule_.of_id(event.id);
  std::optional<std::int32_t> number = scope(event.source, derived.form, false, session);
  if (!number) {
    derived = rule_.of_source_and_id(event.source, event.id);
    number = scope("*", derived.form, true, session);
  }
  item.key = {.scope = number.value(), .bytes = derived.bytes};
}

void Identifier::read_data(Item& item) {
  const Event& event = item.delivery->event;
  const bool parsed = event.data && is_json(event.content_type) && document_.parse(*event.data);
  if (!parsed) {
    item.fingerprint = fingerprinter_.of(event);
    return;
  }
  item.fingerprint = fingerprinter_.of(document_.root());
  for (const HandlerSpec* handler : item.route->handlers) {
    if (handler->entity.empty()) continue;
    if (const auto value = document_.root().at(handler->entity)) {
      item.entity = value->kind() == JsonKind::string ? value->text() : value->raw();
      return;
    }
  }
}

const Route* Identifier::route_of(const std::string& type) {
  const auto known = routes_.find(type);
  if (known != routes_.end()) return &known->second;
  Route route;
  for (const HandlerSpec& handler : consumer_.handlers) {
    if (!matches(handler.type, type)) continue;
    if (!route.handlers.empty()) route.handled_by += ' ';
    route.handled_by += handler.name + "@" + std::to_string(handler.version);
    route.handlers.push_back(&handler);
  }
  return &routes_.emplace(type, std::move(route)).first->second;
}

std::optional<std::int32_t> Identifier::scope(std::string_view source_or_rule,
                                              std::string_view key_form, bool always,
                                              Session& session) {
  scope_name_.assign(key_form).append(1, '\n').append(source_or_rule);
  const auto known = scopes_.find(scope_name_);
  if (known != scopes_.end()) return known->second;
  const std::optional<std::int32_t> number = session.scope({.consumer = id_,
                                                            .handler = {},
                                                            .source_or_rule = source_or_rule,
                                                            .key_form = key_form,
                                                            .always = always});
  if (scopes_.size() >= scopes_max) scopes_.clear();
  scopes_.emplace(scope_name_, number);
  return number;
}

void Identifier::trim() {
  if (routes_.size() >= routes_max) routes_.clear();
}

}  // namespace onefold
