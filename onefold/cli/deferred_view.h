#pragma once

#include <string>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/list_output.h"
#include "onefold/records.h"

/// How an event that was set aside is shown, in `dead` and in `inbox why`.
namespace onefold::cli {

/// Everything, with the bytes. `in_file`: it came from a file, so that its offset counts bytes.
std::string deferred_text(const DeferredRecord& record, bool in_file);
/// The same for programs: with `raw`, the bytes as text, and as `raw_base64` if they are not UTF-8.
Json deferred_json(const DeferredRecord& record, bool with_raw);
/// What a list shows of it.
const std::vector<ListColumn>& deferred_columns();
/// What finally went wrong; empty if nothing is known.
std::string last_error(const DeferredRecord& record);

}  // namespace onefold::cli
