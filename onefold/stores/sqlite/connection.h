#pragma once

#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "onefold/stores/sqlite/runner_lock.h"
#include "onefold/stores/sqlite/sqlite.h"
#include "onefold/stores/sqlite/statement.h"

namespace onefold::sqlite {

/// What the connections of a runner share. A visitor has none.
struct RunnerShare {
  explicit RunnerShare(const std::string& path) : lock{path} {}
  RunnerLock lock;
  std::atomic<bool> checkpointing{false};  ///< One of the connections checkpoints.
  /// A sync may have failed. The log is read from memory then, but parts of it may never reach the
  /// disk, and the next sync would not say so.
  std::atomic<bool> unsynced{false};
};

/// A handler's statement with the order in which its parameters came the last time.
struct HandlerStatement {
  struct Slot {
    std::string name;  ///< Without the colon.
    std::size_t place = 0;
  };
  HandlerStatement(::sqlite3* database, std::string_view sql);
  Statement statement;
  std::vector<Slot> slots;
};

/// One connection, used by one thread. Guards the transaction against handlers: whatever is
/// prepared or committed while none of our own functions runs is not ours.
class Connection {
 public:
  Connection(const Options& options, std::shared_ptr<RunnerShare> share);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ::sqlite3* handle() const noexcept { return handle_.get(); }
  /// A prepared statement of ours. `sql` must be a literal: it is known by its address.
  Statement& own(const char* sql);
  /// A prepared statement of a handler, known by its text.
  HandlerStatement& of_handler(std::string_view sql);
  /// Runs SQL of ours without rows or parameters.
  void execute(const char* sql) { own(sql).run(); }

  bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle()) == 0; }
  /// BEGIN IMMEDIATE, the only call that waits for other writers (B25).
  void begin();
  /// COMMIT; the code of SQLite. Retries while the transaction is only kept from ending.
  int commit() noexcept;
  /// False if the transaction could not be ended: the connection is useless then.
  bool rollback() noexcept;
  /// Ends statements that a handler has left running: their changes are made, but they would keep
  /// COMMIT from ending the transaction.
  void stop_leftovers() noexcept;

  /// What a handler tried that it must not, since the last call of `forgive`; null: nothing.
  const char* violation() const noexcept { return violation_; }
  void forgive() noexcept { violation_ = nullptr; }

  /// While one lives, what happens on the connection is ours.
  class Inside {
   public:
    explicit Inside(Connection& connection) noexcept
        : connection_{connection}, before_{connection.inside_} {
      connection.inside_ = true;
    }
    ~Inside() { connection_.inside_ = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Connection& connection_;
    bool before_;
  };

 private:
  struct TextHash {
    // The name that the standard library looks for.
    using is_transparent = void;  // NOLINT(readability-identifier-naming)
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Close {
    /// Closes in the end even if a handler has forgotten to finalize a statement.
    void operator()(::sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  };
  /// The right to checkpoint, given back after the connection is closed.
  struct CheckpointRight {
    explicit CheckpointRight(std::shared_ptr<RunnerShare> shared) : share{std::move(shared)} {}
    ~CheckpointRight() {
      if (held) share->checkpointing = false;
    }
    CheckpointRight(const CheckpointRight&) = delete;
    CheckpointRight& operator=(const CheckpointRight&) = delete;
    std::shared_ptr<RunnerShare> share;
    bool held = false;
  };

  static int authorize(void* self, int action, const char* third, const char* fourth,
                       const char* database, const char* trigger) noexcept;
  static int on_commit(void* self) noexcept;
  void configure();
  void take_over_checkpointing();
  void copy_log(RunnerShare& share);

  std::string path_;
  std::chrono::milliseconds busy_timeout_;
  CheckpointRight checkpointing_;
  bool inside_ = false;
  const char* violation_ = nullptr;
  std::unique_ptr<::sqlite3, Close> handle_;
  std::unordered_map<const char*, Statement> own_;
  std::unordered_map<std::string, HandlerStatement, TextHash, std::equal_to<>> of_handlers_;
};

/// A transaction of our own, outside a batch. Rolls back unless committed.
class OwnTransaction {
 public:
  explicit OwnTransaction(Connection& connection) : connection_{connection}, inside_{connection} {
    connection.begin();
  }
  ~OwnTransaction() {
    if (!committed_) connection_.rollback();
  }
  OwnTransaction(const OwnTransaction&) = delete;
  OwnTransaction& operator=(const OwnTransaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  Connection::Inside inside_;
  bool committed_ = false;
};

}  // namespace onefold::sqlite
