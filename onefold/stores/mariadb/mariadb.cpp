#include "onefold/stores/mariadb/mariadb.h"

#include <fmt/core.h>

#include <utility>

#include "onefold/formats/fingerprint.h"
#include "onefold/stores/mariadb/decisions.h"
#include "onefold/stores/mariadb/housekeeping.h"
#include "onefold/stores/mariadb/records.h"
#include "onefold/stores/mariadb/runs.h"
#include "onefold/stores/mariadb/transaction.h"

namespace onefold::mariadb {
namespace {

class DatabaseSession final : public Session {
 public:
  explicit DatabaseSession(const Options& options)
      : link_{std::make_shared<Link>(options)}, event_sources_max_{options.event_sources_max} {}

  std::unique_ptr<Transaction> begin() override { return std::make_unique<OpenTransaction>(link_); }
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
  void lock_consumer(ConsumerId consumer);

  std::shared_ptr<Link> link_;
  int event_sources_max_;
};

std::array<std::uint8_t, 16> words_of(const ScopeName& name) {
  return sha256_128_of_parts({name.source_or_rule, name.handler, name.key_form});
}

std::optional<std::int32_t> DatabaseSession::find(const ScopeName& name) {
  Statement& select =
      link_->connection.own("SELECT id FROM onefold_scope WHERE consumer = ? AND words = ?");
  const auto words = words_of(name);
  select.run(ParameterRows{2}.integer(name.consumer).blob(words));
  if (!select.step()) return std::nullopt;
  const auto number = static_cast<std::int32_t>(select.integer_at(0));
  select.finish();
  return number;
}

bool DatabaseSession::has_room(const ScopeName& name) {
  if (name.always) return true;
  Statement& count = link_->connection.own(
      "SELECT COUNT(DISTINCT source_or_rule), COALESCE(MAX(source_or_rule = ?), 0) "
      "FROM onefold_scope WHERE consumer = ? AND event_source = 1");
  count.run(ParameterRows{2}.text(name.source_or_rule).integer(name.consumer));
  count.step();
  const std::int64_t sources = count.integer_at(0);
  const bool known = count.integer_at(1) != 0;
  count.finish();
  // A source that has a scope may have others: its keys are of another form, not of another source.
  return known || sources < event_sources_max_;
}

void DatabaseSession::lock_consumer(ConsumerId consumer) {
  Statement& lock = link_->connection.own("SELECT 1 FROM onefold_consumer WHERE id = ? FOR UPDATE");
  lock.run(ParameterRows{1}.integer(consumer));
  if (!lock.step()) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("MariaDB: there is no consumer number {}; was the database replaced? "
                            "start again",
                            consumer)};
  }
  lock.finish();
}

std::optional<std::int32_t> DatabaseSession::scope(const ScopeName& name) {
  Connection& connection = link_->connection;
  if (const auto known = find(name)) return known;
  if (!has_room(name)) return std::nullopt;
  OwnTransaction transaction{connection};
  lock_consumer(name.consumer);
  // Another process may have allotted it, or taken the last place, until we had the lock.
  if (const auto known = find(name)) return known;
  if (!has_room(name)) return std::nullopt;
  const auto words = words_of(name);
  ParameterRows row{6};
  row.integer(name.consumer).blob(words).text(name.source_or_rule).text(name.handler);
  row.text(name.key_form).integer(name.always ? 0 : 1);
  connection
      .own(
          "INSERT INTO onefold_scope (consumer, words, source_or_rule, handler, key_form, "
          "event_source) VALUES (?, ?, ?, ?, ?, ?)")
      .run(row);
  const auto number = find(name);
  transaction.commit();
  return number;
}

class Database final : public Store {
 public:
  explicit Database(Options options) : options_{std::move(options)} {}

  StoreTraits traits() const override {
    return {.one_connection = static_cast<bool>(options_.borrow)};
  }
  std::unique_ptr<Session> connect() override {
    return std::make_unique<DatabaseSession>(options_);
  }
  std::unique_ptr<Housekeeping> housekeeping() override { return open_housekeeping(options_); }
  std::unique_ptr<Records> records() override { return open_records(options_); }
  std::unique_ptr<Decisions> decisions() override { return open_decisions(options_); }
  std::unique_ptr<Replays> replays() override { return open_replays(options_); }
  std::unique_ptr<Runs> runs() override { return open_runs(options_); }

 private:
  Options options_;
};

}  // namespace

std::unique_ptr<Store> open_store(Options options) {
  if (options.connection.empty() && !options.borrow) {
    throw Error{ErrorKind::bad_configuration,
                "MariaDB: neither an address nor a connection to borrow was given"};
  }
  {
    // Once now, so that what is wrong is said at the start.
    const Connection tried{options, Purpose::apply};
    const bool relaxed = options.role == Role::runner && !tried.durability().durable;
    if (relaxed && options.notify) {
      options.notify({Severity::warning,
                      "MariaDB: a power cut can take back confirmed commits, as was accepted: " +
                          tried.durability().text});
    }
  }
  return std::make_unique<Database>(std::move(options));
}

::st_mysql* connection(const Transaction& transaction) {
  if (const auto* open = dynamic_cast<const OpenTransaction*>(&transaction)) return open->handle();
  throw Error{ErrorKind::bad_configuration,
              "mariadb::connection was asked for a transaction of another database"};
}

}  // namespace onefold::mariadb
