#include "onefold/lab/trial/fallible_store.h"

#include <utility>

#include "onefold/decisions.h"
#include "onefold/housekeeping.h"
#include "onefold/records.h"
#include "onefold/replays.h"
#include "onefold/runs.h"

namespace onefold::lab {
namespace {

class FallibleTransaction final : public Transaction {
 public:
  FallibleTransaction(std::unique_ptr<Transaction> real, const CommitScript& script)
      : real_{std::move(real)}, script_{script} {}

  Ledger& ledger() override { return real_->ledger(); }
  WaitingRoom& waiting_room() override { return real_->waiting_room(); }
  Statements& statements() override { return real_->statements(); }
  void verify() override { real_->verify(); }
  void savepoint() override { real_->savepoint(); }
  void rollback_to_savepoint() override { real_->rollback_to_savepoint(); }
  CommitAnswer commit() override;

 private:
  std::unique_ptr<Transaction> real_;
  const CommitScript& script_;
};

CommitAnswer FallibleTransaction::commit() {
  const Act fate = script_.fate();
  if (fate == Act::commit_refused || fate == Act::commit_in_doubt_rolled_back) {
    real_.reset();
    if (fate == Act::commit_refused) return CommitResult::refused;
    return {CommitResult::in_doubt, "the connection was lost"};
  }
  CommitAnswer answer = real_->commit();
  if (answer.result == CommitResult::committed) script_.has_changed();
  if (fate == Act::commit) return answer;
  return {CommitResult::in_doubt, "the connection was lost"};
}

class FallibleSession final : public Session {
 public:
  FallibleSession(std::unique_ptr<Session> real, const CommitScript& script)
      : real_{std::move(real)}, script_{script} {}

  std::unique_ptr<Transaction> begin() override {
    return std::make_unique<FallibleTransaction>(real_->begin(), script_);
  }
  std::vector<Position> positions(ConsumerId consumer, std::string_view source) override {
    return real_->positions(consumer, source);
  }
  std::optional<std::int32_t> scope(const ScopeName& name) override { return real_->scope(name); }
  Due due(const DueQuery& query) override { return real_->due(query); }
  std::optional<PauseRecord> pause(ConsumerId consumer) override { return real_->pause(consumer); }

 private:
  std::unique_ptr<Session> real_;
  const CommitScript& script_;
};

}  // namespace

std::unique_ptr<Session> FallibleStore::connect() {
  return std::make_unique<FallibleSession>(store_.connect(), script_);
}
std::unique_ptr<Housekeeping> FallibleStore::housekeeping() {
  return store_.housekeeping();
}
std::unique_ptr<Records> FallibleStore::records() {
  return store_.records();
}
std::unique_ptr<Decisions> FallibleStore::decisions() {
  return store_.decisions();
}
std::unique_ptr<Replays> FallibleStore::replays() {
  return store_.replays();
}
std::unique_ptr<Runs> FallibleStore::runs() {
  return store_.runs();
}

}  // namespace onefold::lab
