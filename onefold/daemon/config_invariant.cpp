// [consumer.NAME.invariant.NAME]: what must hold after every commit, for the lab.

#include <algorithm>
#include <array>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/sql_text.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::array reading_keywords{"SELECT", "VALUES", "WITH"};

void check_statement(const TableReader& reader, const std::string& sql) {
  const SqlText read = read_sql(sql, reader.reading().dialect());
  if (!read.defect.empty()) {
    reader.problem("sql", "the statement: " + read.defect, read.hint);
  } else if (std::ranges::find(reading_keywords, read.keyword) == reading_keywords.end()) {
    reader.problem("sql", "an invariant only reads, and this begins with " + read.keyword,
                   "write a SELECT that returns no row as long as all is right");
  } else if (!read.parameters.empty()) {
    reader.problem("sql",
                   "an invariant is about the tables, not about an event: it has no parameter :" +
                       printable(read.parameters.front()),
                   "write the value out, or select it from a table");
  }
}

}  // namespace

std::vector<InvariantConfig> read_invariants(const TableReader& consumer,
                                             const std::string& consumer_name) {
  std::vector<InvariantConfig> invariants;
  const toml::table* all = consumer.table("invariant");
  if (all == nullptr) return invariants;
  ConfigReading& reading = consumer.reading();
  for (const auto& [key, node] : *all) {
    const std::string name{key.str()};
    check_name(name, "invariant name", ConfigReading::place(key), reading);
    const std::string label =
        "[consumer." + printable(consumer_name) + ".invariant." + printable(name) + "]";
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      reading.problem(node, "an invariant must be a table, not " + std::string{describe(node)},
                      "write " + label + " with sql = \"SELECT …\" below it");
      continue;
    }
    const TableReader reader{*table, table_schema("consumer.*.invariant.*"), label, reading};
    const auto sql = reader.require_text("sql");
    if (!sql) continue;
    check_statement(reader, *sql);
    invariants.push_back({name, *sql, reading.place(*table->get("sql"))});
  }
  return invariants;
}

}  // namespace onefold
