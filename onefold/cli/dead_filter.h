#pragma once

#include <string>
#include <vector>

#include "onefold/records.h"

namespace CLI {
class App;
}

namespace onefold::cli {

/// The kinds of events that are set aside, as `--kind` and the column `kind` name them.
const std::vector<std::string>& deferred_kinds();
/// Those that a replay makes due: the others are due anyway, or can never be.
const std::vector<std::string>& replayable_kinds();

/// `--consumer`, `--kind`, `--class`, `--handler`, `--type`, `--source`, `--since`: which of the
/// events that were set aside. The same in every command that takes several.
void add_dead_filter(CLI::App& command, DeferredFilter& filter,
                     const std::vector<std::string>& kinds = deferred_kinds());

}  // namespace onefold::cli
