#include <algorithm>
#include <array>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

std::vector<std::string> read_sources(const TableReader& reader,
                                      const std::map<std::string, SourceConfig>& known) {
  std::vector<std::string> names;
  for (const PlacedText& source : reader.require_texts("sources")) {
    if (!source.usable) continue;
    if (std::ranges::find(names, source.text) != names.end()) {
      reader.reading().problem(source.place,
                               "the source \"" + printable(source.text) + "\" stands here twice",
                               "name each source once");
    } else if (!known.contains(source.text)) {
      std::vector<std::string> candidates;
      for (const auto& [name, config] : known) candidates.push_back(name);
      reader.reading().problem(source.place, "there is no [source." + printable(source.text) + "]",
                               nearest_hint(source.text, candidates, "sources"));
    }
    names.push_back(source.text);
  }
  return names;
}

std::optional<ClaimMode> read_claim(const TableReader& reader) {
  switch (reader.choice("claim")) {
    case 1:
      return ClaimMode::claim_first;
    case 2:
      return ClaimMode::optimistic;
    default:
      return std::nullopt;
  }
}

FingerprintRule read_fingerprint(const TableReader& reader) {
  constexpr std::array kinds{FingerprintRule::Kind::canonical, FingerprintRule::Kind::bytes,
                             FingerprintRule::Kind::off};
  FingerprintRule rule;
  rule.kind = kinds.at(reader.choice("fingerprint"));
  rule.ignore = reader.pointers("fingerprint_ignore");
  if (rule.kind != FingerprintRule::Kind::canonical) {
    reader.refuse("fingerprint_ignore",
                  R"(only fingerprint = "canonical" knows the fields of an event)");
  }
  return rule;
}

/// A handler's own key needs an outcome of its own.
void check_handler_key(const toml::table& handler, const HandlerConfig& config,
                       const ConsumerConfig& consumer, ConfigReading& reading) {
  const toml::node* key = handler.get("key");
  if (key == nullptr || consumer.scope == Scope::handler) return;
  reading.problem(*key,
                  "the handler \"" + printable(config.name) +
                      "\" has a \"key\" of its own, but all handlers of an event are one effect",
                  "write scope = \"handler\" in [consumer." + printable(consumer.name) +
                      "], or move the key there");
}

/// What an event is about is said once.
void check_handler_entity(const toml::table& handler, const HandlerConfig& config,
                          const ConsumerConfig& consumer, ConfigReading& reading) {
  const toml::node* entity = handler.get("entity");
  if (entity == nullptr || !consumer.order) return;
  reading.problem(*entity,
                  "the handler \"" + printable(config.name) +
                      "\" has an \"entity\" of its own, beside that of \"order\"",
                  "remove it here: the one of \"order\" is recorded as evidence");
}

void read_handlers(const TableReader& reader, ConsumerConfig& consumer) {
  ConfigReading& reading = reader.reading();
  const std::string section = "[[consumer." + printable(consumer.name) + ".handler]]";
  const toml::node* node = reader.find("handler");
  if (node == nullptr) {
    reader.problem_here(reader.label() + " needs a handler", "write " + section + " below it");
    return;
  }
  const toml::array* handlers = node->as_array();
  if (handlers == nullptr) {
    reading.problem(*node, "handlers are an array of tables, because their order matters",
                    "write " + section + ", with two brackets, above each handler");
    return;
  }
  if (handlers->empty()) {
    reading.problem(*node, reader.label() + " has no handler", "write " + section + " below it");
  }
  std::vector<std::string> names;
  for (const toml::node& element : *handlers) {
    const toml::table* table = element.as_table();
    if (table == nullptr) {
      reading.problem(element, "a handler must be a table, not " + std::string{describe(element)},
                      "write " + section + " above each handler");
      continue;
    }
    HandlerConfig handler = read_handler(*table, section, consumer.retry, reading);
    check_handler_key(*table, handler, consumer, reading);
    check_handler_entity(*table, handler, consumer, reading);
    if (!handler.name.empty() && std::ranges::find(names, handler.name) != names.end()) {
      reading.problem(*(*table)["name"].node(),
                      "the consumer has another handler named \"" + printable(handler.name) + "\"",
                      "names tell in the evidence which handler ran: each needs its own");
    }
    names.push_back(handler.name);
    consumer.handlers.push_back(std::move(handler));
  }
}

}  // namespace

ConsumerConfig read_consumer(const std::string& name, const toml::table& table,
                             const std::map<std::string, SourceConfig>& sources,
                             ConfigReading& reading) {
  const TableReader reader{table, table_schema("consumer.*"), "[consumer." + printable(name) + "]",
                           reading};
  ConsumerConfig consumer;
  consumer.name = name;
  consumer.sources = read_sources(reader, sources);
  consumer.batch_max = static_cast<std::size_t>(reader.integer("batch_max"));
  consumer.retry = read_retry(reader, "consumer.*.retry", RetryPolicy{});
  consumer.breaker = read_breaker(reader);
  consumer.crashes_max = static_cast<int>(reader.integer("crashes_max"));
  consumer.order = read_order(reader);
  // One value today: naming it in the file says what later versions must keep doing.
  reader.choice("on_conflict");
  consumer.unsupported =
      reader.choice("unsupported") == 1 ? Unsupported::ignore : Unsupported::dead_letter;
  consumer.claim = read_claim(reader);
  consumer.scope = reader.choice("scope") == 1 ? Scope::handler : Scope::consumer;
  consumer.keys = read_keys(reader);
  consumer.fingerprint = read_fingerprint(reader);
  read_handlers(reader, consumer);
  consumer.invariants = read_invariants(reader, name);
  return consumer;
}

}  // namespace onefold
