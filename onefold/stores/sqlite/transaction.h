#pragma once

#include <memory>

#include "onefold/store.h"
#include "onefold/stores/sqlite/connection.h"
#include "onefold/stores/sqlite/health.h"
#include "onefold/stores/sqlite/ledger.h"
#include "onefold/stores/sqlite/statements.h"
#include "onefold/stores/sqlite/waiting_room.h"

namespace onefold::sqlite {

/// A connection with what its session knows. Shared, so that a transaction may outlive its session.
struct Link {
  Link(const Options& options, std::shared_ptr<RunnerShare> share)
      : connection{options, std::move(share)} {}
  Connection connection;
  ScopeWords words;
  bool broken = false;  ///< Its state is unknown: it begins nothing any more.
};

class OpenTransaction final : public Transaction {
 public:
  /// Begins, waiting for other writers; throws `contention` if they take too long.
  explicit OpenTransaction(std::shared_ptr<Link> link);
  ~OpenTransaction() override;

  Ledger& ledger() override { return ledger_; }
  WaitingRoom& waiting_room() override { return waiting_room_; }
  Statements& statements() override { return statements_; }
  void verify() override;
  void savepoint() override;
  void rollback_to_savepoint() override;
  CommitAnswer commit() override;
  ::sqlite3* handle() const noexcept { return link_->connection.handle(); }

 private:
  /// A deferred foreign key that points nowhere would fail at COMMIT, when nobody can be blamed, or
  /// pass because of another event of the batch.
  void require_foreign_keys();

  std::shared_ptr<Link> link_;
  Health health_;
  InboxLedger ledger_;
  DatabaseWaitingRoom waiting_room_;
  HandlerStatements statements_;
  bool has_savepoint_ = false;
  bool ended_ = false;
};

}  // namespace onefold::sqlite
