#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/statements.h"

namespace onefold {

/// The most that is kept of one event's effect.
inline constexpr std::size_t result_bytes_max = 1UL << 16U;

/// The JSON object that is kept as evidence of a handler's effect. `row` is what the last statement
/// returned; empty if no column is taken from it.
///
/// Nothing is rounded: integers are numbers, floating-point values have the digits that read back
/// as the same, decimals are strings as SQL has them, parameters of type `json` stand as they came,
/// bytes are lower-case hexadecimal digits. Throws `Error` of kind `permanent`, without the value,
/// for what JSON cannot hold: text that is not UTF-8, infinity, more than 64 KiB.
std::string result_text(const HandlerConfig& handler, const std::vector<Parameter>& parameters,
                        const std::vector<Value>& row);

}  // namespace onefold
