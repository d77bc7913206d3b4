#pragma once

#include <string>

#include "onefold/cli/json_text.h"
#include "onefold/housekeeping.h"

/// How an event that was set aside is shown, in `dead` and in `inbox why`.
namespace onefold::cli {

/// Everything, with the bytes. `in_file`: it came from a file, so that its offset counts bytes.
std::string deferred_text(const DeferredRecord& record, bool in_file);
/// The same for programs: `raw` as text, and as `raw_base64` if it is not UTF-8.
Json deferred_json(const DeferredRecord& record);
/// What finally went wrong; empty if nothing is known.
std::string last_error(const DeferredRecord& record);

}  // namespace onefold::cli
