#include "onefold/lab/trial/trial_faults.h"

#include <algorithm>

namespace onefold::lab {
namespace {

using Kind = TrialFaultKind;

constexpr int unlimited = 1000;

std::string meaning_of(Kind kind, const TrialSpec& spec) {
  const bool any_order = std::ranges::any_of(
      spec.sources, [&](const TrialSource& source) { return !keeps_order(spec, source); });
  switch (kind) {
    case Kind::crash:
      return "the process dies before any step, and is started again";
    case Kind::commit_in_doubt:
      return "the answer to a COMMIT is lost, which has worked or has not";
    case Kind::commit_refused:
      return "the database rolls back instead of committing";
    case Kind::acknowledgement_lost:
      return "the broker never hears that deliveries are done, and hands them out again";
    case Kind::acknowledgement_failed:
      return "the broker closes the channel during an acknowledgement";
    case Kind::duplicate:
      return "an event is sent once more, before or after its first copy is committed";
    case Kind::arrival:
      return any_order ? "one event arrives alone and before the others, whichever it is"
                       : "the next event arrives alone, and the others later";
    case Kind::other_worker_first:
      return "another worker takes its turn first, so that sources are read in another order";
    case Kind::restore:
      return "the database is restored to an earlier commit, while the files stay as they are";
  }
  return {};
}

}  // namespace

TrialFaultKind kind_of(Act act) noexcept {
  switch (act) {
    case Act::crash:
    case Act::crash_all:
      return Kind::crash;
    case Act::commit_in_doubt_worked:
    case Act::commit_in_doubt_rolled_back:
      return Kind::commit_in_doubt;
    case Act::commit_refused:
      return Kind::commit_refused;
    case Act::acknowledgement_lost:
      return Kind::acknowledgement_lost;
    case Act::acknowledgement_refused:
    case Act::acknowledged_with_error:
      return Kind::acknowledgement_failed;
    case Act::redeliver:
      return Kind::duplicate;
    case Act::hand_out_one:
      return Kind::arrival;
    case Act::restore:
      return Kind::restore;
    default:
      return Kind::other_worker_first;
  }
}

const char* name_of(TrialFaultKind kind) noexcept {
  switch (kind) {
    case Kind::crash:
      return "crash";
    case Kind::commit_in_doubt:
      return "commit in doubt";
    case Kind::commit_refused:
      return "commit refused";
    case Kind::acknowledgement_lost:
      return "acknowledgement lost";
    case Kind::acknowledgement_failed:
      return "acknowledgement failed";
    case Kind::duplicate:
      return "duplicate";
    case Kind::arrival:
      return "arrival";
    case Kind::other_worker_first:
      return "other worker first";
    case Kind::restore:
      return "restore";
  }
  return "";
}

bool is_log(const TrialSpec& spec, const TrialSource& source) noexcept {
  return !spec.any_order && source.source.traits.kind == SourceClass::owned_log;
}

bool keeps_order(const TrialSpec& spec, const TrialSource& source) noexcept {
  return !spec.any_order && source.source.traits.ordered;
}

/// As the runner does: a source that cannot be shared has one.
int workers_for(const TrialSpec& spec, const TrialSource& source) noexcept {
  return spec.any_order || source.source.traits.shareable ? 2 : 1;
}

bool order_is_free(const TrialSpec& spec) noexcept {
  return spec.subscriptions.size() > 1 ||
         std::ranges::any_of(spec.sources,
                             [&](const TrialSource& source) { return !keeps_order(spec, source); });
}

int budget_of(TrialFaultKind kind, const TrialSpec& spec) noexcept {
  const auto log = [&](const TrialSource& source) { return is_log(spec, source); };
  const bool all_logs = std::ranges::all_of(spec.sources, log);
  const bool any_logs = std::ranges::any_of(spec.sources, log);
  int workers = 0;
  for (const TrialSubscription& each : spec.subscriptions) {
    workers += workers_for(spec, spec.sources[each.source]);
  }
  switch (kind) {
    case Kind::crash:
    case Kind::commit_in_doubt:
    case Kind::commit_refused:
      return 2;
    case Kind::acknowledgement_lost:
      // A file never hears of it anyway.
      return all_logs && any_logs ? 0 : 2;
    case Kind::acknowledgement_failed:
      return 1;
    case Kind::duplicate:
      return 3;
    case Kind::arrival:
      return 20;
    case Kind::other_worker_first:
      return workers > 1 ? unlimited : 0;
    case Kind::restore:
      // What a queue has heard to be done does not come again.
      return all_logs ? 1 : 0;
  }
  return 0;
}

std::vector<TrialFault> faults_of(const TrialSpec& spec) {
  std::vector<TrialFault> faults;
  for (std::size_t i = 0; i < trial_fault_count; ++i) {
    const auto kind = static_cast<Kind>(i);
    const int budget = budget_of(kind, spec);
    if (budget > 0) faults.push_back({name_of(kind), meaning_of(kind, spec), budget});
  }
  return faults;
}

}  // namespace onefold::lab
