#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"
#include "onefold/failure.h"

/// What is written beside a business change: the claim, the evidence, and what is set aside.
namespace onefold {

/// The small integer that stands for a consumer's name, see `Housekeeping::adopt`.
using ConsumerId = std::int32_t;

/// How keys are claimed (semantics 3.1). The inbox's unique key is the judge in both.
enum class ClaimMode {
  claim_first,  ///< Insert, then run the handlers: the loser of a race waits before its handlers
                ///< run.
  optimistic,   ///< Look up, run the handlers, insert last: for partitions with one owner.
};

/// The proof that an event was handled, and how. Views live until the call returns.
struct Evidence {
  Key key;
  Outcome outcome = Outcome::applied;
  bool waiting = false;  ///< True while a `deferred` row holds the event; false is final.
  std::string_view event_source;
  std::string_view event_id;
  std::string_view event_type;
  std::optional<Timestamp> event_time;
  std::string_view entity;
  std::string_view
      handled_by;  ///< "credit@1 notify@3": the handlers that ran, with their versions.
  Fingerprint fingerprint{};
  std::string_view result;  ///< What the handler wants to keep.
  Timestamp recorded_at;
};

enum class ClaimState {
  fresh,    ///< Ours (claim-first) or not seen (optimistic): process it.
  known,    ///< Committed earlier and final.
  waiting,  ///< Committed earlier, set aside.
};

/// Whether a known key means a duplicate or a conflict is decided in one place, by the runtime,
/// which compares the fingerprints (B22): stores never compare them.
struct Claim {
  ClaimState state = ClaimState::fresh;
  Fingerprint fingerprint{};  ///< Of the first claim, unless fresh.
  Timestamp recorded_at;      ///< Of the first claim, unless fresh. Tells our own in-doubt commit.
};

/// What an event in `deferred` waits for.
enum class DeferralReason {
  retry,       ///< Its time.
  behind,      ///< An earlier event of its entity that waits for its time.
  dead,        ///< A person.
  quarantine,  ///< A person; nobody knows whether it was applied.
  conflict,    ///< A person; its key belongs to another event.
};
const char* to_string(DeferralReason reason) noexcept;
/// The reverse of `to_string`; absent for an unknown name.
std::optional<DeferralReason> deferral_reason_from(std::string_view name) noexcept;

/// An event set aside, with everything needed to look at it and to run it again (P9).
struct Deferral {
  Key key;
  Fingerprint fingerprint{};
  ConsumerId consumer = 0;
  std::string_view source;  ///< The subscription it came from.
  const Delivery* delivery = nullptr;
  DeferralReason reason = DeferralReason::dead;
  FailureClass failure = FailureClass::statement;  ///< Of `dead` and `retry`.
  std::string_view entity = {};
  std::string_view handler;             ///< The one that failed; empty if none ran.
  std::span<const std::string> errors;  ///< The chain, oldest first.
  int attempts = 0;
  Timestamp recorded_at;
  std::vector<Key> further_keys =
      {};  ///< That it has claimed besides `key`, if several must be new.
  /// `retry`: when it is due, from now on by the database's clock.
  std::chrono::milliseconds due_in{0};
  /// It was taken out of the waiting room in this transaction: its row is rewritten (reason, class,
  /// handler, errors, attempts, due, last_at) instead of inserted, and keeps all else.
  const Waiting* waiting = nullptr;
};

}  // namespace onefold
