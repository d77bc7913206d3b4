#include "onefold/lab/choice.h"

#include <algorithm>

#include "onefold/lab/world_spec.h"

namespace onefold::lab {

const char* to_string(Act act) noexcept {
  switch (act) {
    case Act::rest:
      return "rest";
    case Act::step:
      return "step";
    case Act::crash:
      return "crash";
    case Act::crash_all:
      return "crash of all";
    case Act::disconnect:
      return "disconnect";
    case Act::redeliver:
      return "redelivery";
    case Act::revoke:
      return "revocation";
    case Act::restore:
      return "restore";
    case Act::promote:
      return "failover";
    case Act::early:
      return "time passes";
    case Act::replay:
      return "dead letters are tried again";
    case Act::discard:
      return "an event is given up";
    case Act::clock_jump:
      return "clock jump";
    case Act::commit:
      return "COMMIT works";
    case Act::commit_in_doubt_worked:
      return "COMMIT works and its answer is lost";
    case Act::commit_in_doubt_rolled_back:
      return "COMMIT is lost";
    case Act::commit_refused:
      return "COMMIT is refused";
    case Act::acknowledge:
      return "acknowledged";
    case Act::acknowledgement_lost:
      return "the acknowledgement is lost";
    case Act::acknowledgement_refused:
      return "the acknowledgement fails";
    case Act::acknowledged_with_error:
      return "the answer to the acknowledgement is lost";
    case Act::hand_out_one:
      return "one delivery alone arrives";
  }
  return "rest";
}

std::size_t deviations(const Schedule& schedule) noexcept {
  return schedule.size() - static_cast<std::size_t>(std::ranges::count(schedule, 0));
}

const char* to_string(Landmark landmark) noexcept {
  switch (landmark) {
    case Landmark::duplicate_before_commit:
      return "duplicate before commit";
    case Landmark::duplicate_after_commit:
      return "duplicate after commit";
    case Landmark::in_doubt_committed:
      return "in doubt, committed";
    case Landmark::in_doubt_rolled_back:
      return "in doubt, rolled back";
    case Landmark::refused_commit:
      return "refused commit";
    case Landmark::lost_acknowledgement:
      return "lost acknowledgement";
    case Landmark::blocked:
      return "blocked";
    case Landmark::deadlock:
      return "deadlock";
    case Landmark::crash_in_hand:
      return "crash in hand";
    case Landmark::rerun:
      return "rerun";
    case Landmark::dead_letter:
      return "dead letter";
    case Landmark::conflict:
      return "conflict";
    case Landmark::zombie_refused:
      return "zombie refused";
    case Landmark::restore_healed:
      return "restore healed";
    case Landmark::retried:
      return "retried";
    case Landmark::behind:
      return "behind";
    case Landmark::settled_by_another:
      return "settled by another";
    case Landmark::replayed:
      return "replayed";
    case Landmark::stopped:
      return "stopped";
  }
  return "stopped";
}

}  // namespace onefold::lab
