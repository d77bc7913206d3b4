#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/deferred.h"
#include "onefold/replays.h"

/// What a replay keeps in single columns.
namespace onefold {

/// What a filter restricts, as a JSON array of texts `name=value`, in a fixed order: equal texts
/// exactly for equal filters. `key`, `after`, `limit`, `with_raw` and `up_to` are no part of it.
std::string text_of_filter(const DeferredFilter& filter);
/// Throws `bad_configuration` if the text is none of these.
DeferredFilter filter_from(std::string_view text);

/// A JSON array of texts `name=value`; empty without a source.
std::string text_of_range(const SourceRange& range);
/// Throws `bad_configuration` if the text is none of these.
SourceRange range_from(std::string_view text);

/// `1,10,100`.
std::string text_of_ramp(std::span<const std::int64_t> ramp);
std::vector<std::int64_t> ramp_from(std::string_view text);

}  // namespace onefold
