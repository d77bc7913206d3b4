#include "tests/faults/faulty_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "onefold/housekeeping.h"
#include "onefold/replays.h"
#include "onefold/runs.h"

namespace onefold::faults {

void Script::script(Call call, int nth, Due due) {
  scripted_.push_back({call, nth, std::move(due)});
}

void Script::fail(Call call, Error error, int nth) {
  at(call, [error = std::move(error)] { throw Error{error}; }, nth);
}

void Script::fail(Call call, ErrorKind kind, int nth) {
  fail(call, Error{kind, "The test has this call fail."}, nth);
}

void Script::fail_commit(CommitFault fault, int nth) {
  script(Call::commit, nth, {.before = {}, .after = {}, .commit = {fault}});
}

void Script::at(Call call, std::function<void()> callback, int nth, Moment moment) {
  Due due;
  (moment == Moment::before ? due.before : due.after).push_back(std::move(callback));
  script(call, nth, std::move(due));
}

int Script::count(Call call) const noexcept {
  if (call == Call::any) return static_cast<int>(calls_.size());
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), call));
}

Script::Due Script::enter(Call call) {
  calls_.push_back(call);
  Due due;
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  std::erase_if(scripted_, [&](Entry& entry) {
    if ((entry.call != Call::any && entry.call != call) || --entry.left > 0) return false;
    append(due.before, entry.due.before);
    append(due.after, entry.due.after);
    append(due.commit, entry.due.commit);
    return true;
  });
  if (away_) {
    throw Error{ErrorKind::unavailable, "The test has taken the database away."};
  }
  return due;
}

namespace {

/// What the calls of one session share: once it is broken, it stays so.
struct Connection {
  Script& script;
  bool broken = false;

  /// Makes one call, with what the script has for it.
  template <class Work>
  auto call(Call call, Work work) -> decltype(work()) {
    return with_commit_fault(call, [&](const std::vector<CommitFault>&) { return work(); });
  }

  template <class Work>
  auto with_commit_fault(Call call, Work work) -> decltype(work({})) {
    if (broken) throw Error{ErrorKind::unavailable, "The session is broken. Connect again."};
    try {
      const Script::Due due = script.enter(call);
      for (const auto& callback : due.before) callback();
      if constexpr (std::is_void_v<decltype(work({}))>) {
        work(due.commit);
        for (const auto& callback : due.after) callback();
      } else {
        auto result = work(due.commit);
        for (const auto& callback : due.after) callback();
        return result;
      }
    } catch (const Error& error) {
      if (error.needs_reconnect()) broken = true;
      throw;
    }
  }
};

class FaultyTransaction final : public Transaction,
                                public Ledger,
                                public WaitingRoom,
                                public Statements {
 public:
  FaultyTransaction(std::shared_ptr<Connection> connection, std::unique_ptr<Transaction> inner)
      : connection_{std::move(connection)}, inner_{std::move(inner)} {}

  Ledger& ledger() override { return *this; }
  WaitingRoom& waiting_room() override { return *this; }
  Statements& statements() override { return *this; }

  std::vector<Claim> claim(std::span<const Evidence> wanted, ClaimMode mode) override {
    return call(Call::claim, [&] { return inner_->ledger().claim(wanted, mode); });
  }
  void withdraw(std::span<const Key> keys) override {
    call(Call::withdraw, [&] { inner_->ledger().withdraw(keys); });
  }
  void record(std::span<const Evidence> evidence, ClaimMode mode) override {
    call(Call::record, [&] { inner_->ledger().record(evidence, mode); });
  }
  void defer(std::span<const Deferral> deferrals) override {
    call(Call::defer, [&] { inner_->ledger().defer(deferrals); });
  }
  void advance(ConsumerId consumer, std::span<const Position> positions) override {
    call(Call::advance, [&] { inner_->ledger().advance(consumer, positions); });
  }
  std::vector<Claim> take(std::span<const Waiting* const> events) override {
    return call(Call::take, [&] { return inner_->waiting_room().take(events); });
  }
  void leave(std::span<const std::int64_t> ids) override {
    call(Call::leave, [&] { inner_->waiting_room().leave(ids); });
  }
  std::vector<bool> blocked(ConsumerId consumer, std::span<const Front> fronts) override {
    return call(Call::blocked, [&] { return inner_->waiting_room().blocked(consumer, fronts); });
  }
  void pause(const Pause& pause) override {
    call(Call::pause, [&] { inner_->waiting_room().pause(pause); });
  }
  void probed(ConsumerId consumer, bool worked, std::chrono::milliseconds next_in) override {
    call(Call::probed, [&] { inner_->waiting_room().probed(consumer, worked, next_in); });
  }
  void tally(std::span<const ReplayTally> tallies) override {
    call(Call::tally, [&] { inner_->waiting_room().tally(tallies); });
  }
  void execute(std::string_view sql, Parameters parameters,
               std::optional<std::int64_t> expected_rows) override {
    call(Call::execute, [&] { inner_->statements().execute(sql, parameters, expected_rows); });
  }
  std::int64_t change(std::string_view sql, Parameters parameters) override {
    return call(Call::change, [&] { return inner_->statements().change(sql, parameters); });
  }
  Rows query(std::string_view sql, Parameters parameters) override {
    return call(Call::query, [&] { return inner_->statements().query(sql, parameters); });
  }

  void verify() override {
    check();
    noting_failures([&] { inner_->verify(); });
  }
  void savepoint() override {
    call(Call::savepoint, [&] { inner_->savepoint(); });
    has_savepoint_ = true;
  }
  void rollback_to_savepoint() override {
    if (poison_ && (poison_->kind() != ErrorKind::permanent || !has_savepoint_)) {
      throw Error{*poison_};
    }
    poison_.reset();
    call(Call::rollback_to_savepoint, [&] { inner_->rollback_to_savepoint(); });
  }
  CommitAnswer commit() override {
    check();
    return noting_failures([&] {
      return connection_->with_commit_fault(
          Call::commit, [&](const std::vector<CommitFault>& faults) {
            return faults.empty() ? inner_->commit() : CommitAnswer{end_as(faults.front())};
          });
    });
  }

 private:
  void check() const {
    if (poison_) throw Error{*poison_};
  }

  template <class Work>
  auto call(Call which, Work work) -> decltype(work()) {
    check();
    return noting_failures([&] { return connection_->call(which, work); });
  }

  /// A failure poisons the transaction, as one of the store itself does; a broken session has lost
  /// its transaction at once.
  template <class Work>
  auto noting_failures(Work work) -> decltype(work()) {
    try {
      return work();
    } catch (const Error& error) {
      poison_ = error;
      if (connection_->broken) inner_.reset();
      throw;
    }
  }

  CommitResult end_as(CommitFault fault) {
    CommitResult result = CommitResult::in_doubt;
    if (fault == CommitFault::in_doubt_committed) {
      if (inner_->commit() == CommitResult::refused) result = CommitResult::refused;
    }
    inner_.reset();
    poison_ = Error{ErrorKind::unavailable, "The transaction has ended."};
    if (fault == CommitFault::constraint) {
      throw Error{ErrorKind::permanent, "A deferred constraint refused the commit."};
    }
    if (fault == CommitFault::refused) result = CommitResult::refused;
    if (result == CommitResult::in_doubt) connection_->broken = true;
    return result;
  }

  std::shared_ptr<Connection> connection_;
  std::unique_ptr<Transaction> inner_;
  std::optional<Error> poison_;
  bool has_savepoint_ = false;
};

class FaultySession final : public Session {
 public:
  FaultySession(Script& script, std::unique_ptr<Session> inner)
      : connection_{std::make_shared<Connection>(script)}, inner_{std::move(inner)} {}

  std::unique_ptr<Transaction> begin() override {
    return connection_->call(Call::begin, [&]() -> std::unique_ptr<Transaction> {
      return std::make_unique<FaultyTransaction>(connection_, inner_->begin());
    });
  }
  std::vector<Position> positions(ConsumerId consumer, std::string_view source) override {
    return connection_->call(Call::positions, [&] { return inner_->positions(consumer, source); });
  }
  std::optional<std::int32_t> scope(const ScopeName& name) override {
    return connection_->call(Call::scope, [&] { return inner_->scope(name); });
  }
  Due due(const DueQuery& query) override {
    return connection_->call(Call::due, [&] { return inner_->due(query); });
  }
  std::optional<PauseRecord> pause(ConsumerId consumer) override {
    return connection_->call(Call::is_paused, [&] { return inner_->pause(consumer); });
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<Session> inner_;
};

class FaultyStore final : public Store {
 public:
  FaultyStore(Store& inner, Script& script) : inner_{inner}, script_{script} {}

  StoreTraits traits() const override { return inner_.traits(); }
  std::unique_ptr<Session> connect() override {
    Connection attempt{script_};
    return attempt.call(Call::connect, [&]() -> std::unique_ptr<Session> {
      return std::make_unique<FaultySession>(script_, inner_.connect());
    });
  }
  std::unique_ptr<Housekeeping> housekeeping() override { return inner_.housekeeping(); }
  std::unique_ptr<Records> records() override { return inner_.records(); }
  std::unique_ptr<Decisions> decisions() override { return inner_.decisions(); }
  std::unique_ptr<Replays> replays() override { return inner_.replays(); }
  std::unique_ptr<Runs> runs() override { return inner_.runs(); }

 private:
  Store& inner_;
  Script& script_;
};

}  // namespace

std::unique_ptr<Store> faulty(Store& inner, Script& script) {
  return std::make_unique<FaultyStore>(inner, script);
}

}  // namespace onefold::faults
