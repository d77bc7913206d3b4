#pragma once

#include <mysql.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onefold/formats/sql_text.h"
#include "onefold/stores/mariadb/address.h"
#include "onefold/stores/mariadb/mariadb.h"
#include "onefold/stores/mariadb/statement.h"

namespace onefold::mariadb {

/// What a message has around its parameters, at most.
inline constexpr std::size_t packet_margin = 4096;

/// The rows of a query without parameters.
class TextRows {
 public:
  explicit TextRows(::MYSQL_RES* rows) noexcept : rows_{rows} {}
  bool next();
  bool is_null(unsigned int column) const noexcept { return row_[column] == nullptr; }
  std::string_view at(unsigned int column) const noexcept;
  std::int64_t integer_at(unsigned int column) const;

 private:
  struct Free {
    void operator()(::MYSQL_RES* rows) const noexcept { mysql_free_result(rows); }
  };
  std::unique_ptr<::MYSQL_RES, Free> rows_;
  ::MYSQL_ROW row_ = nullptr;
  const unsigned long* lengths_ = nullptr;
};

/// A handler's statement with the order in which its parameters came the last time.
struct HandlerStatement {
  struct Slot {
    std::string name;  ///< Without the colon.
    std::size_t place = 0;
  };
  HandlerStatement(::MYSQL* connection, std::string_view written, NumberedSql numbered);

  std::vector<Slot> slots;
  Statement statement;
  ParameterRows parameters;
  bool changes = true;  ///< It is no query.
};

/// What a connection is for.
enum class Purpose {
  apply,  ///< Batches: every wait has an end.
  look,   ///< Lists and migrations, which may take as long as they need.
};

/// What decides whether a confirmed commit survives a power cut.
struct Durability {
  bool durable = true;
  std::string text;  ///< The settings that make it so.
};

/// One connection, used by one thread: opened and set up by us, or borrowed and only checked.
class Connection {
 public:
  Connection(const Options& options, Purpose purpose);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ::MYSQL* handle() const noexcept { return handle_; }
  /// A prepared statement of ours. `sql` must be a literal: it is known by its address.
  Statement& own(const char* sql);
  /// A prepared statement of a handler, known by its text.
  HandlerStatement& of_handler(std::string_view sql);
  /// Runs SQL of ours without rows or parameters.
  void execute(std::string_view sql, std::string_view doing);
  TextRows query(std::string_view sql, std::string_view doing);
  /// Every name that begins with onefold_ gets its database, so that USE changes nothing for us.
  std::string qualified(std::string_view sql) const;

  /// What the server said last; not to be trusted after an error.
  bool in_transaction() const noexcept;
  /// READ COMMITTED, and with a mark by which its end is noticed.
  void begin();
  /// 0 if the server confirmed it; else its number, or the client's.
  unsigned int commit() noexcept;
  /// False if the transaction could not be ended: the connection is useless then.
  bool rollback() noexcept;

  /// What a handler did that cannot be undone; null: nothing.
  const char* violation() const noexcept { return violation_; }
  void accuse(const char* what) noexcept { violation_ = what; }
  /// Looks whether an undoing was complete: tables without transactions keep what was written.
  void check_undoing() noexcept;

  const std::string& database() const noexcept { return database_; }
  const Durability& durability() const noexcept { return durability_; }
  /// What the server takes in one message.
  std::size_t packet_max() const noexcept { return packet_max_; }
  /// Throws `bad_configuration` if a row of ours is too large for a message.
  void require_room(const ParameterRows& rows) const;

 private:
  struct TextHash {
    // The name that the standard library looks for.
    using is_transparent = void;  // NOLINT(readability-identifier-naming)
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  void examine(const Options& options, Purpose purpose);

  ::MYSQL* handle_ = nullptr;
  bool borrowed_ = false;
  std::string place_;
  std::string database_;
  std::string database_quoted_;
  Durability durability_;
  std::size_t packet_max_ = 0;
  const char* violation_ = nullptr;
  std::unordered_map<const char*, Statement> own_;
  std::unordered_map<std::string, HandlerStatement, TextHash, std::equal_to<>> of_handlers_;
};

/// A transaction of our own, outside a batch. Rolls back unless committed.
class OwnTransaction {
 public:
  explicit OwnTransaction(Connection& connection) : connection_{connection} { connection.begin(); }
  ~OwnTransaction() {
    if (!committed_) connection_.rollback();
  }
  OwnTransaction(const OwnTransaction&) = delete;
  OwnTransaction& operator=(const OwnTransaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool committed_ = false;
};

}  // namespace onefold::mariadb
