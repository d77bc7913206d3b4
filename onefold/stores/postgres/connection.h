#pragma once

#include <libpq-fe.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onefold/formats/sql_text.h"
#include "onefold/stores/postgres/failure.h"
#include "onefold/stores/postgres/postgres.h"
#include "onefold/stores/postgres/values.h"

namespace onefold::postgres {

struct ClearResult {
  void operator()(::PGresult* result) const noexcept { PQclear(result); }
};
using Result = std::unique_ptr<::PGresult, ClearResult>;

/// The rows that a statement changed; 0 if it is no such statement.
std::int64_t rows_changed(const Result& result);
inline int rows_in(const Result& result) {
  return PQntuples(result.get());
}

/// A statement that the server knows, or will when it is first used.
struct Prepared {
  std::string sql;
  std::string name;  ///< Empty: sent anew each time.
  bool known = false;
  bool renewed = false;  ///< And has not succeeded since.
};

/// One statement on its way to the server.
struct Command {
  Prepared* statement = nullptr;
  Arguments arguments = {};
  Part part = Part::own;
  std::string_view doing = {};  ///< For messages: "claiming events", or how the SQL begins.
  bool binary = true;           ///< Of the result's columns.
  std::optional<std::int64_t> expected_rows = {};
  ErrorKind otherwise = ErrorKind::permanent;  ///< If it changes another number of rows.
  std::string* answer = nullptr;               ///< Gets the first column of the first row.
};

/// A handler's statement, with parameters by number.
struct HandlerText {
  NumberedSql numbered;
  std::string beginning;
  bool controls_transaction = false;  ///< BEGIN, COMMIT and the like.
};

/// One connection, used by one thread. Statements are queued and sent in bursts: all of them and a
/// Sync, without waiting in between, so that a process that is stopped never leaves the server in
/// the middle of a pipeline, where no timeout counts (semantics 3.8).
class Connection {
 public:
  /// Throws `unavailable` or `bad_configuration`.
  explicit Connection(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ::PGconn* handle() const noexcept { return handle_; }
  /// A statement of ours. `sql` must be a literal: it is known by its address. In it, "onefold."
  /// stands for the schema.
  Prepared& own(const char* sql);
  /// The same, planned anew each time: a plan that was made while a table was empty reads all of
  /// it, and would be kept while it grows.
  Prepared& planned_anew(const char* sql);
  /// With the name of the schema.
  std::string in_schema(std::string_view sql) const;
  const HandlerText& handler_text(std::string_view sql);
  Prepared& of_handler(const HandlerText& text, const Arguments& arguments);

  void queue(Command command);
  bool is_queued() const noexcept { return !queue_.empty(); }
  /// Whether a queued statement has to be looked at before anything is committed.
  bool has_expectations() const noexcept { return expectations_ > 0; }
  void forget_queue() noexcept;
  /// Sends what is queued and waits. Returns one result for each, or throws the `Failure` or
  /// `Error` of the first that failed: those behind it were not executed.
  std::vector<Result> run();
  /// Queues one, and runs all; returns its result.
  Result run(Command command);
  /// The same for SQL of ours.
  Result run(const char* sql, Arguments arguments, std::string_view doing);
  /// Several statements of ours in one text, without parameters.
  void run_script(const std::string& sql, std::string_view doing);

  /// BEGIN with all that a transaction of ours needs, queued.
  void begin(const char* sql);
  ::PGTransactionStatusType status() const noexcept { return PQtransactionStatus(handle_); }
  bool is_broken() const noexcept { return broken_; }
  bool is_borrowed() const noexcept { return borrowed_; }
  bool is_pooled() const noexcept { return pooled_; }
  /// True once after a statement has waited for as long as it may.
  bool has_waited_in_vain() noexcept { return std::exchange(waited_in_vain_, false); }
  /// It begins nothing any more.
  void give_up() noexcept { broken_ = true; }
  /// False if the transaction could not be ended: the connection is useless then.
  bool rollback() noexcept;

  /// What has happened on the connection while none of our functions ran.
  struct Foreign {
    std::string failed_code;        ///< Of a statement that failed.
    const char* command = nullptr;  ///< A COMMIT or BEGIN.
  };
  const Foreign& foreign() const noexcept { return foreign_; }
  void forgive() noexcept { foreign_ = {}; }
  void notice(::PGresult* result) noexcept;

 private:
  class Burst;
  friend class Burst;

  void open(const Options& options);
  /// Ends what is ours; a borrowed connection is left as it was.
  void close() noexcept;
  void prepare_session(const Options& options);

  std::string schema_;
  bool borrowed_ = false;
  bool pooled_ = false;
  bool per_transaction_ = false;  ///< Settings are made in every transaction.
  bool broken_ = false;
  bool inside_ = false;
  bool waited_in_vain_ = false;
  std::chrono::milliseconds silence_max_;
  Arguments settings_;
  ::PGconn* handle_ = nullptr;
  Foreign foreign_;
  std::vector<Command> queue_;
  std::size_t queued_bytes_ = 0;
  int expectations_ = 0;
  std::unordered_map<const char*, Prepared> own_;
  std::map<std::string, HandlerText, std::less<>> texts_;
  std::map<std::pair<std::string, std::vector<::Oid>>, Prepared> of_handlers_;
  HandlerText uncached_text_;
  Prepared uncached_;
};

/// A transaction of our own, outside a batch. Rolls back unless committed.
class OwnTransaction {
 public:
  static constexpr const char* write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
  /// All its statements see one state.
  static constexpr const char* read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

  explicit OwnTransaction(Connection& connection, const char* begin = write)
      : connection_{connection} {
    connection.begin(begin);
  }
  ~OwnTransaction() {
    if (!ended_) connection_.rollback();
  }
  OwnTransaction(const OwnTransaction&) = delete;
  OwnTransaction& operator=(const OwnTransaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool ended_ = false;
};

}  // namespace onefold::postgres
