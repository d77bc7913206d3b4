#include "onefold/stores/sqlite/runs.h"

#include <bit>

#include "onefold/stores/sqlite/deferred.h"

namespace onefold::sqlite {
namespace {

constexpr const char* open_sql =
    "SELECT id, host, process, process_started, positions, seen_at, size, scope, key "
    "FROM main.onefold_run WHERE consumer = ? AND source = ? ORDER BY id";

constexpr const char* careful_sql =
    "INSERT INTO main.onefold_careful (consumer, source, size) "
    "SELECT consumer, source, ?2 FROM main.onefold_run WHERE id = ?1 "
    "ON CONFLICT (consumer, source) DO UPDATE SET size = excluded.size";

constexpr const char* suspect_sql =
    "INSERT INTO main.onefold_suspect (scope, key, consumer, deaths, how, at) "
    "SELECT ?2, ?3, consumer, 1, ?4, ?5 FROM main.onefold_run WHERE id = ?1 "
    "ON CONFLICT (scope, key) DO UPDATE SET deaths = deaths + 1, how = excluded.how, "
    "at = excluded.at";

class DatabaseRuns final : public Runs {
 public:
  explicit DatabaseRuns(const Options& options) : connection_{options, nullptr} {}

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
  OwnTransaction transaction{connection_};
  connection_
      .own(
          "INSERT INTO main.onefold_run (consumer, source, host, process, process_started, "
          "positions, seen_at, size) VALUES (?, ?, ?, ?, ?, ?, ?, 0)")
      .integer(1, start.consumer)
      .text(2, start.source)
      .text(3, start.host)
      .integer(4, start.process)
      .integer(5, start.process_started)
      .integer(6, std::bit_cast<std::int64_t>(start.positions))
      .integer(7, now_microseconds())
      .run();
  const RunId id = sqlite3_last_insert_rowid(connection_.handle());
  transaction.commit();
  return id;
}

std::vector<RunRecord> DatabaseRuns::open(ConsumerId consumer, std::string_view source) {
  const Connection::Inside inside{connection_};
  Statement& select = connection_.own(open_sql);
  const ResetAtEnd reset{select};
  select.integer(1, consumer).text(2, source);
  std::vector<RunRecord> runs;
  while (select.step()) {
    RunRecord& run = runs.emplace_back();
    run.id = select.integer_at(0);
    run.start = {.consumer = consumer,
                 .source = std::string{source},
                 .host = select.text_at(1),
                 .process = select.integer_at(2),
                 .process_started = select.integer_at(3),
                 .positions = std::bit_cast<std::uint64_t>(select.integer_at(4))};
    run.seen_us_ago = now_microseconds() - select.integer_at(5);
    run.size = static_cast<int>(select.integer_at(6));
    if (select.is_null(7)) continue;
    run.in_hand.emplace().scope = static_cast<std::int32_t>(select.integer_at(7));
    select.copy_blob(8, run.in_hand->bytes);
  }
  return runs;
}

bool DatabaseRuns::bury(RunId id, const Burial& burial) {
  OwnTransaction transaction{connection_};
  if (burial.careful_size > 0) {
    connection_.own(careful_sql).integer(1, id).integer(2, burial.careful_size).run();
  }
  if (burial.suspect) {
    connection_.own(suspect_sql)
        .integer(1, id)
        .integer(2, burial.suspect->scope)
        .blob(3, burial.suspect->bytes)
        .text(4, burial.how)
        .integer(5, now_microseconds())
        .run();
  }
  connection_.own("DELETE FROM main.onefold_run WHERE id = ?").integer(1, id).run();
  // Without the run nothing was inserted above.
  if (sqlite3_changes(connection_.handle()) != 1) return false;
  transaction.commit();
  return true;
}

Caution DatabaseRuns::caution(ConsumerId consumer, std::string_view source) {
  const Connection::Inside inside{connection_};
  Caution caution;
  {
    Statement& select =
        connection_.own("SELECT size FROM main.onefold_careful WHERE consumer = ? AND source = ?");
    const ResetAtEnd reset{select};
    if (select.integer(1, consumer).text(2, source).step()) {
      caution.size = static_cast<int>(select.integer_at(0));
    }
  }
  Statement& select = connection_.own(
      "SELECT scope, key, deaths, how FROM main.onefold_suspect WHERE consumer = ? LIMIT 1000");
  const ResetAtEnd reset{select};
  select.integer(1, consumer);
  while (select.step()) {
    Suspect& suspect = caution.suspects.emplace_back();
    suspect.key.scope = static_cast<std::int32_t>(select.integer_at(0));
    select.copy_blob(1, suspect.key.bytes);
    suspect.deaths = static_cast<int>(select.integer_at(2));
    suspect.how = select.text_at(3);
  }
  return caution;
}

void DatabaseRuns::hold(RunId id, int size, const std::optional<Key>& in_hand) {
  OwnTransaction transaction{connection_};
  Statement& update = connection_.own(
      "UPDATE main.onefold_run SET seen_at = ?2, size = ?3, scope = ?4, key = ?5 WHERE id = ?1");
  update.integer(1, id).integer(2, now_microseconds()).integer(3, size);
  in_hand ? update.integer(4, in_hand->scope) : update.null(4);
  in_hand ? update.blob(5, in_hand->bytes) : update.null(5);
  update.run();
  transaction.commit();
}

void DatabaseRuns::relax(ConsumerId consumer, std::string_view source,
                         std::span<const Key> settled) {
  OwnTransaction transaction{connection_};
  connection_.own("DELETE FROM main.onefold_careful WHERE consumer = ? AND source = ?")
      .integer(1, consumer)
      .text(2, source)
      .run();
  for (const Key& key : settled) {
    connection_.own("DELETE FROM main.onefold_suspect WHERE scope = ? AND key = ?")
        .integer(1, key.scope)
        .blob(2, key.bytes)
        .run();
  }
  transaction.commit();
}

void DatabaseRuns::end(RunId id) {
  OwnTransaction transaction{connection_};
  connection_.own("DELETE FROM main.onefold_run WHERE id = ?").integer(1, id).run();
  transaction.commit();
}

}  // namespace

std::unique_ptr<Runs> open_runs(const Options& options) {
  return std::make_unique<DatabaseRuns>(options);
}

}  // namespace onefold::sqlite
