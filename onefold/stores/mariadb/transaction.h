#pragma once

#include <memory>

#include "onefold/store.h"
#include "onefold/stores/mariadb/connection.h"
#include "onefold/stores/mariadb/health.h"
#include "onefold/stores/mariadb/ledger.h"
#include "onefold/stores/mariadb/statements.h"
#include "onefold/stores/mariadb/waiting_room.h"

namespace onefold::mariadb {

/// A connection with what its session knows. Shared, so that a transaction may outlive its session.
struct Link {
  explicit Link(const Options& options) : connection{options, Purpose::apply} {}
  Connection connection;
  ScopeWords words;
  bool broken = false;  ///< Its state is unknown: it begins nothing any more.
};

class OpenTransaction final : public Transaction {
 public:
  /// Begins; throws `unavailable` if the connection is gone.
  explicit OpenTransaction(std::shared_ptr<Link> link);
  ~OpenTransaction() override;

  Ledger& ledger() override { return ledger_; }
  WaitingRoom& waiting_room() override { return waiting_room_; }
  Statements& statements() override { return statements_; }
  void verify() override { health_.require(); }
  void savepoint() override;
  void rollback_to_savepoint() override;
  CommitAnswer commit() override;
  ::MYSQL* handle() const noexcept { return link_->connection.handle(); }

 private:
  /// After it the server holds nothing of ours, or the session is not used any more.
  void undo() noexcept;
  CommitAnswer explain(unsigned int code);

  std::shared_ptr<Link> link_;
  Health health_;
  InboxLedger ledger_;
  DatabaseWaitingRoom waiting_room_;
  HandlerStatements statements_;
  bool has_savepoint_ = false;
  bool ended_ = false;
};

}  // namespace onefold::mariadb
