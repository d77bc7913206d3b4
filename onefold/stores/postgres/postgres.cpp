#include "onefold/stores/postgres/postgres.h"

#include <fmt/core.h>

#include "onefold/stores/postgres/decisions.h"
#include "onefold/stores/postgres/housekeeping.h"
#include "onefold/stores/postgres/records.h"
#include "onefold/stores/postgres/runs.h"
#include "onefold/stores/postgres/settings.h"
#include "onefold/stores/postgres/stopped.h"
#include "onefold/stores/postgres/transaction.h"

namespace onefold::postgres {
namespace {

constexpr const char* find_scope_sql =
    "SELECT id FROM onefold.scope "
    "WHERE consumer = $1 AND source_or_rule = $2 AND handler = $3 AND key_form = $4";

class DatabaseSession final : public Session {
 public:
  DatabaseSession(const Options& options, std::shared_ptr<Doubts> doubts)
      : link_{std::make_shared<Link>(options, std::move(doubts))},
        event_sources_max_{options.event_sources_max},
        standing_max_{options.idle_in_transaction_timeout / 2},
        notify_{options.notify} {
    tell_doubts(link_->connection, *link_->doubts, options.notify);
  }

  std::unique_ptr<Transaction> begin() override {
    if (link_->connection.has_waited_in_vain()) {
      end_stopped(link_->connection, standing_max_, notify_);
    }
    return std::make_unique<OpenTransaction>(link_);
  }
  std::vector<Position> positions(ConsumerId consumer, std::string_view source) override {
    return select_positions(link_->connection, consumer, source);
  }
  std::optional<std::int32_t> scope(const ScopeName& name) override;
  Due due(const DueQuery& query) override { return select_due(link_->connection, query); }
  std::optional<PauseRecord> pause(ConsumerId consumer) override {
    return select_pause(link_->connection, consumer);
  }

 private:
  std::optional<std::int32_t> find(const ScopeName& name);
  bool has_room(const ScopeName& name);
  std::optional<std::int32_t> allot(const ScopeName& name);

  std::shared_ptr<Link> link_;
  int event_sources_max_;
  std::chrono::milliseconds standing_max_;  ///< In the middle of a burst.
  std::function<void(const std::string&)> notify_;
};

std::optional<std::int32_t> DatabaseSession::find(const ScopeName& name) {
  Arguments arguments;
  arguments.integer32(name.consumer).text(name.source_or_rule).text(name.handler);
  arguments.text(name.key_form);
  const Result found =
      link_->connection.run(find_scope_sql, std::move(arguments), "looking for a scope");
  if (rows_in(found) == 0) return std::nullopt;
  return Row{found.get(), 0}.integer32(0);
}

bool DatabaseSession::has_room(const ScopeName& name) {
  if (name.always) return true;
  Arguments arguments;
  arguments.integer32(name.consumer).text(name.source_or_rule);
  const Result counted = link_->connection.run(
      "SELECT count(DISTINCT source_or_rule), coalesce(bool_or(source_or_rule = $2), false) "
      "FROM onefold.scope WHERE consumer = $1 AND event_source",
      std::move(arguments), "counting scopes");
  const Row row{counted.get(), 0};
  // A source that has a scope may have others: its keys are of another form, not of another source.
  return row.integer64(0) < event_sources_max_ || row.boolean(1);
}

std::optional<std::int32_t> DatabaseSession::scope(const ScopeName& name) {
  auto number = find(name);
  if (!number && has_room(name)) number = allot(name);
  if (number) link_->words.remember(*number, std::string{name.source_or_rule});
  return number;
}

std::optional<std::int32_t> DatabaseSession::allot(const ScopeName& name) {
  Connection& connection = link_->connection;
  OwnTransaction transaction{connection};
  Arguments consumer;
  consumer.integer32(name.consumer);
  connection.run("SELECT 1 FROM onefold.consumer WHERE id = $1 FOR UPDATE", std::move(consumer),
                 "locking a consumer");
  // Another process may have allotted it, or taken the last place, until we had the lock.
  if (const auto known = find(name)) return known;
  if (!has_room(name)) return std::nullopt;
  Arguments row;
  row.integer32(name.consumer).text(name.source_or_rule).text(name.handler).text(name.key_form);
  row.boolean(!name.always);
  const Result made = connection.run(
      "INSERT INTO onefold.scope (consumer, source_or_rule, handler, key_form, event_source) "
      "VALUES ($1, $2, $3, $4, $5) RETURNING id",
      std::move(row), "allotting a scope");
  transaction.commit();
  return Row{made.get(), 0}.integer32(0);
}

class Database final : public Store {
 public:
  explicit Database(Options options)
      : options_{std::move(options)}, doubts_{std::make_shared<Doubts>()} {}

  StoreTraits traits() const override {
    return {.one_connection = static_cast<bool>(options_.borrow)};
  }
  std::unique_ptr<Session> connect() override {
    return std::make_unique<DatabaseSession>(options_, doubts_);
  }
  std::unique_ptr<Housekeeping> housekeeping() override { return open_housekeeping(options_); }
  std::unique_ptr<Records> records() override { return open_records(options_); }
  std::unique_ptr<Decisions> decisions() override { return open_decisions(options_); }
  std::unique_ptr<Replays> replays() override { return open_replays(options_); }
  std::unique_ptr<Runs> runs() override { return open_runs(options_); }

 private:
  Options options_;
  std::shared_ptr<Doubts> doubts_;
};

}  // namespace

std::unique_ptr<Store> open_store(Options options) {
  require_sense(options);
  // Once now, so that what is wrong is said at the start.
  const Connection tried{options};
  return std::make_unique<Database>(std::move(options));
}

::pg_conn* connection(const Transaction& transaction) {
  if (const auto* open = dynamic_cast<const OpenTransaction*>(&transaction)) return open->handle();
  throw Error{ErrorKind::bad_configuration,
              "postgres::connection was asked for a transaction of another database"};
}

}  // namespace onefold::postgres
