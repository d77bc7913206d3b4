#include "onefold/stores/sqlite/sqlite.h"

#include <fmt/core.h>

#include <filesystem>

#include "onefold/stores/sqlite/decisions.h"
#include "onefold/stores/sqlite/housekeeping.h"
#include "onefold/stores/sqlite/records.h"
#include "onefold/stores/sqlite/runs.h"
#include "onefold/stores/sqlite/transaction.h"

namespace onefold::sqlite {
namespace {

class DatabaseSession final : public Session {
 public:
  DatabaseSession(const Options& options, std::shared_ptr<RunnerShare> share)
      : link_{std::make_shared<Link>(options, std::move(share))},
        event_sources_max_{options.event_sources_max} {}

  std::unique_ptr<Transaction> begin() override { return std::make_unique<OpenTransaction>(link_); }
  std::vector<Position> positions(ConsumerId consumer, std::string_view source) override;
  std::optional<std::int32_t> scope(const ScopeName& name) override;
  Due due(const DueQuery& query) override { return select_due(link_->connection, query); }
  std::optional<PauseRecord> pause(ConsumerId consumer) override {
    return select_pause(link_->connection, consumer);
  }

 private:
  std::optional<std::int32_t> find(const ScopeName& name);
  bool has_room(const ScopeName& name);

  std::shared_ptr<Link> link_;
  int event_sources_max_;
};

std::vector<Position> DatabaseSession::positions(ConsumerId consumer, std::string_view source) {
  const Connection::Inside inside{link_->connection};
  return select_positions(link_->connection, consumer, source);
}

std::optional<std::int32_t> DatabaseSession::find(const ScopeName& name) {
  Statement& select = link_->connection.own(
      "SELECT id FROM main.onefold_scope "
      "WHERE consumer = ? AND source_or_rule = ? AND handler = ? AND key_form = ?");
  const ResetAtEnd reset{select};
  select.integer(1, name.consumer).text(2, name.source_or_rule);
  select.text(3, name.handler).text(4, name.key_form);
  if (!select.step()) return std::nullopt;
  return static_cast<std::int32_t>(select.integer_at(0));
}

bool DatabaseSession::has_room(const ScopeName& name) {
  if (name.always) return true;
  Statement& count = link_->connection.own(
      "SELECT count(DISTINCT source_or_rule), coalesce(max(source_or_rule = ?2), 0) "
      "FROM main.onefold_scope WHERE consumer = ?1 AND event_source = 1");
  const ResetAtEnd reset{count};
  count.integer(1, name.consumer).text(2, name.source_or_rule).step();
  // A source that has a scope may have others: its keys are of another form, not of another source.
  return count.integer_at(0) < event_sources_max_ || count.integer_at(1) != 0;
}

std::optional<std::int32_t> DatabaseSession::scope(const ScopeName& name) {
  Connection& connection = link_->connection;
  const Connection::Inside inside{connection};
  if (const auto known = find(name)) return known;
  if (!has_room(name)) return std::nullopt;
  OwnTransaction transaction{connection};
  // Another process may have allotted it, or taken the last place, until we had the lock.
  if (const auto known = find(name)) return known;
  if (!has_room(name)) return std::nullopt;
  connection
      .own(
          "INSERT INTO main.onefold_scope (consumer, source_or_rule, handler, key_form, "
          "event_source) VALUES (?, ?, ?, ?, ?)")
      .integer(1, name.consumer)
      .text(2, name.source_or_rule)
      .text(3, name.handler)
      .text(4, name.key_form)
      .integer(5, name.always ? 0 : 1)
      .run();
  const auto number = static_cast<std::int32_t>(sqlite3_last_insert_rowid(connection.handle()));
  transaction.commit();
  return number;
}

class Database final : public Store {
 public:
  Database(Options options, std::shared_ptr<RunnerShare> share)
      : options_{std::move(options)}, share_{std::move(share)} {}

  StoreTraits traits() const override { return {.single_writer = true}; }
  std::unique_ptr<Session> connect() override {
    return std::make_unique<DatabaseSession>(options_, share_);
  }
  // Their connections leave checkpoints to the session.
  std::unique_ptr<Housekeeping> housekeeping() override { return open_housekeeping(options_); }
  std::unique_ptr<Records> records() override { return open_records(options_); }
  std::unique_ptr<Decisions> decisions() override { return open_decisions(options_); }
  std::unique_ptr<Replays> replays() override { return open_replays(options_); }
  std::unique_ptr<Runs> runs() override { return open_runs(options_); }

 private:
  Options options_;
  std::shared_ptr<RunnerShare> share_;
};

/// The one name of the file, so that the lock cannot be walked around by a link.
std::string true_path(const std::string& path) {
  if (path.empty() || path == ":memory:") {
    throw Error{ErrorKind::bad_configuration, "SQLite: the database must be a file; name one"};
  }
  std::error_code failure;
  const auto resolved = std::filesystem::weakly_canonical(path, failure);
  return failure ? path : resolved.string();
}

}  // namespace

std::unique_ptr<Store> open_store(Options options) {
  options.path = true_path(options.path);
  try {
    std::shared_ptr<RunnerShare> share;
    if (options.role == Role::runner) share = std::make_shared<RunnerShare>(options.path);
    // Once now, so that what is wrong is said at the start.
    const Connection tried{options, nullptr};
    return std::make_unique<Database>(std::move(options), std::move(share));
  } catch (const Failure& failure) {
    if (failure.kind() != ErrorKind::unavailable) throw;
    throw Error{failure.lasts() ? ErrorKind::bad_configuration : ErrorKind::unavailable,
                fmt::format("cannot open {}: {}", options.path, failure.what())};
  }
}

::sqlite3* connection(const Transaction& transaction) {
  if (const auto* open = dynamic_cast<const OpenTransaction*>(&transaction)) return open->handle();
  throw Error{ErrorKind::bad_configuration,
              "sqlite::connection was asked for a transaction of another database"};
}

}  // namespace onefold::sqlite
