#include "onefold/runtime/rules.h"

#include <algorithm>
#include <set>

namespace onefold {
namespace {
constexpr std::size_t batch_limit = 10'000;
}  // namespace

std::vector<std::string> id_prefixes_of(std::span<const SourceFactory> sources) {
  std::set<std::string> prefixes;
  for (const SourceFactory& source : sources) {
    prefixes.insert(source.id_prefixes.begin(), source.id_prefixes.end());
  }
  return {prefixes.begin(), prefixes.end()};
}

std::string rules_of(std::span<const SourceFactory> sources) {
  std::string prefixes;
  for (const std::string& prefix : id_prefixes_of(sources)) {
    prefixes += (prefixes.empty() ? "" : ",") + prefix;
  }
  std::string rules =
      "fingerprint = canonical\n"
      "key = event\n"
      "order = none\n"
      "scope = consumer\n";
  rules += "id_prefixes = " + (prefixes.empty() ? "none" : prefixes) + "\n";
  for (const SourceFactory& source : sources) {
    rules += "source " + source.name + " = " + source.identity + "\n";
  }
  return rules;
}

std::string defect_of(const Consumer& consumer) {
  if (consumer.name.empty()) return "a consumer needs a name: it is part of every key";
  const std::string who = "consumer '" + consumer.name + "': ";
  if (consumer.batch_max < 1 || consumer.batch_max > batch_limit) {
    return who + "batch_max must be from 1 to " + std::to_string(batch_limit);
  }
  if (consumer.attempts_max < 1) return who + "attempts_max must be at least 1";
  if (consumer.handlers.empty()) return who + "it has no handlers";
  std::set<std::string> names;
  for (const HandlerSpec& handler : consumer.handlers) {
    if (handler.name.empty() || !handler.handle)
      return who + "a handler needs a name and a function";
    if (!names.insert(handler.name).second) {
      return who + "two handlers are called '" + handler.name + "'";
    }
    if (handler.type.empty() || handler.type.find('*') < handler.type.size() - 1) {
      return who + "handler '" + handler.name +
             "': the type must be an event type, with a * at its end at most";
    }
  }
  return {};
}

}  // namespace onefold
