#include "onefold/stores/postgres/connection.h"

#include <fmt/core.h>
#include <libpq-events.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <new>

#include "onefold/formats/text.h"
#include "onefold/stores/postgres/settings.h"

namespace onefold::postgres {
namespace {

constexpr std::size_t handler_statements_max = 256;
constexpr std::size_t queued_commands_max = 1'000;
constexpr std::size_t queued_bytes_max = 1 << 20;
constexpr std::size_t beginning_bytes_max = 60;

/// What comes back from anywhere in the process must not be taken for one of ours.
std::string next_name() {
  static std::atomic<std::uint64_t> count{0};
  return "onefold_" + std::to_string(++count);
}

bool controls_transaction(std::string_view sql) {
  constexpr std::array<std::string_view, 9> words{
      "BEGIN", "START", "COMMIT", "END", "ABORT", "ROLLBACK", "RELEASE", "SAVEPOINT", "PREPARE"};
  SqlLexer lexer{sql, SqlDialect::postgres};
  SqlToken token = lexer.next();
  while (token.kind == SqlToken::Kind::comment) token = lexer.next();
  std::string first{token.text};
  std::ranges::transform(first, first.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return std::ranges::find(words, first) != words.end();
}

std::string beginning_of(std::string_view sql) {
  return printable(single_spaced(sql.substr(0, 2 * beginning_bytes_max)), beginning_bytes_max);
}

/// Called by libpq for every result of the connection.
int on_event(::PGEventId event, void* info, void* /*unused*/) {
  if (event != PGEVT_RESULTCREATE) return 1;
  const auto* created = static_cast<::PGEventResultCreate*>(info);
  auto* self = static_cast<Connection*>(PQinstanceData(created->conn, &on_event));
  if (self != nullptr) self->notice(created->result);
  return 1;
}

}  // namespace

std::int64_t rows_changed(const Result& result) {
  const std::string_view text = PQcmdTuples(result.get());
  const std::string_view tag = PQcmdStatus(result.get());
  std::int64_t rows = 0;
  // A SELECT counts what it returns.
  if (!tag.starts_with("SELECT")) std::from_chars(text.data(), text.data() + text.size(), rows);
  return rows;
}

Connection::Connection(const Options& options)
    : schema_{options.schema}, silence_max_{options.statement_timeout + options.tcp_user_timeout} {
  open(options);
  try {
    prepare_session(options);
  } catch (...) {
    close();  // Nobody else will: there is no connection yet whose end could do it.
    throw;
  }
}

Connection::~Connection() {
  close();
}

void Connection::close() noexcept {
  if (!borrowed_) {
    PQfinish(handle_);
    return;
  }
  PQsetInstanceData(handle_, &on_event, nullptr);
  if (PQstatus(handle_) != CONNECTION_OK || status() != PQTRANS_IDLE) return;
  const auto forget = [&](const Prepared& statement) {
    if (!statement.known) return;
    PQclear(PQexec(handle_, ("DEALLOCATE " + statement.name).c_str()));
  };
  for (const auto& [key, statement] : own_) forget(statement);
  for (const auto& [key, statement] : of_handlers_) forget(statement);
}

void Connection::open(const Options& options) {
  borrowed_ = static_cast<bool>(options.borrow);
  handle_ = borrowed_ ? options.borrow() : connect(options);
  if (handle_ == nullptr || PQstatus(handle_) != CONNECTION_OK) {
    throw Error{ErrorKind::unavailable, "PostgreSQL: the borrowed connection is not open"};
  }
  // Registered once in the life of the connection; later only the data change.
  PQregisterEventProc(handle_, &on_event, "onefold", nullptr);
  PQsetInstanceData(handle_, &on_event, this);
  if (!borrowed_) PQsetNoticeProcessor(handle_, [](void*, const char*) {}, nullptr);
}

void Connection::prepare_session(const Options& options) {
  Server server;
  server.in_transaction = status() != PQTRANS_IDLE;
  pooled_ = true;  // Until it is known, nothing is prepared.
  if (!server.in_transaction) {
    const Result result =
        run("SELECT pg_backend_pid(), current_setting('server_version_num')::int4, "
            "current_setting('server_encoding'), current_setting('synchronous_commit'), "
            "current_setting('fsync'), current_setting('full_page_writes')",
            {}, "asking the server about itself");
    const Row row{result.get(), 0};
    server.process = row.integer32(0);
    server.version = row.integer32(1);
    server.encoding = row.text(2);
    server.synchronous_commit = row.text(3);
    server.fsync = row.text(4);
    server.full_page_writes = row.text(5);
  }
  require_usable(server, options);
  // A pooler tells a number of its own.
  pooled_ = options.pgbouncer || server.process != PQbackendPID(handle_);
  own_.clear();
  per_transaction_ = pooled_ || borrowed_;
  settings_ = session_settings(options, server);
  if (per_transaction_) return;
  static constexpr const char* sql =
      "SELECT set_config($1, $2, false), set_config($3, $4, false), set_config($5, $6, false), "
      "set_config($7, $8, false), set_config($9, $10, false), set_config($11, $12, false), "
      "set_config($13, $14, false)";
  run(sql, settings_, "setting up the session");
}

std::string Connection::in_schema(std::string_view sql) const {
  constexpr std::string_view placeholder = "onefold.";
  std::string made;
  for (std::size_t at = sql.find(placeholder); at != std::string_view::npos;
       at = sql.find(placeholder)) {
    made += sql.substr(0, at);
    made += schema_;
    made += '.';
    sql.remove_prefix(at + placeholder.size());
  }
  return made += sql;
}

Prepared& Connection::own(const char* sql) {
  const auto found = own_.find(sql);
  if (found != own_.end()) return found->second;
  return own_.try_emplace(sql, Prepared{in_schema(sql), pooled_ ? "" : next_name()}).first->second;
}

Prepared& Connection::planned_anew(const char* sql) {
  Prepared& statement = own(sql);
  statement.name.clear();
  return statement;
}

const HandlerText& Connection::handler_text(std::string_view sql) {
  const auto found = texts_.find(sql);
  if (found != texts_.end()) return found->second;
  HandlerText text{number_parameters(sql, SqlDialect::postgres), beginning_of(sql),
                   controls_transaction(sql)};
  if (texts_.size() < handler_statements_max) {
    return texts_.emplace(sql, std::move(text)).first->second;
  }
  // A handler that writes values into its texts has no end of them: they are not remembered. What
  // is queued refers to the previous one.
  if (is_queued()) run();
  return uncached_text_ = std::move(text);
}

Prepared& Connection::of_handler(const HandlerText& text, const Arguments& arguments) {
  auto key = std::pair{text.numbered.text, arguments.types()};
  const auto found = of_handlers_.find(key);
  if (found != of_handlers_.end()) return found->second;
  if (of_handlers_.size() < handler_statements_max) {
    Prepared made{text.numbered.text, pooled_ ? "" : next_name()};
    return of_handlers_.emplace(std::move(key), std::move(made)).first->second;
  }
  if (is_queued()) run();
  return uncached_ = Prepared{text.numbered.text, ""};
}

void Connection::queue(Command command) {
  queued_bytes_ += command.arguments.size_bytes();
  if (command.expected_rows) ++expectations_;
  queue_.push_back(std::move(command));
  if (queue_.size() >= queued_commands_max || queued_bytes_ >= queued_bytes_max) run();
}

void Connection::forget_queue() noexcept {
  queue_.clear();
  queued_bytes_ = 0;
  expectations_ = 0;
}

/// Everything between the first byte of a pipeline and the answer to its Sync.
class Connection::Burst {
 public:
  explicit Burst(Connection& connection) : connection_{connection}, handle_{connection.handle_} {
    connection_.inside_ = true;
    PQsetnonblocking(handle_, 1);
    PQenterPipelineMode(handle_);
  }
  ~Burst() {
    if (PQstatus(handle_) == CONNECTION_OK && PQexitPipelineMode(handle_) == 1) {
      PQsetnonblocking(handle_, 0);
    } else {
      connection_.broken_ = true;
    }
    connection_.inside_ = false;
  }
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;

  void send(Command& command) {
    Prepared& statement = *command.statement;
    const Arguments& arguments = command.arguments;
    const int format = command.binary ? 1 : 0;
    int sent = 1;
    if (statement.name.empty()) {
      sent = arguments.pass([&](int count, auto* values, auto* lengths, auto* formats) {
        return PQsendQueryParams(handle_, statement.sql.c_str(), count, arguments.types().data(),
                                 values, lengths, formats, format);
      });
    } else {
      // Known from here on for those that follow, and again unknown if it fails.
      if (!statement.known) {
        sent = PQsendPrepare(handle_, statement.name.c_str(), statement.sql.c_str(),
                             arguments.count(), arguments.types().data());
        expected_.push_back({&command, true});
        statement.known = true;
      }
      sent &= arguments.pass([&](int count, auto* values, auto* lengths, auto* formats) {
        return PQsendQueryPrepared(handle_, statement.name.c_str(), count, values, lengths, formats,
                                   format);
      });
    }
    expected_.push_back({&command, false});
    if (sent == 0) throw lost(handle_, command.part, command.doing);
  }

  std::vector<Result> finish(std::size_t count) {
    if (PQpipelineSync(handle_) == 0) throw gone();
    std::vector<Result> results;
    results.reserve(count);
    for (const Expected& each : expected_) {
      waiting_for_ = each.command;
      Result result = next();
      if (!result) throw gone();
      look_at(each, result);
      if (!each.prepares) results.push_back(std::move(result));
      if (next() != nullptr) throw gone();  // The end of this one's results.
    }
    const Result sync = next();
    if (PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) throw gone();
    return results;
  }

  void throw_failure() {
    if (failure_) throw Failure{*failure_};
    if (mismatch_) throw Error{*mismatch_};
  }

 private:
  struct Expected {
    Command* command;
    bool prepares;
  };

  void look_at(const Expected& expected, const Result& result) {
    Command& command = *expected.command;
    switch (PQresultStatus(result.get())) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        break;
      case PGRES_PIPELINE_ABORTED:
        if (expected.prepares) command.statement->known = false;
        return;
      default:
        if (expected.prepares) command.statement->known = false;
        if (!failure_) failure_.emplace(failure_of(result.get(), command.part, command.doing));
        if (failure_->code() == "55P03" || failure_->code() == "57014") {
          connection_.waited_in_vain_ = true;
        }
        if (!expected.prepares && failure_->code() == "0A000" && !command.statement->name.empty()) {
          renew(*command.statement);
        }
        return;
    }
    if (expected.prepares || failure_ || mismatch_) return;
    command.statement->renewed = false;
    if (command.answer != nullptr) *command.answer = Row{result.get(), 0}.text(0);
    if (!command.expected_rows) return;
    const std::int64_t changed = rows_changed(result);
    if (changed == *command.expected_rows) return;
    mismatch_.emplace(command.otherwise,
                      fmt::format("expected {} row{}, changed {}: {}", *command.expected_rows,
                                  *command.expected_rows == 1 ? "" : "s", changed, command.doing),
                      FailureClass::rows);
  }

  /// "Cached plan must not change result type": a table has changed under the statement. Under
  /// another name it is prepared anew, once; if that fails too, it was no such thing.
  void renew(Prepared& statement) {
    statement.known = false;
    if (std::exchange(statement.renewed, true)) return;
    statement.name = next_name();
    const Failure cause = *failure_;
    failure_.emplace(ErrorKind::contention,
                     "PostgreSQL: a table has changed under a statement, which is prepared anew",
                     cause.code(), cause.part());
  }

  Failure gone() const {
    connection_.broken_ = true;
    if (failure_) return *failure_;
    const Part part = waiting_for_ == nullptr ? Part::own : waiting_for_->part;
    return lost(handle_, part, waiting_for_ == nullptr ? "talking to it" : waiting_for_->doing);
  }

  Result next() {
    const auto begin = std::chrono::steady_clock::now();
    while (PQisBusy(handle_) != 0) {
      const int unsent = PQflush(handle_);
      if (unsent < 0) break;  // The result says why.
      ::pollfd wanted{PQsocket(handle_),
                      static_cast<short>(unsent == 0 ? POLLIN : POLLIN | POLLOUT), 0};
      const auto waited = std::chrono::steady_clock::now() - begin;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(connection_.silence_max_ - waited);
      if (left.count() <= 0) throw gone();
      if (::poll(&wanted, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) throw gone();
      if (PQconsumeInput(handle_) == 0) break;
    }
    return Result{PQgetResult(handle_)};
  }

  Connection& connection_;
  ::PGconn* handle_;
  std::vector<Expected> expected_;
  const Command* waiting_for_ = nullptr;
  std::optional<Failure> failure_;
  std::optional<Error> mismatch_;
};

std::vector<Result> Connection::run() {
  std::vector<Command> commands = std::exchange(queue_, {});
  forget_queue();
  if (commands.empty()) return {};
  if (broken_) {
    throw Error{ErrorKind::unavailable, "PostgreSQL: this session has failed; open another one"};
  }
  Burst burst{*this};
  for (Command& each : commands) burst.send(each);
  std::vector<Result> results = burst.finish(commands.size());
  burst.throw_failure();
  return results;
}

Result Connection::run(Command command) {
  queue_.reserve(queue_.size() + 1);
  queued_bytes_ = 0;
  if (command.expected_rows) ++expectations_;
  queue_.push_back(std::move(command));
  return std::move(run().back());
}

Result Connection::run(const char* sql, Arguments arguments, std::string_view doing) {
  return run(Command{.statement = &own(sql), .arguments = std::move(arguments), .doing = doing});
}

void Connection::run_script(const std::string& sql, std::string_view doing) {
  run();
  inside_ = true;
  const Result result{PQexec(handle_, sql.c_str())};
  inside_ = false;
  const auto ended = PQresultStatus(result.get());
  if (ended != PGRES_COMMAND_OK && ended != PGRES_TUPLES_OK) {
    if (PQstatus(handle_) != CONNECTION_OK) broken_ = true;
    throw failure_of(result.get(), Part::own, doing);
  }
}

void Connection::begin(const char* sql) {
  if (broken_ || PQstatus(handle_) != CONNECTION_OK || status() != PQTRANS_IDLE) {
    broken_ = true;
    throw Error{ErrorKind::unavailable, "PostgreSQL: this session has failed; open another one"};
  }
  queue({.statement = &own(sql), .doing = "beginning"});
  if (!per_transaction_) return;
  static constexpr const char* settings =
      "SELECT set_config($1, $2, true), set_config($3, $4, true), set_config($5, $6, true), "
      "set_config($7, $8, true), set_config($9, $10, true), set_config($11, $12, true), "
      "set_config($13, $14, true)";
  queue({.statement = &own(settings), .arguments = settings_, .doing = "setting up"});
}

bool Connection::rollback() noexcept {
  forget_queue();
  if (PQstatus(handle_) != CONNECTION_OK) broken_ = true;
  if (broken_) return false;
  if (status() == PQTRANS_IDLE) return true;
  try {
    run(Command{.statement = &own("ROLLBACK"), .doing = "rolling back"});
  } catch (const std::exception&) {
    broken_ = true;
  }
  if (status() != PQTRANS_IDLE) broken_ = true;
  return !broken_;
}

void Connection::notice(::PGresult* result) noexcept {
  if (inside_) return;
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  try {
    if (code != nullptr && PQresultStatus(result) == PGRES_FATAL_ERROR) foreign_.failed_code = code;
  } catch (const std::bad_alloc&) {
    foreign_.command = "a statement without memory";
  }
  const std::string_view tag = PQcmdStatus(result);
  // ROLLBACK is not among them: it is also the answer to ROLLBACK TO, which is allowed.
  for (const char* each : {"COMMIT", "BEGIN", "START TRANSACTION", "PREPARE TRANSACTION"}) {
    if (tag == each) foreign_.command = each;
  }
}

void OwnTransaction::commit() {
  ended_ = true;
  if (connection_.has_expectations()) {
    ended_ = false;
    connection_.run();
    ended_ = true;
  }
  try {
    const Result result = connection_.run(Command{
        .statement = &connection_.own("COMMIT"), .part = Part::commit, .doing = "committing"});
    if (std::string_view{PQcmdStatus(result.get())} == "COMMIT") return;
  } catch (const Error& error) {
    const bool answered = !connection_.is_broken();
    connection_.rollback();
    if (answered) throw;
    throw Error{ErrorKind::commit_in_doubt,
                fmt::format("{}; whether it was carried out is not known: look, then try again",
                            error.what())};
  }
  throw Error{ErrorKind::contention,
              "PostgreSQL: the server has rolled back instead of committing"};
}

}  // namespace onefold::postgres
