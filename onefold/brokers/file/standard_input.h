#pragma once

#include <memory>

#include "onefold/brokers/file/file.h"

namespace onefold::file {

/// A source of the bytes that come from `descriptor`, which stays the caller's. It has no position:
/// what was handed out and not applied is gone with the process.
std::unique_ptr<Source> open_standard_input(int descriptor, const Options& options,
                                            SourceContext context);

}  // namespace onefold::file
