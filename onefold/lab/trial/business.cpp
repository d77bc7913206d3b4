#include "onefold/lab/trial/business.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "onefold/formats/state_digest.h"
#include "onefold/formats/text.h"

namespace onefold::lab {
namespace {

constexpr std::size_t value_bytes_max = 60;

std::string text_at(sqlite3_stmt* row, int column) {
  const auto* text = sqlite3_column_text(row, column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

/// Without texts: this runs for every row of every schedule.
void add_value(StateDigest& digest, sqlite3_stmt* row, int column) {
  const int type = sqlite3_column_type(row, column);
  digest.add(static_cast<std::uint64_t>(type));
  if (type == SQLITE_INTEGER) {
    digest.add(static_cast<std::uint64_t>(sqlite3_column_int64(row, column)));
  } else if (type != SQLITE_NULL) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
    digest.add(std::string_view{bytes == nullptr ? "" : bytes, size});
  }
}

std::vector<std::string> column_of(const std::vector<BusinessRow>& rows, std::size_t column) {
  std::vector<std::string> values;
  for (const BusinessRow& row : rows) values.push_back(row[column]);
  std::ranges::sort(values);
  return values;
}

const std::vector<BusinessRow>& rows_of(const BusinessRows& rows, const std::string& table) {
  static const std::vector<BusinessRow> none;
  const auto found = rows.find(table);
  return found == rows.end() ? none : found->second;
}

}  // namespace

Business::Business(Reader& reader, const std::set<std::string>& only) {
  reader.each(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') "
      "AND name NOT LIKE 'onefold\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
      "ORDER BY name",
      [&](sqlite3_stmt* row) {
        if (!only.empty() && !only.contains(text_at(row, 0))) return;
        Table& table = tables_.emplace_back();
        table.name = text_at(row, 0);
        table.select = "SELECT * FROM main." + quoted(table.name);
      });
  for (Table& table : tables_) read_columns(reader, table);
}

void Business::read_columns(Reader& reader, Table& table) {
  sqlite3_stmt* const select = reader.statement(table.select);
  for (int i = 0; i < sqlite3_column_count(select); ++i) {
    table.columns.emplace_back(sqlite3_column_name(select, i));
  }
  table.compared.assign(table.columns.size(), true);
  std::string type;
  reader.each("SELECT name, type, pk FROM pragma_table_info(" + quoted(table.name) + ")",
              [&](sqlite3_stmt* row) {
                if (sqlite3_column_int(row, 2) == 0) return;
                const auto at = std::ranges::find(table.columns, text_at(row, 0));
                if (at == table.columns.end()) return;
                table.key.push_back(static_cast<std::size_t>(at - table.columns.begin()));
                type = text_at(row, 1);
              });
  if (table.key.size() == 1 && sqlite3_stricmp(type.c_str(), "INTEGER") == 0) {
    table.number = table.key.front();
  }
}

bool Business::leave_out(const std::string& table, const std::string& column) {
  const auto found = std::ranges::find(tables_, table, &Table::name);
  if (found == tables_.end()) return false;
  const auto at = std::ranges::find(found->columns, column);
  if (at == found->columns.end()) return false;
  found->compared[static_cast<std::size_t>(at - found->columns.begin())] = false;
  found->skipped = std::ranges::count(found->compared, true) == 0;
  return true;
}

std::vector<std::string> Business::leave_out_varying(const BusinessRows& one,
                                                     const BusinessRows& other) {
  std::vector<std::string> names;
  for (Table& table : tables_) {
    const auto& first = rows_of(one, table.name);
    const auto& second = rows_of(other, table.name);
    if (first == second) continue;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!table.compared[i] || column_of(first, i) == column_of(second, i)) continue;
      names.push_back(table.name + "." + table.columns[i]);
      leave_out(table.name, table.columns[i]);
    }
  }
  return names;
}

std::vector<std::string> Business::leave_out_numbers(const std::set<std::string>& numbered,
                                                     const BusinessRows& one,
                                                     const BusinessRows& other) {
  std::vector<std::string> names;
  for (Table& table : tables_) {
    if (!table.number || !table.compared[*table.number] || !numbered.contains(table.name)) continue;
    const auto& first = rows_of(one, table.name);
    const auto& second = rows_of(other, table.name);
    if (compared_of(table, first) == compared_of(table, second)) continue;
    Table without = table;
    without.compared[*table.number] = false;
    if (compared_of(without, first) != compared_of(without, second)) continue;
    names.push_back(table.name + "." + table.columns[*table.number]);
    leave_out(table.name, table.columns[*table.number]);
  }
  return names;
}

std::vector<BusinessRow> Business::compared_of(const Table& table,
                                               const std::vector<BusinessRow>& rows) {
  if (table.skipped) return {};
  std::vector<BusinessRow> all;
  for (const BusinessRow& row : rows) {
    BusinessRow& kept = all.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (table.compared[i]) kept.push_back(row[i]);
    }
  }
  std::ranges::sort(all);
  return all;
}

std::uint64_t Business::digest(Reader& reader) const {
  StateDigest all;
  for (const Table& table : tables_) {
    if (table.skipped) continue;
    std::uint64_t sum = 0;
    reader.each(table.select, [&](sqlite3_stmt* row) {
      StateDigest digest;
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.compared[i]) add_value(digest, row, static_cast<int>(i));
      }
      sum += digest.value();
    });
    all.add(sum);
  }
  return all.value();
}

BusinessRows Business::rows(Reader& reader) const {
  BusinessRows all;
  for (const Table& table : tables_) {
    std::vector<BusinessRow>& rows = all[table.name];
    reader.each(table.select, [&](sqlite3_stmt* row) {
      BusinessRow& values = rows.emplace_back();
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        values.push_back(value_text(row, static_cast<int>(i)));
      }
    });
    std::ranges::sort(rows);
  }
  return all;
}

/// "account id=1: balance=10", or without a key "note (text='x')".
std::string Business::words(const Table& table, const BusinessRow& row) {
  std::string key;
  std::string rest;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!table.compared[i]) continue;
    const bool in_key = std::ranges::find(table.key, i) != table.key.end();
    std::string& place = in_key ? key : rest;
    place +=
        (place.empty() ? "" : ", ") + table.columns[i] + "=" + printable(row[i], value_bytes_max);
  }
  const std::string name = printable(table.name, value_bytes_max);
  return key.empty() ? name + " (" + rest + ")" : name + " " + key + ": " + rest;
}

std::vector<std::string> Business::facts(Reader& reader) const {
  std::vector<std::string> facts;
  const BusinessRows all = rows(reader);
  for (const Table& table : tables_) {
    if (table.skipped) continue;
    for (const BusinessRow& row : rows_of(all, table.name)) facts.push_back(words(table, row));
  }
  std::ranges::sort(facts);
  return facts;
}

std::vector<std::string> Business::differences(const Table& table,
                                               const std::vector<BusinessRow>& expected,
                                               const std::vector<BusinessRow>& found) const {
  std::vector<std::string> wanted;
  std::vector<std::string> got;
  for (const BusinessRow& row : expected) wanted.push_back(words(table, row));
  for (const BusinessRow& row : found) got.push_back(words(table, row));
  std::ranges::sort(wanted);
  std::ranges::sort(got);
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::ranges::set_difference(wanted, got, std::back_inserter(missing));
  std::ranges::set_difference(got, wanted, std::back_inserter(extra));
  // A row and what became of it stand together.
  std::vector<std::pair<std::string, std::string>> lines;
  const auto row_of = [](const std::string& text) { return text.substr(0, text.find(": ")); };
  for (const std::string& each : missing)
    lines.emplace_back(row_of(each) + "0", "undisturbed: " + each);
  for (const std::string& each : extra)
    lines.emplace_back(row_of(each) + "1", "       here: " + each);
  std::ranges::sort(lines);
  std::vector<std::string> texts;
  for (auto& [row, text] : lines) texts.push_back(std::move(text));
  return texts;
}

std::vector<std::string> Business::differences(const BusinessRows& expected,
                                               const BusinessRows& found,
                                               std::size_t lines_max) const {
  std::vector<std::string> lines;
  for (const Table& table : tables_) {
    if (table.skipped) continue;
    const auto more = differences(table, rows_of(expected, table.name), rows_of(found, table.name));
    lines.insert(lines.end(), more.begin(), more.end());
  }
  if (lines.size() <= lines_max) return lines;
  const std::size_t rest = lines.size() - lines_max;
  lines.resize(lines_max);
  lines.push_back("and " + std::to_string(rest) + " more");
  return lines;
}

}  // namespace onefold::lab
