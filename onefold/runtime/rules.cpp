#include "onefold/runtime/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "onefold/formats/json.h"

namespace onefold {
namespace {
constexpr std::size_t batch_limit = 10'000;
constexpr int workers_limit = 64;
}  // namespace

std::vector<std::string> id_prefixes_of(std::span<const SourceFactory> sources) {
  std::set<std::string> prefixes;
  for (const SourceFactory& source : sources) {
    prefixes.insert(source.id_prefixes.begin(), source.id_prefixes.end());
  }
  return {prefixes.begin(), prefixes.end()};
}

namespace {

/// So that no two lists read alike, and none is more than one line.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char character : text) {
    if (character == '\\' || character == ',' || character == ';') safe += '\\';
    if (character == '\n') {
      safe += "\\n";
    } else {
      safe += character;
    }
  }
  return safe;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + escaped(text);
  return all;
}

std::string text_of(const std::vector<KeySpec>& keys) {
  if (keys.empty()) return "event";
  std::string text;
  for (const KeySpec& key : keys) {
    text += text.empty() ? "" : " + ";
    text += key.rule.empty() ? "event" : key.rule + "(" + joined(key.values) + ")";
  }
  return text;
}

std::string text_of(const FingerprintRule& rule) {
  switch (rule.kind) {
    case FingerprintRule::Kind::bytes:
      return "bytes";
    case FingerprintRule::Kind::off:
      return "off";
    case FingerprintRule::Kind::canonical:
      break;
  }
  return rule.ignore.empty() ? "canonical" : "canonical without " + joined(rule.ignore);
}

bool has_business_key(const std::vector<KeySpec>& keys) {
  return std::ranges::any_of(keys, [](const KeySpec& key) { return !key.rule.empty(); });
}

/// What is compared under a business key, in words.
std::string compared(const std::set<std::string>& pointers) {
  return pointers.empty() ? "all" : joined({pointers.begin(), pointers.end()});
}

/// What the keys depend on beyond the rules of the consumer. Where a handler's name is no part of
/// the keys, its type stands for it, so that a handler may be renamed and nothing else.
std::string rules_of_handlers(const Consumer& consumer) {
  std::string rules;
  std::map<std::string, std::set<std::string>> by_type;
  for (const HandlerSpec& handler : consumer.handlers) {
    const std::set<std::string> pointers{handler.fingerprint_of.begin(),
                                         handler.fingerprint_of.end()};
    if (consumer.scope == Scope::consumer) {
      by_type[handler.type].insert(pointers.begin(), pointers.end());
      continue;
    }
    const auto& keys = handler.keys.empty() ? consumer.keys : handler.keys;
    rules += "handler " + handler.name + " key = " + text_of(keys) + "\n";
    if (!has_business_key(keys)) continue;
    rules += "handler " + handler.name + " compares = " + compared(pointers) + "\n";
  }
  if (!has_business_key(consumer.keys)) return rules;
  // Patterns can overlap, and then an event is compared by what all of them name.
  const bool patterns =
      std::ranges::any_of(by_type, [](const auto& each) { return each.first.ends_with('*'); });
  std::string all;
  for (const auto& [type, pointers] : by_type) {
    if (!patterns) rules += "type " + type + " compares = " + compared(pointers) + "\n";
    all += (all.empty() ? "" : ";") + escaped(type) + ":" + compared(pointers);
  }
  return patterns ? rules + "all types compare = " + all + "\n" : rules;
}

bool uses_attributes(const std::vector<KeySpec>& keys) {
  return std::ranges::any_of(keys, [](const KeySpec& key) {
    return std::ranges::any_of(key.values,
                               [](const std::string& value) { return value.starts_with("attr:"); });
  });
}

/// Whether a type or subject that is read from another place would make another key.
bool uses_attributes(const Consumer& consumer) {
  return uses_attributes(consumer.keys) ||
         std::ranges::any_of(consumer.handlers, [](const HandlerSpec& handler) {
           return uses_attributes(handler.keys);
         });
}

}  // namespace

std::string rules_of(const Consumer& consumer, std::span<const SourceFactory> sources) {
  const std::vector<std::string> prefixes = id_prefixes_of(sources);
  std::string rules = "fingerprint = " + text_of(consumer.fingerprint) + "\n";
  rules += "key = " + text_of(consumer.keys) + "\n";
  rules += "order = none\n";
  if (consumer.order) rules += "entity = " + escaped(consumer.order->entity) + "\n";
  rules +=
      std::string{"scope = "} + (consumer.scope == Scope::handler ? "handler" : "consumer") + "\n";
  rules += "id_prefixes = " + (prefixes.empty() ? "none" : joined(prefixes)) + "\n";
  rules += rules_of_handlers(consumer);
  for (const SourceFactory& source : sources) {
    rules += "source " + source.name + " = " + escaped(source.identity) + "\n";
    if (!uses_attributes(consumer)) continue;
    rules += "source " + source.name + " attributes = " + escaped(source.attributes) + "\n";
  }
  return rules;
}

namespace {

bool is_place(const std::string& value) {
  static const std::set<std::string> attributes{"attr:id", "attr:source", "attr:type",
                                                "attr:subject"};
  return attributes.contains(value) || (!value.empty() && pointer_defect(value).empty());
}

std::string defect_of(const std::vector<KeySpec>& keys) {
  std::set<std::string> rules;
  for (const KeySpec& key : keys) {
    if (!rules.insert(key.rule).second) {
      return key.rule.empty() ? "the event is named twice as a key"
                              : "two keys have the name '" + key.rule + "'";
    }
    if (key.rule.empty() != key.values.empty()) {
      return key.rule.empty() ? "a key with values needs a name"
                              : "the key '" + key.rule + "' needs at least one value";
    }
    for (const std::string& value : key.values) {
      if (is_place(value)) continue;
      return "the key '" + key.rule + "': '" + value +
             "' is neither a JSON Pointer into the data nor attr:id, attr:source, attr:type or "
             "attr:subject";
    }
  }
  return {};
}

std::string defect_of(const HandlerSpec& handler, const Consumer& consumer) {
  if (handler.name.empty() || !handler.handle == !handler.handle_batch) {
    return "a handler needs a name and one function, handle or handle_batch";
  }
  const std::string which = "handler '" + handler.name + "': ";
  if (handler.type.empty() || handler.type.find('*') < handler.type.size() - 1) {
    return which + "the type must be an event type, with a * at its end at most";
  }
  if (std::ranges::any_of(handler.type, [](unsigned char c) { return c < ' '; })) {
    return which + "the type holds a control character";
  }
  if (!handler.keys.empty() && consumer.scope != Scope::handler) {
    return which + "it can have keys of its own only with the scope 'handler'";
  }
  for (const std::string& pointer : handler.fingerprint_of) {
    if (!pointer_defect(pointer).empty()) {
      return which + "'" + pointer + "' in fingerprint_of is no JSON Pointer";
    }
  }
  const std::string defect = defect_of(handler.keys);
  return defect.empty() ? defect : which + defect;
}

}  // namespace

bool say_the_same(const Consumer& one, const Consumer& other) {
  const auto options = [](const Consumer& consumer) {
    return std::tuple{consumer.batch_max,   consumer.retry,       consumer.breaker,
                      consumer.crashes_max, consumer.unsupported, consumer.workers,
                      consumer.claim};
  };
  const auto handler = [](const HandlerSpec& spec) {
    return std::tie(spec.name, spec.type, spec.version, spec.entity, spec.retry);
  };
  const auto same_handler = [&](const HandlerSpec& left, const HandlerSpec& right) {
    return handler(left) == handler(right);
  };
  return rules_of(one, {}) == rules_of(other, {}) && options(one) == options(other) &&
         std::ranges::equal(one.handlers, other.handlers, same_handler);
}

namespace {

/// Of what is done about failures.
std::string defect_of_failures(const Consumer& consumer) {
  if (const auto defect = defect_of(consumer.retry); !defect.empty()) {
    return "retry." + std::string{defect};
  }
  if (const auto defect = defect_of(consumer.breaker); !defect.empty()) {
    return "breaker." + std::string{defect};
  }
  constexpr int crashes_limit = 100;
  if (consumer.crashes_max < 1 || consumer.crashes_max > crashes_limit) {
    return "crashes_max: 1 to 100";
  }
  for (const HandlerSpec& handler : consumer.handlers) {
    const auto defect = handler.retry ? defect_of(*handler.retry) : std::string_view{};
    if (!defect.empty()) return "handler '" + handler.name + "': retry." + std::string{defect};
  }
  if (!consumer.order) return {};
  if (consumer.order->entity.empty() || !pointer_defect(consumer.order->entity).empty()) {
    return "order.entity must be a JSON Pointer into the data";
  }
  return {};
}

}  // namespace

std::string defect_of(const Consumer& consumer) {
  if (consumer.name.empty()) return "a consumer needs a name: it is part of every key";
  const std::string who = "consumer '" + consumer.name + "': ";
  if (consumer.batch_max < 1 || consumer.batch_max > batch_limit) {
    return who + "batch_max must be from 1 to " + std::to_string(batch_limit);
  }
  if (consumer.workers < 1 || consumer.workers > workers_limit) {
    return who + "workers must be from 1 to " + std::to_string(workers_limit);
  }
  if (const std::string defect = defect_of_failures(consumer); !defect.empty()) {
    return who + defect;
  }
  if (consumer.handlers.empty()) return who + "it has no handlers";
  if (const std::string defect = defect_of(consumer.keys); !defect.empty()) return who + defect;
  std::set<std::string> names;
  for (const HandlerSpec& handler : consumer.handlers) {
    if (const std::string defect = defect_of(handler, consumer); !defect.empty()) {
      return who + defect;
    }
    if (!names.insert(handler.name).second) {
      return who + "two handlers are called '" + handler.name + "'";
    }
  }
  return {};
}

}  // namespace onefold
