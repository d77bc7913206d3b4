#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/store.h"

/// Faults at chosen calls, for tests of everything that stands on a store or a source.
namespace onefold::faults {

/// Thrown by a callback to end a process at this very point: no `Error`, no `std::exception`, so
/// nothing between the store and the test can take it for a failure and go on. What was alive is
/// destroyed by the unwinding, as by a crash: open transactions roll back.
struct Crash : Interruption {};

enum class Call {
  any,  ///< Every call counts; only for scripts.
  connect,
  begin,
  claim,
  withdraw,
  record,
  defer,
  advance,
  take,
  leave,
  blocked,
  pause,
  probed,
  tally,
  execute,
  change,
  query,
  savepoint,
  rollback_to_savepoint,
  commit,
  positions,
  scope,
  due,
  is_paused,  ///< `Session::pause`.
};

/// How a COMMIT can end otherwise than well.
enum class CommitFault {
  in_doubt_committed,    ///< The answer was lost after the database had committed.
  in_doubt_rolled_back,  ///< The answer was lost, and the database had rolled back.
  refused,               ///< The database rolled back, and said so.
  constraint,            ///< A deferred constraint refused: rolled back, `permanent` is thrown.
};

enum class Moment { before, after };

/// What shall go wrong, and what has been called. Shared by all sessions of a `faulty` store, it
/// must outlive them. `nth` counts the calls of this kind from the moment of scripting, from 1.
/// Everything scripted happens once.
class Script {
 public:
  /// The call throws `error` instead of reaching the store. `unavailable` also breaks the session:
  /// its transaction is rolled back, and it throws until the store is connected to again.
  void fail(Call call, Error error, int nth = 1);
  /// Shorter: `fail(Call::claim, ErrorKind::unavailable)`.
  void fail(Call call, ErrorKind kind, int nth = 1);
  void fail_commit(CommitFault fault, int nth = 1);
  /// Calls `callback`, which may throw, before the call or after it has succeeded.
  void at(Call call, std::function<void()> callback, int nth = 1, Moment moment = Moment::before);
  /// While true, the database is away: every call throws `unavailable` and breaks its session.
  void set_away(bool away) { away_ = away; }
  /// Forgets what has not happened yet.
  void clear() { scripted_.clear(); }

  const std::vector<Call>& calls() const noexcept { return calls_; }
  int count(Call call) const noexcept;
  /// Scripted faults that have not happened yet: a test that expects them asserts 0.
  std::size_t outstanding() const noexcept { return scripted_.size(); }

  /// For the decorator: counts the call and returns what is due for it.
  struct Due {
    std::vector<std::function<void()>> before;
    std::vector<std::function<void()>> after;
    std::vector<CommitFault> commit;
  };
  Due enter(Call call);

 private:
  struct Entry {
    Call call;
    int left;
    Due due;
  };
  void script(Call call, int nth, Due due);

  std::vector<Entry> scripted_;
  std::vector<Call> calls_;
  bool away_ = false;
};

/// A store that behaves as `inner`, but for what the script says. Both must outlive it.
std::unique_ptr<Store> faulty(Store& inner, Script& script);

}  // namespace onefold::faults
