#include "onefold/stores/mariadb/connection.h"

#include <fmt/core.h>
#include <mysqld_error.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "onefold/stores/mariadb/settings.h"

namespace onefold::mariadb {
namespace {

/// Statements of handlers that are kept prepared. Beyond it somebody builds SQL by hand.
constexpr std::size_t handler_statements_max = 256;

/// One round trip each: a block runs to its end or to its first error. The savepoint goes with the
/// transaction, so that one which a handler has ended, and begun anew, is told from ours.
constexpr std::string_view begin_sql =
    "BEGIN NOT ATOMIC "
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE; "
    "SAVEPOINT onefold_transaction; END";
constexpr std::string_view commit_sql =
    "BEGIN NOT ATOMIC "
    "RELEASE SAVEPOINT onefold_transaction; COMMIT AND NO CHAIN NO RELEASE; END";

/// What a statement does to the transaction that it runs in, by its first word; null: nothing.
const char* objection(std::string_view word, std::string_view second) noexcept {
  for (const std::string_view each :
       {"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA"}) {
    if (word == each) return "transaction control";
  }
  for (const std::string_view each : {"SET", "USE", "LOCK", "UNLOCK", "FLUSH"}) {
    if (word == each) return "SET, USE, LOCK or FLUSH";
  }
  if (second == "TEMPORARY") return nullptr;
  for (const std::string_view each : {"ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE", "GRANT",
                                      "REVOKE", "ANALYZE", "OPTIMIZE", "REPAIR", "CHECK"}) {
    if (word == each) return "DDL, which commits";
  }
  return nullptr;
}

std::string upper(std::string_view text) {
  std::string result{text};
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string next_word(SqlLexer& lexer) {
  SqlToken token = lexer.next();
  while (token.kind == SqlToken::Kind::comment) token = lexer.next();
  return token.kind == SqlToken::Kind::word ? upper(token.text) : std::string{};
}

/// Whether a statement reads; refuses what would end the transaction.
bool is_query(std::string_view sql) {
  SqlLexer lexer{sql, SqlDialect::mariadb};
  const std::string first = next_word(lexer);
  if (const char* wrong = objection(first, next_word(lexer))) {
    throw Error{ErrorKind::contract_violation,
                fmt::format("MariaDB: a handler tried {}: {}", wrong, beginning_of(sql))};
  }
  return first == "SELECT" || first == "VALUES" || first == "WITH" || first.empty();
}

::MYSQL* require(::MYSQL* handle) {
  if (handle != nullptr) return handle;
  throw Error{ErrorKind::unavailable, "MariaDB: no connection was given to borrow"};
}

}  // namespace

bool TextRows::next() {
  row_ = mysql_fetch_row(rows_.get());
  if (row_ == nullptr) return false;
  lengths_ = mysql_fetch_lengths(rows_.get());
  return true;
}

std::string_view TextRows::at(unsigned int column) const noexcept {
  return is_null(column) ? std::string_view{} : std::string_view{row_[column], lengths_[column]};
}

std::int64_t TextRows::integer_at(unsigned int column) const {
  std::int64_t number = 0;
  const std::string_view text = at(column);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

HandlerStatement::HandlerStatement(::MYSQL* connection, std::string_view written,
                                   NumberedSql numbered)
    : statement{connection, numbered.text, Origin::handler, written},
      parameters{numbered.names.size()} {
  if (statement.parameter_count() != numbered.names.size()) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("MariaDB: a parameter has no name in \"{}\"; write :name",
                            statement.beginning())};
  }
  for (std::string& name : numbered.names) slots.push_back({std::move(name), slots.size()});
}

// Sessions are what a connection is lent for; the cold paths use it only if there is no address.
Connection::Connection(const Options& options, Purpose purpose)
    : borrowed_{options.borrow && (purpose == Purpose::apply || options.connection.empty())} {
  if (borrowed_) {
    handle_ = require(options.borrow());
    place_ = "the borrowed connection";
  } else {
    const Address address = parse_address(options.connection);
    place_ = address.place();
    handle_ = connect(address, options, purpose);
  }
  try {
    if (!borrowed_) execute(set_up_sql(options, purpose), "setting the connection up");
    examine(options, purpose);
  } catch (...) {
    if (!borrowed_) mysql_close(handle_);
    throw;
  }
}

Connection::~Connection() {
  own_.clear();
  of_handlers_.clear();
  if (!borrowed_) mysql_close(handle_);
}

void Connection::examine(const Options& options, Purpose purpose) {
  const Settings settings = read_settings(*this);
  require_settings(handle_, settings);
  if (in_transaction()) {
    throw Error{ErrorKind::bad_configuration,
                "MariaDB: a transaction is open on the borrowed connection; end it first"};
  }
  database_ = settings.database;
  database_quoted_ = "`";
  for (const char c : database_) database_quoted_ += c == '`' ? "``" : std::string(1, c);
  database_quoted_ += "`.";
  packet_max_ = settings.packet_max;
  durability_ = settings.durability;
  const bool must_last = purpose == Purpose::apply && options.role == Role::runner;
  if (must_last && !durability_.durable && !options.accept_relaxed_durability) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("MariaDB: a power cut can take back confirmed commits on {} ({}): set "
                            "innodb_flush_log_at_trx_commit = 1, innodb_doublewrite = ON and "
                            "sync_binlog = 1, or accept relaxed durability",
                            place_, durability_.text)};
  }
}

std::string Connection::qualified(std::string_view sql) const {
  constexpr std::string_view prefix = "onefold_";
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t found = sql.find(prefix, at);
    text += sql.substr(at, found - at);
    if (found == std::string_view::npos) return text;
    text += database_quoted_;
    text += prefix;
    at = found + prefix.size();
  }
}

Statement& Connection::own(const char* sql) {
  const auto found = own_.find(sql);
  if (found != own_.end()) return found->second;
  return own_.try_emplace(sql, handle_, qualified(sql), Origin::own).first->second;
}

HandlerStatement& Connection::of_handler(std::string_view sql) {
  const auto found = of_handlers_.find(sql);
  if (found != of_handlers_.end()) return found->second;
  if (of_handlers_.size() >= handler_statements_max) of_handlers_.clear();
  const bool query = is_query(sql);
  NumberedSql numbered = number_parameters(sql, SqlDialect::mariadb);
  HandlerStatement& statement =
      of_handlers_.try_emplace(std::string{sql}, handle_, sql, std::move(numbered)).first->second;
  statement.changes = !query;
  return statement;
}

void Connection::execute(std::string_view sql, std::string_view doing) {
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) {
    fail(reason_of(handle_), Origin::own, doing);
  }
}

TextRows Connection::query(std::string_view sql, std::string_view doing) {
  execute(sql, doing);
  ::MYSQL_RES* const rows = mysql_store_result(handle_);
  if (rows == nullptr) fail(reason_of(handle_), Origin::own, doing);
  return TextRows{rows};
}

void Connection::require_room(const ParameterRows& rows) const {
  if (rows.bytes() + packet_margin <= packet_max_) return;
  throw Error{ErrorKind::bad_configuration,
              fmt::format("MariaDB: {} bytes are to be kept of an event, and the server takes {}: "
                          "raise max_allowed_packet",
                          rows.bytes(), packet_max_)};
}

bool Connection::in_transaction() const noexcept {
  unsigned int status = 0;
  mariadb_get_infov(handle_, MARIADB_CONNECTION_SERVER_STATUS, &status);
  return (status & SERVER_STATUS_IN_TRANS) != 0;
}

void Connection::begin() {
  execute(begin_sql, "beginning a transaction");
}

unsigned int Connection::commit() noexcept {
  return mysql_real_query(handle_, commit_sql.data(), commit_sql.size()) == 0
             ? 0
             : mysql_errno(handle_);
}

bool Connection::rollback() noexcept {
  constexpr std::string_view sql = "ROLLBACK AND NO CHAIN NO RELEASE";
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) return false;
  check_undoing();
  return !in_transaction();
}

void Connection::check_undoing() noexcept {
  if (mysql_warning_count(handle_) == 0) return;
  constexpr std::string_view sql = "SHOW WARNINGS";
  if (mysql_real_query(handle_, sql.data(), sql.size()) != 0) return;
  ::MYSQL_RES* const rows = mysql_store_result(handle_);
  if (rows == nullptr) return;
  TextRows warnings{rows};
  while (warnings.next()) {
    if (warnings.integer_at(1) == ER_WARNING_NOT_COMPLETE_ROLLBACK) {
      violation_ = "a write to a table that has no transactions, which stays";
    }
  }
}

void OwnTransaction::commit() {
  if (connection_.commit() != 0) fail(reason_of(connection_.handle()), Origin::own, "committing");
  committed_ = true;
}

}  // namespace onefold::mariadb
