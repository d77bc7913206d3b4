#pragma once

#include <span>
#include <string>

#include "onefold/consumer.h"
#include "onefold/source.h"

namespace onefold {

/// The decisions that the keys of a consumer depend on, as text for `ConsumerRules`: the next start
/// with other ones would apply old events again (semantics 1.5).
std::string rules_of(const Consumer& consumer, std::span<const SourceFactory> sources);

/// All prefixes of ids that the sources declare, sorted. They hold for the whole consumer, so that
/// an event that arrives through two sources has one key.
std::vector<std::string> id_prefixes_of(std::span<const SourceFactory> sources);

/// Whether two descriptions of a consumer agree in all that can be compared: not in the functions.
bool say_the_same(const Consumer& one, const Consumer& other);

/// What makes a consumer unusable, in words; empty if nothing does.
std::string defect_of(const Consumer& consumer);

}  // namespace onefold
