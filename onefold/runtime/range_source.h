#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "onefold/clock.h"
#include "onefold/replays.h"
#include "onefold/source.h"

namespace onefold {

/// Reads how a replay stands now. Throws `Error` as the store does.
using ReplayLookup = std::function<std::optional<ReplayRecord>()>;

/// The temporary source of a replay of a range: hands out what `original` has between the beginning
/// of the range and its ends, under the same identity, as fast as rate and ramp allow. While the
/// replay does not run there is nothing. Sets `ended` when all of it has been handed out.
SourceFactory range_source(const SourceFactory& original, SourceRange range, ReplayLookup lookup,
                           Clock& clock, std::shared_ptr<bool> ended);

}  // namespace onefold
