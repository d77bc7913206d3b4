#pragma once

#include <string>

#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/replays.h"

namespace CLI {
class App;
}

/// Replays of a range of a source: what `replay start` and the views of it say differently.
namespace onefold::cli {

/// `--source`, `--from` and `--to`, in the place of `--source` of a filter of dead letters.
void add_range_options(CLI::App& command, SourceRange& range);

/// Ends the command if the words go not together, or the source cannot be read again.
void require_range(const OpenedStore& opened, const DeferredFilter& filter,
                   const SourceRange& range);

/// "consumer billing, source orders from offset 0 to 1,500".
std::string range_text(const std::string& consumer, const SourceRange& range);
Json range_json(const SourceRange& range);

}  // namespace onefold::cli
