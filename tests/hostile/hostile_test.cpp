#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/formats/decoder.h"
#include "onefold/runner.h"
#include "onefold/stores/sqlite/sqlite.h"
#include "tests/hostile/inputs.h"

namespace onefold::hostile_rows {
namespace {

const IdentityRule by_id{.id = "/id", .source = "literal:shop", .type = "/type"};
/// Of what is larger than the limit, so much is kept.
constexpr std::size_t kept_bytes_max = 1 << 16;

std::string_view code_of(std::string_view defect) {
  return defect.substr(0, defect.find(':'));
}

// --- the decoders alone --------------------------------------------------------------------------

std::unique_ptr<Decoder> open_decoder(file::Format format) {
  return format == file::Format::json ? open_json_decoder(by_id) : open_cloudevents_decoder();
}

std::vector<Row> rows_of(file::Format format) {
  return format == file::Format::json ? json_rows() : cloudevents_rows();
}

class Hostile : public testing::TestWithParam<file::Format> {};

TEST_P(Hostile, RowsAreJudgedByTheDecoder) {
  const auto decoder = open_decoder(GetParam());
  Delivery delivery;  // One for all: nothing of an event may stay for the next.
  for (const Row& row : rows_of(GetParam())) {
    decoder->decode(row.bytes, delivery);
    EXPECT_EQ(code_of(delivery.defect), row.code) << row.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.raw, row.bytes) << row.name;
    if (!row.code.empty()) continue;
    EXPECT_EQ(delivery.event.id, row.id) << row.name;
  }
}

TEST_P(Hostile, NamesAreUnique) {
  std::set<std::string> names;
  for (const Row& row : rows_of(GetParam())) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.bytes.find('\n'), std::string::npos) << row.name;
  }
  EXPECT_GT(names.size(), 130U);
}

std::chrono::steady_clock::duration time_to_refuse(Decoder& decoder, const std::string& bytes) {
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    Delivery delivery;
    const auto begin = std::chrono::steady_clock::now();
    decoder.decode(bytes, delivery);
    fastest = std::min(fastest, std::chrono::steady_clock::now() - begin);
    EXPECT_NE(delivery.defect, "");
  }
  return fastest;
}

/// What one event of an acceptable size can cost: no time, and no stack.
TEST_P(Hostile, H13_DeepTextsTakeNoTime) {
  const auto decoder = open_decoder(GetParam());
  for (const std::string& bytes :
       {std::string(1'000'000, '['), std::string(1'000'000, '{'), std::string(1'000'000, '"'),
        std::string(500'000, '[') + std::string(500'000, ']')}) {
    EXPECT_LT(time_to_refuse(*decoder, bytes), std::chrono::milliseconds{10}) << bytes.front();
  }
}

/// Also without an optimiser: what is not linear would take minutes.
TEST_P(Hostile, H14_LargeTextsTakeLittleTime) {
  std::string members;
  for (int i = 0; i < 60'000; ++i) members += "\"name" + std::to_string(i) + "\":1,";
  std::string alike;
  for (int i = 0; i < 10'000; ++i)
    alike += "\"" + std::string(60, 'x') + std::to_string(i) + "\":1,";
  const auto decoder = open_decoder(GetParam());
  for (const std::string& bytes :
       {"{" + members + "\"id\":1}", "{" + alike + "\"id\":1}", std::string(1'000'000, '7'),
        "\"" + std::string(1'000'000, '\\') + "\"", "[" + std::string(1'000'000, ',') + "]"}) {
    EXPECT_LT(bytes.size(), DecodeLimits{}.event_bytes_max);
    EXPECT_LT(time_to_refuse(*decoder, bytes), std::chrono::seconds{1}) << bytes.substr(0, 10);
  }
}

// --- file → worker → SQLite ----------------------------------------------------------------------

using Rows = std::vector<std::vector<std::string>>;

/// A folder with a database and files of events. The database is read with SQLite's own interface.
class World {
 public:
  World() {
    std::string pattern = (std::filesystem::temp_directory_path() / "onefold-hostile-XXXXXX");
    folder_ = ::mkdtemp(pattern.data());
    store_ = sqlite::open_store({.path = path("shop.db")});
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(path("shop.db").c_str(), &opened), SQLITE_OK);
    reader_.reset(opened);
    EXPECT_EQ(sqlite3_exec(opened, "CREATE TABLE applied (id BLOB, source TEXT, data BLOB)",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
  }
  ~World() {
    reader_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Totals run(const std::string& name, file::Format format) {
    Consumer consumer{.name = "audit"};
    consumer.on("*", [](const Event& event, Context& context) {
      context.sql().execute("INSERT INTO applied VALUES (CAST(:id AS BLOB), :source, :data)",
                            {{"id", event.id},
                             {"source", event.source},
                             {"data", event.data ? Value{*event.data} : Value{Null{}}}},
                            1);
      return Answer::done();
    });
    notices_.clear();
    Runner runner{*store_,
                  {.notify = [&](const Notice& notice) { notices_.push_back(notice.text); }}};
    runner.add(
        consumer,
        file::source({.name = "events", .path = path(name), .format = format, .identity = by_id}));
    return runner.run_until_idle();
  }

  Rows rows(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(reader_.get(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(reader_.get());
    Rows rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      auto& row = rows.emplace_back();
      for (int column = 0; column < sqlite3_column_count(statement); ++column) {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
        row.emplace_back(bytes == nullptr ? "" : bytes, size);
      }
    }
    sqlite3_finalize(statement);
    return rows;
  }

  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  };
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<sqlite3, Close> reader_;
  std::vector<std::string> notices_;
};

std::string good_event(file::Format format, const std::string& id) {
  return format == file::Format::json
             ? R"({"type":"t","id":")" + id + "\"}"
             : R"({"specversion":"1.0","source":"shop","type":"t","id":")" + id + "\"}";
}

/// Events between good ones, as lines or as elements of one array, and where each of them stands.
struct Events {
  std::string text;
  std::vector<std::size_t> offsets = {};
};

Events between_good_ones(const std::vector<Row>& rows, file::Format format, bool array) {
  Events events{.text = array ? "[" : ""};
  const std::string separator = array ? ",\n" : "\n";
  events.text += good_event(format, "good 0") + separator;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    events.offsets.push_back(events.text.size());
    events.text += rows[i].bytes + separator;
    events.text += good_event(format, "good " + std::to_string(i + 1));
    events.text += array && i + 1 == rows.size() ? "]" : separator;
  }
  return events;
}

void expect_applied(World& world, const std::vector<Row>& rows) {
  std::multiset<std::string> wanted{"good 0"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    wanted.insert("good " + std::to_string(i + 1));
    if (rows[i].code.empty()) wanted.insert(rows[i].id);
  }
  for (const char* sql : {"SELECT id FROM applied",
                          "SELECT CAST(event_id AS BLOB) FROM onefold_inbox WHERE outcome = 0"}) {
    std::multiset<std::string> found;
    for (const auto& row : world.rows(sql)) found.insert(row.at(0));
    EXPECT_EQ(found, wanted) << sql;
  }
}

void expect_set_aside(World& world, const std::vector<Row>& rows, const Events& events) {
  std::map<std::string, std::vector<std::string>> letters;
  for (auto& letter : world.rows("SELECT at_low, raw, errors, reason FROM onefold_deferred"))
    letters.emplace(letter.at(0), std::move(letter));
  std::size_t dead = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const auto letter = letters.find(std::to_string(events.offsets[i]));
    EXPECT_EQ(letter != letters.end(), !row.code.empty()) << row.name;
    if (letter == letters.end()) continue;
    ++dead;
    const std::string& raw = letter->second.at(1);
    // Of what is too large, the beginning and a note.
    if (row.code == "TOO_LARGE") {
      EXPECT_EQ(raw.substr(0, kept_bytes_max), row.bytes.substr(0, kept_bytes_max)) << row.name;
      EXPECT_NE(raw.find(std::to_string(row.bytes.size()) + " bytes"), std::string::npos);
    } else {
      EXPECT_EQ(raw, row.bytes) << row.name;
    }
    EXPECT_NE(letter->second.at(2).find(row.code + ": "), std::string::npos) << row.name;
    EXPECT_EQ(letter->second.at(3), "dead") << row.name;
  }
  EXPECT_EQ(letters.size(), dead);
}

void apply_between_good_ones(file::Format format, const std::vector<Row>& rows, bool array) {
  World world;
  const Events events = between_good_ones(rows, format, array);
  std::ofstream{world.path("events"), std::ios::binary} << events.text;
  const Totals totals = world.run("events", format);
  const auto dead = std::ranges::count_if(rows, [](const Row& row) { return !row.code.empty(); });
  const auto count = static_cast<std::int64_t>(rows.size());
  EXPECT_EQ(totals.received(), 2 * count + 1);
  EXPECT_EQ(totals[Outcome::dead], dead);
  EXPECT_EQ(totals[Outcome::applied], 2 * count + 1 - dead);
  EXPECT_EQ(world.notices(), std::vector<std::string>{});
  expect_applied(world, rows);
  expect_set_aside(world, rows, events);
  EXPECT_EQ(world.run("events", format).received(), 0) << "nothing comes twice";
}

TEST_P(Hostile, RowsBetweenGoodLinesHarmNobody) {
  apply_between_good_ones(GetParam(), rows_of(GetParam()), false);
}

TEST_P(Hostile, RowsBetweenGoodElementsHarmNobody) {
  std::vector<Row> rows = rows_of(GetParam());
  std::erase_if(rows, [](const Row& row) { return !row.paired; });
  EXPECT_GT(rows.size(), 80U);
  apply_between_good_ones(GetParam(), rows, true);
}

TEST_P(Hostile, H06_AByteOrderMarkBeforeTheFirstLineIsNoPartOfIt) {
  World world;
  std::ofstream{world.path("events"), std::ios::binary} << "\uFEFF"
                                                        << good_event(GetParam(), "good") << '\n';
  EXPECT_EQ(world.run("events", GetParam())[Outcome::applied], 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, Hostile,
                         testing::Values(file::Format::json, file::Format::cloudevents),
                         [](const auto& each) {
                           return each.param == file::Format::json ? "Json" : "CloudEvents";
                         });

TEST(HostileFiles, H14_ALineOf200MegabytesCostsItself) {
  World world;
  const std::string before = good_event(file::Format::json, "before") + "\n";
  const std::string after = "\n" + good_event(file::Format::json, "after") + "\n";
  constexpr std::size_t large = 200 << 20;
  {
    // Zeros that take no place on the disk.
    std::ofstream file{world.path("events"), std::ios::binary};
    file << before;
    file.seekp(static_cast<std::streamoff>(before.size() + large));
    file << after;
  }
  const Totals totals = world.run("events", file::Format::json);
  EXPECT_EQ(totals[Outcome::applied], 2);
  EXPECT_EQ(totals[Outcome::dead], 1);
  const Rows letters = world.rows("SELECT raw, errors FROM onefold_deferred");
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_LT(letters[0][0].size(), 2 * kept_bytes_max);
  EXPECT_NE(letters[0][1].find("TOO_LARGE: " + std::to_string(large)), std::string::npos)
      << letters[0][1];
}

TEST(HostileFiles, H09_TheSameIdWithAnotherPayloadIsKeptAsAConflict) {
  World world;
  const std::vector<std::string> lines{
      R"({"type":"t","id":"e1","amount":125,"note":"é"})",
      // The same content, written in another way.
      "{ \"note\" : \"\\u00e9\",\t\"amount\":125 , \"id\":\"\\u00651\",\"type\":\"t\"}",
      R"({"type":"t","id":"e1","amount":125.0,"note":"é"})",
      R"({"type":"t","id":"e1","amount":"125","note":"é"})",
      R"({"type":"t","id":"e1","amount":125,"note":"é"})",
      R"({"type":"t","id":"e1","amount":125,"note":"é","note2":null})",
      R"({"type":"t","id":"e1","amount":125.0,"note":"é"})",
  };
  std::ofstream file{world.path("events"), std::ios::binary};
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  const Totals totals = world.run("events", file::Format::json);
  EXPECT_EQ(totals[Outcome::applied], 1);
  EXPECT_EQ(totals[Outcome::duplicate], 2);
  EXPECT_EQ(totals[Outcome::conflict], 4);
  EXPECT_EQ(world.rows("SELECT data FROM applied"), (Rows{{lines[0]}}));
  EXPECT_EQ(
      world.rows("SELECT raw, reason, count FROM onefold_deferred ORDER BY id"),
      (Rows{
          {lines[2], "conflict", "2"}, {lines[3], "conflict", "1"}, {lines[5], "conflict", "1"}}));
}

TEST(HostileFiles, H19_TheSourceOfTheConfigurationScopesTheId) {
  World world;
  std::ofstream{world.path("events"), std::ios::binary}
      << R"({"type":"t","id":"e1","source":"bank"})" << '\n'
      << R"({"type":"t","id":"e1","source":"shop","tenant":"other"})" << '\n';
  const Totals totals = world.run("events", file::Format::json);
  // Another source in the body makes no other event of it: it is data, and differs.
  EXPECT_EQ(totals[Outcome::applied], 1);
  EXPECT_EQ(totals[Outcome::conflict], 1);
  EXPECT_EQ(world.rows("SELECT source FROM applied"), (Rows{{"shop"}}));
}

// --- the Big List of Naughty Strings
// --------------------------------------------------------------

std::vector<std::string> naughty_strings() {
  std::ifstream file{ONEFOLD_BLNS};
  return nlohmann::json::parse(file).get<std::vector<std::string>>();
}

class Naughty : public testing::TestWithParam<file::Format> {};

TEST_P(Naughty, H05_EveryStringIsAnIdOfItsOwn) {
  const std::vector<std::string> strings = naughty_strings();
  ASSERT_EQ(strings.size(), 485U);
  std::set<std::string> distinct{strings.begin(), strings.end()};
  EXPECT_EQ(distinct.size(), 481U) << "four of them stand in the list twice";
  // Refused by rule: the empty one and the one that is a space. None is too long or holds U+0000.
  const std::set<std::string> refused{"", " "};

  World world;
  {
    std::ofstream file{world.path("events"), std::ios::binary};
    for (int delivery = 0; delivery < 2; ++delivery) {
      for (const std::string& id : strings) {
        nlohmann::json event{{"id", id},      {"type", "t"},          {"source", "shop"},
                             {"subject", id}, {"specversion", "1.0"}, {"data", {{"value", id}}}};
        file << event.dump(-1, ' ', delivery == 1) << '\n';
      }
    }
  }
  const Totals totals = world.run("events", GetParam());
  EXPECT_EQ(totals.received(), 970);
  EXPECT_EQ(totals[Outcome::applied], 479);
  EXPECT_EQ(totals[Outcome::duplicate], 2 * (485 - 2) - 479);
  EXPECT_EQ(totals[Outcome::dead], 4);

  for (const std::string& id : refused) distinct.erase(id);
  for (const char* sql : {"SELECT id FROM applied",
                          "SELECT CAST(event_id AS BLOB) FROM onefold_inbox WHERE outcome = 0"}) {
    std::multiset<std::string> found;
    for (const auto& row : world.rows(sql)) found.insert(row.at(0));
    EXPECT_EQ(found, (std::multiset<std::string>{distinct.begin(), distinct.end()})) << sql;
  }
  std::set<std::string> set_aside;
  for (const auto& row : world.rows("SELECT raw FROM onefold_deferred")) {
    set_aside.insert(nlohmann::json::parse(row.at(0)).at("id").get<std::string>());
  }
  EXPECT_EQ(set_aside, refused);
}

INSTANTIATE_TEST_SUITE_P(Formats, Naughty,
                         testing::Values(file::Format::json, file::Format::cloudevents),
                         [](const auto& each) {
                           return each.param == file::Format::json ? "Json" : "CloudEvents";
                         });

}  // namespace
}  // namespace onefold::hostile_rows
