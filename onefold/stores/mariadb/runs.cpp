#include "onefold/stores/mariadb/runs.h"

#include "onefold/formats/fingerprint.h"
#include "onefold/stores/mariadb/connection.h"

namespace onefold::mariadb {
namespace {

constexpr const char* begin_sql =
    "INSERT INTO onefold_run (consumer, source, host, process, process_started, positions, "
    "seen_at, size) VALUES (?, ?, ?, ?, ?, ?, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), 0)";

constexpr const char* open_sql =
    "SELECT id, host, process, process_started, positions, "
    "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER) - seen_at, size, scope, event_key "
    "FROM onefold_run WHERE consumer = ? AND source = ? ORDER BY id";

constexpr const char* suspect_sql =
    "INSERT INTO onefold_suspect (scope, event_key, consumer, deaths, how, at) VALUES (?, ?, ?, 1, "
    "?, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER)) "
    "ON DUPLICATE KEY UPDATE deaths = deaths + 1, how = VALUES(how), at = VALUES(at)";

class DatabaseRuns final : public Runs {
 public:
  explicit DatabaseRuns(const Options& options) : connection_{options, Purpose::look} {}

  RunId begin(const RunStart& start) override;
  std::vector<RunRecord> open(ConsumerId consumer, std::string_view source) override;
  bool bury(RunId id, const Burial& burial) override;
  Caution caution(ConsumerId consumer, std::string_view source) override;
  void hold(RunId id, int size, const std::optional<Key>& in_hand) override;
  void relax(ConsumerId consumer, std::string_view source, std::span<const Key> settled) override;
  void end(RunId id) override;

 private:
  void be_careful(ConsumerId consumer, std::string_view source, int size);

  Connection connection_;
};

RunId DatabaseRuns::begin(const RunStart& start) {
  OwnTransaction transaction{connection_};
  connection_.own(begin_sql).run(ParameterRows{6}
                                     .integer(start.consumer)
                                     .text(start.source)
                                     .text(start.host)
                                     .integer(start.process)
                                     .integer(start.process_started)
                                     .unsigned_integer(start.positions));
  Statement& number = connection_.own("SELECT LAST_INSERT_ID()");
  number.run();
  number.step();
  const RunId id = number.integer_at(0);
  number.finish();
  transaction.commit();
  return id;
}

std::vector<RunRecord> DatabaseRuns::open(ConsumerId consumer, std::string_view source) {
  Statement& select = connection_.own(open_sql);
  select.run(ParameterRows{2}.integer(consumer).text(source));
  std::vector<RunRecord> runs;
  while (select.step()) {
    RunRecord& run = runs.emplace_back();
    run.id = select.integer_at(0);
    run.start = {.consumer = consumer,
                 .source = std::string{source},
                 .host = select.text_at(1),
                 .process = select.integer_at(2),
                 .process_started = select.integer_at(3),
                 .positions = select.unsigned_at(4)};
    run.seen_us_ago = select.integer_at(5);
    run.size = static_cast<int>(select.integer_at(6));
    if (select.is_null(7)) continue;
    run.in_hand.emplace().scope = static_cast<std::int32_t>(select.integer_at(7));
    select.copy_blob(8, run.in_hand->bytes);
  }
  return runs;
}

void DatabaseRuns::be_careful(ConsumerId consumer, std::string_view source, int size) {
  const auto place = sha256_128(source);
  connection_
      .own(
          "INSERT INTO onefold_careful (consumer, place, size) VALUES (?, ?, ?) "
          "ON DUPLICATE KEY UPDATE size = VALUES(size)")
      .run(ParameterRows{3}.integer(consumer).blob(place).integer(size));
}

bool DatabaseRuns::bury(RunId id, const Burial& burial) {
  OwnTransaction transaction{connection_};
  Statement& select =
      connection_.own("SELECT consumer, source FROM onefold_run WHERE id = ? FOR UPDATE");
  select.run(ParameterRows{1}.integer(id));
  if (!select.step()) return false;
  const auto consumer = static_cast<ConsumerId>(select.integer_at(0));
  const std::string source = select.text_at(1);
  select.finish();
  connection_.own("DELETE FROM onefold_run WHERE id = ?").run(ParameterRows{1}.integer(id));
  if (burial.careful_size > 0) be_careful(consumer, source, burial.careful_size);
  if (burial.suspect) {
    connection_.own(suspect_sql)
        .run(ParameterRows{4}
                 .integer(burial.suspect->scope)
                 .blob(burial.suspect->bytes)
                 .integer(consumer)
                 .text(burial.how));
  }
  transaction.commit();
  return true;
}

Caution DatabaseRuns::caution(ConsumerId consumer, std::string_view source) {
  Caution caution;
  const auto place = sha256_128(source);
  Statement& careful =
      connection_.own("SELECT size FROM onefold_careful WHERE consumer = ? AND place = ?");
  careful.run(ParameterRows{2}.integer(consumer).blob(place));
  if (careful.step()) caution.size = static_cast<int>(careful.integer_at(0));
  careful.finish();
  Statement& select = connection_.own(
      "SELECT scope, event_key, deaths, how FROM onefold_suspect WHERE consumer = ? LIMIT 1000");
  select.run(ParameterRows{1}.integer(consumer));
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
  ParameterRows row{4};
  row.integer(size);
  in_hand ? row.integer(in_hand->scope) : row.null();
  in_hand ? row.blob(in_hand->bytes) : row.null();
  connection_
      .own(
          "UPDATE onefold_run SET seen_at = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS INTEGER), "
          "size = ?, scope = ?, event_key = ? WHERE id = ?")
      .run(row.integer(id));
  transaction.commit();
}

void DatabaseRuns::relax(ConsumerId consumer, std::string_view source,
                         std::span<const Key> settled) {
  OwnTransaction transaction{connection_};
  const auto place = sha256_128(source);
  connection_.own("DELETE FROM onefold_careful WHERE consumer = ? AND place = ?")
      .run(ParameterRows{2}.integer(consumer).blob(place));
  for (const Key& key : settled) {
    connection_.own("DELETE FROM onefold_suspect WHERE scope = ? AND event_key = ?")
        .run(ParameterRows{2}.integer(key.scope).blob(key.bytes));
  }
  transaction.commit();
}

void DatabaseRuns::end(RunId id) {
  OwnTransaction transaction{connection_};
  connection_.own("DELETE FROM onefold_run WHERE id = ?").run(ParameterRows{1}.integer(id));
  transaction.commit();
}

}  // namespace

std::unique_ptr<Runs> open_runs(const Options& options) {
  return std::make_unique<DatabaseRuns>(options);
}

}  // namespace onefold::mariadb
