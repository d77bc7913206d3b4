#include <algorithm>
#include <span>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::int64_t batch_limit = 10'000;
constexpr std::int64_t attempts_limit = 100;

std::vector<std::string> read_sources(TableReader& reader,
                                      const std::map<std::string, SourceConfig>& known,
                                      ConfigProblems& problems) {
  std::vector<std::string> names;
  for (const PlacedText& source : reader.require_texts("sources", R"(sources = ["orders"])")) {
    if (source.place.line == 0) continue;  // Reported as no string.
    if (std::ranges::find(names, source.text) != names.end()) {
      problems.add(source.place, "the source \"" + printable(source.text) + "\" stands here twice");
    } else if (!known.contains(source.text)) {
      std::vector<std::string> candidates;
      for (const auto& [name, config] : known) candidates.push_back(name);
      problems.add(source.place, "there is no [source." + printable(source.text) + "]",
                   nearest_hint(source.text, candidates, "sources"));
    }
    names.push_back(source.text);
  }
  return names;
}

void read_handlers(TableReader& reader, ConsumerConfig& consumer, ConfigProblems& problems) {
  const std::string section = "[[consumer." + printable(consumer.name) + ".handler]]";
  const toml::node* node = reader.require("handler", section);
  if (node == nullptr) return;
  const toml::array* handlers = node->as_array();
  if (handlers == nullptr) {
    problems.add(node->source(), "handlers are an array of tables, because their order matters",
                 "write " + section + ", with two brackets, above each handler");
    return;
  }
  if (handlers->empty()) problems.add(node->source(), reader.label() + " has no handler");
  std::vector<std::string> names;
  for (const toml::node& element : *handlers) {
    const toml::table* table = element.as_table();
    if (table == nullptr) {
      problems.add(element.source(),
                   "a handler must be a table, not " + std::string{describe(element)});
      continue;
    }
    HandlerConfig handler = read_handler(*table, section, problems);
    if (!handler.name.empty() && std::ranges::find(names, handler.name) != names.end()) {
      problems.add((*table)["name"].node()->source(),
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
                             ConfigProblems& problems) {
  TableReader reader{table, "[consumer." + printable(name) + "]", problems};
  ConsumerConfig consumer;
  consumer.name = name;
  consumer.sources = read_sources(reader, sources, problems);
  consumer.batch_max = static_cast<std::size_t>(reader.integer("batch_max", 500, 1, batch_limit));
  consumer.attempts_max = static_cast<int>(reader.integer("attempts", 3, 1, attempts_limit));
  // One value each today: naming it in the file says what later versions must keep doing.
  reader.choice("key", {"event"}, 0);
  reader.choice("on_conflict", {"dead-letter"}, 0);
  consumer.unsupported = reader.choice("unsupported", {"dead-letter", "ignore"}, 0) == 1
                             ? Unsupported::ignore
                             : Unsupported::dead_letter;
  consumer.claim_first = reader.choice("claim", {"auto", "first"}, 0) == 1;
  read_handlers(reader, consumer, problems);
  reader.finish();
  return consumer;
}

}  // namespace onefold
