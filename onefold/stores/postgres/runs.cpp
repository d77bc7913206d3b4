#include "onefold/stores/postgres/runs.h"

#include <bit>
#include <utility>

#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {
namespace {

constexpr const char* open_sql =
    "SELECT id, host, process, process_started, positions, "
    "(extract(epoch FROM clock_timestamp() - seen_at) * 1000000)::int8, size, scope, key "
    "FROM onefold.run WHERE consumer = $1 AND source = $2 ORDER BY id";

constexpr const char* careful_sql =
    "INSERT INTO onefold.careful (consumer, source, size) VALUES ($1, $2, $3) "
    "ON CONFLICT (consumer, source) DO UPDATE SET size = excluded.size";

constexpr const char* suspect_sql =
    "INSERT INTO onefold.suspect AS s (scope, key, consumer, deaths, how, at) "
    "VALUES ($1, $2, $3, 1, $4, clock_timestamp()) ON CONFLICT (scope, key) DO UPDATE "
    "SET deaths = s.deaths + 1, how = excluded.how, at = excluded.at";

class DatabaseRuns final : public Runs {
 public:
  explicit DatabaseRuns(const Options& options) : connection_{options} {}

  RunId begin(const RunStart& start) override;
  std::vector<RunRecord> open(ConsumerId consumer, std::string_view source) override;
  bool bury(RunId id, const Burial& burial) override;
  Caution caution(ConsumerId consumer, std::string_view source) override;
  void hold(RunId id, int size, const std::optional<Key>& in_hand) override;
  void relax(ConsumerId consumer, std::string_view source, std::span<const Key> settled) override;
  void end(RunId id) override;

 private:
  Connection connection_;
};

RunId DatabaseRuns::begin(const RunStart& start) {
  Arguments arguments;
  arguments.integer32(start.consumer).text(start.source).text(start.host);
  arguments.integer64(start.process).integer64(start.process_started);
  arguments.integer64(std::bit_cast<std::int64_t>(start.positions));
  const Result made = connection_.run(
      "INSERT INTO onefold.run (consumer, source, host, process, process_started, positions, "
      "seen_at, size) VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), 0) RETURNING id",
      std::move(arguments), "beginning a run");
  return Row{made.get(), 0}.integer64(0);
}

std::vector<RunRecord> DatabaseRuns::open(ConsumerId consumer, std::string_view source) {
  Arguments arguments;
  arguments.integer32(consumer).text(source);
  const Result found = connection_.run(open_sql, std::move(arguments), "reading runs");
  std::vector<RunRecord> runs;
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    RunRecord& run = runs.emplace_back();
    run.id = row.integer64(0);
    run.start = {.consumer = consumer,
                 .source = std::string{source},
                 .host = row.text(1),
                 .process = row.integer64(2),
                 .process_started = row.integer64(3),
                 .positions = std::bit_cast<std::uint64_t>(row.integer64(4))};
    run.seen_us_ago = row.integer64(5);
    run.size = row.integer32(6);
    if (row.is_null(7)) continue;
    run.in_hand.emplace().scope = row.integer32(7);
    row.copy_bytes(8, run.in_hand->bytes);
  }
  return runs;
}

bool DatabaseRuns::bury(RunId id, const Burial& burial) {
  OwnTransaction transaction{connection_};
  Arguments arguments;
  arguments.integer64(id);
  const Result run =
      connection_.run("DELETE FROM onefold.run WHERE id = $1 RETURNING consumer, source",
                      std::move(arguments), "ending a run that has died");
  if (rows_in(run) == 0) return false;
  const Row row{run.get(), 0};
  if (burial.careful_size > 0) {
    Arguments careful;
    careful.integer32(row.integer32(0)).text(row.text(1)).integer32(burial.careful_size);
    connection_.run(careful_sql, std::move(careful), "beginning careful mode");
  }
  if (burial.suspect) {
    Arguments suspect;
    suspect.integer32(burial.suspect->scope).bytes(burial.suspect->bytes);
    suspect.integer32(row.integer32(0)).text(burial.how);
    connection_.run(suspect_sql, std::move(suspect), "counting a death");
  }
  transaction.commit();
  return true;
}

Caution DatabaseRuns::caution(ConsumerId consumer, std::string_view source) {
  const OwnTransaction one_state{connection_, OwnTransaction::read};
  Caution caution;
  Arguments arguments;
  arguments.integer32(consumer).text(source);
  const Result careful =
      connection_.run("SELECT size FROM onefold.careful WHERE consumer = $1 AND source = $2",
                      std::move(arguments), "looking for careful mode");
  if (rows_in(careful) != 0) caution.size = Row{careful.get(), 0}.integer32(0);
  Arguments of_consumer;
  of_consumer.integer32(consumer);
  const Result found = connection_.run(
      "SELECT scope, key, deaths, how FROM onefold.suspect WHERE consumer = $1 "
      "ORDER BY at DESC LIMIT 1000",
      std::move(of_consumer), "reading suspects");
  for (int i = 0; i < rows_in(found); ++i) {
    const Row row{found.get(), i};
    Suspect& suspect = caution.suspects.emplace_back();
    suspect.key.scope = row.integer32(0);
    row.copy_bytes(1, suspect.key.bytes);
    suspect.deaths = row.integer32(2);
    suspect.how = row.text(3);
  }
  return caution;
}

void DatabaseRuns::hold(RunId id, int size, const std::optional<Key>& in_hand) {
  Arguments arguments;
  arguments.integer64(id).integer32(size);
  in_hand ? arguments.integer32(in_hand->scope) : arguments.null(type::integer32);
  in_hand ? arguments.bytes(in_hand->bytes) : arguments.null(type::bytes);
  connection_.run(
      "UPDATE onefold.run SET seen_at = clock_timestamp(), size = $2, scope = $3, key = $4 "
      "WHERE id = $1",
      std::move(arguments), "recording what is in hand");
}

void DatabaseRuns::relax(ConsumerId consumer, std::string_view source,
                         std::span<const Key> settled) {
  OwnTransaction transaction{connection_};
  Arguments arguments;
  arguments.integer32(consumer).text(source);
  connection_.run("DELETE FROM onefold.careful WHERE consumer = $1 AND source = $2",
                  std::move(arguments), "ending careful mode");
  for (const Key& key : settled) {
    Arguments suspect;
    suspect.integer32(key.scope).bytes(key.bytes);
    connection_.run("DELETE FROM onefold.suspect WHERE scope = $1 AND key = $2", std::move(suspect),
                    "forgetting a suspect");
  }
  transaction.commit();
}

void DatabaseRuns::end(RunId id) {
  Arguments arguments;
  arguments.integer64(id);
  connection_.run("DELETE FROM onefold.run WHERE id = $1", std::move(arguments), "ending a run");
}

}  // namespace

std::unique_ptr<Runs> open_runs(const Options& options) {
  return std::make_unique<DatabaseRuns>(options);
}

}  // namespace onefold::postgres
