#pragma once

#include <string_view>

#include "onefold/lab/choice.h"
#include "onefold/lab/trial/trial.h"

namespace onefold::lab {

/// What can go wrong in a trial, the easiest to understand first: of two failures the one that
/// needs less is told.
enum class TrialFaultKind {
  arrival,
  other_worker_first,
  duplicate,
  crash,
  commit_refused,
  commit_in_doubt,
  acknowledgement_lost,
  acknowledgement_failed,
  restore,
};
inline constexpr std::size_t trial_fault_count = 9;

/// Of a choice other than the default one.
TrialFaultKind kind_of(Act act) noexcept;
const char* name_of(TrialFaultKind kind) noexcept;

/// Whether a source is an owned log in this trial, and whether it keeps its order.
bool is_log(const TrialSpec& spec, const TrialSource& source) noexcept;
bool keeps_order(const TrialSpec& spec, const TrialSource& source) noexcept;
int workers_for(const TrialSpec& spec, const TrialSource& source) noexcept;
/// Events can be applied in several orders: within a source, or because there are several.
bool order_is_free(const TrialSpec& spec) noexcept;

/// 0: it cannot happen there.
int budget_of(TrialFaultKind kind, const TrialSpec& spec) noexcept;

}  // namespace onefold::lab
