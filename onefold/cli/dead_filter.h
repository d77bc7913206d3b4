#pragma once

#include "onefold/records.h"

namespace CLI {
class App;
}

namespace onefold::cli {

/// `--consumer`, `--kind`, `--since`: which of the events that were set aside. The same in every
/// command that takes several.
void add_dead_filter(CLI::App& command, DeferredFilter& filter);

}  // namespace onefold::cli
