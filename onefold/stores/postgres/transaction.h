#pragma once

#include <memory>
#include <string>

#include "onefold/store.h"
#include "onefold/stores/postgres/connection.h"
#include "onefold/stores/postgres/doubts.h"
#include "onefold/stores/postgres/health.h"
#include "onefold/stores/postgres/ledger.h"
#include "onefold/stores/postgres/statements.h"
#include "onefold/stores/postgres/waiting_room.h"

namespace onefold::postgres {

/// A connection with what its session knows. Shared, so that a transaction may outlive its session.
struct Link {
  Link(const Options& options, std::shared_ptr<Doubts> shared)
      : connection{options}, doubts{std::move(shared)} {}
  Connection connection;
  ScopeWords words;
  std::shared_ptr<Doubts> doubts;
};

class OpenTransaction final : public Transaction {
 public:
  /// BEGIN goes to the server with the first statement.
  explicit OpenTransaction(std::shared_ptr<Link> link);
  ~OpenTransaction() override;

  Ledger& ledger() override { return ledger_; }
  WaitingRoom& waiting_room() override { return waiting_room_; }
  Statements& statements() override { return statements_; }
  void verify() override { health_.require(); }
  void savepoint() override;
  void rollback_to_savepoint() override;
  CommitAnswer commit() override;
  /// Executes what is queued first.
  ::PGconn* handle() const;

 private:
  Connection& connection() const noexcept { return link_->connection; }
  CommitAnswer after_failure(const Failure& failure);

  std::shared_ptr<Link> link_;
  /// Handing out the handle poisons if what is queued fails.
  mutable Health health_;
  InboxLedger ledger_;
  DatabaseWaitingRoom waiting_room_;
  HandlerStatements statements_;
  std::string number_;  ///< Of the transaction, in the server's words; empty until it is known.
  bool has_savepoint_ = false;
  bool ended_ = false;
};

}  // namespace onefold::postgres
