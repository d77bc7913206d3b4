#include "onefold/cli/dead_filter.h"

#include <CLI/CLI.hpp>
#include <cstddef>

#include "onefold/cli/options.h"
#include "onefold/evidence.h"
#include "onefold/failure.h"

namespace onefold::cli {
namespace {

std::vector<std::string> failure_classes() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < failure_class_count; ++i) {
    names.emplace_back(to_string(static_cast<FailureClass>(i)));
  }
  return names;
}

}  // namespace

const std::vector<std::string>& deferred_kinds() {
  static const std::vector<std::string> kinds{
      to_string(DeferralReason::dead), to_string(DeferralReason::retry),
      to_string(DeferralReason::behind), to_string(DeferralReason::quarantine),
      to_string(DeferralReason::conflict)};
  return kinds;
}

const std::vector<std::string>& replayable_kinds() {
  static const std::vector<std::string> kinds{to_string(DeferralReason::dead),
                                              to_string(DeferralReason::quarantine)};
  return kinds;
}

void add_dead_filter(CLI::App& command, DeferredFilter& filter,
                     const std::vector<std::string>& kinds) {
  command.add_option("--consumer", filter.consumer, "Of this consumer only")->type_name("NAME");
  add_choice(command, "--kind", filter.reason, kinds, "kinds", "Set aside as this only");
  add_choice(command, "--class", filter.failure, failure_classes(), "classes",
             "Whose failure is of this class only");
  command.add_option("--handler", filter.handler, "Failed in this handler only")->type_name("NAME");
  command.add_option("--type", filter.event_type, "Of this event type only")->type_name("TYPE");
  command.add_option("--source", filter.source, "Of this source of the configuration only")
      ->type_name("NAME");
  add_since_option(command, filter.since, "Only those that last came then or later");
}

}  // namespace onefold::cli
