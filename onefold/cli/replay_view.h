#pragma once

#include <string>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/list_output.h"
#include "onefold/replays.h"

/// How replays are shown.
namespace onefold::cli {

/// Whether it goes on, or can.
bool has_ended(const ReplayRecord& replay) noexcept;

/// The report for people; ends with a line break.
std::string replay_text(const ReplayRecord& replay, Timestamp now);
/// The same for programs.
Json replay_json(const ReplayRecord& replay, Timestamp now);
/// What a list shows of it.
const std::vector<ListColumn>& replay_columns();
/// How far it has come, on one line without an end.
std::string replay_progress(const ReplayRecord& replay, Timestamp now);

/// "consumer billing, class rows": in the words of the options.
std::string filter_text(const DeferredFilter& filter);
/// Which events a replay takes: its range, or its filter.
std::string selection_text(const ReplayRecord& replay);

}  // namespace onefold::cli
