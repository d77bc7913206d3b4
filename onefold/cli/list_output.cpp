#include "onefold/cli/list_output.h"

#include <algorithm>

#include "onefold/cli/csv_text.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

constexpr std::size_t write_bytes = 1 << 16;

std::vector<ListColumn> columns_for(const ListOptions& options,
                                    const std::vector<ListColumn>& known) {
  std::vector<ListColumn> chosen;
  for (const std::string& name : options.columns) {
    chosen.push_back(*std::ranges::find(known, name, &ListColumn::name));
  }
  if (!chosen.empty()) return chosen;
  for (const ListColumn& each : known) {
    if (each.in_table || options.format != "table") chosen.push_back(each);
  }
  return chosen;
}

/// Titles that are not shown take no room.
Table table_of(const std::vector<ListColumn>& columns, bool headers) {
  std::vector<Table::Column> all;
  for (const ListColumn& each : columns) {
    all.push_back({.title = headers ? each.name : std::string{},
                   .align = each.align,
                   .width_max = each.width_max});
  }
  return Table{std::move(all)};
}

}  // namespace

std::vector<std::string> names_of(const std::vector<ListColumn>& columns) {
  std::vector<std::string> names;
  for (const ListColumn& each : columns) names.push_back(each.name);
  return names;
}

ListOutput::ListOutput(const ListOptions& options, const std::vector<ListColumn>& known)
    : format_{options.format},
      headers_{!options.no_headers},
      all_{options.columns.empty()},
      columns_{columns_for(options, known)},
      table_{table_of(columns_, headers_)} {
  if (format_ == "csv" && headers_) write(csv_line(names_of(columns_)));
  if (format_ == "json") write("[");
}

std::vector<std::string> ListOutput::cells_of(const Json& row) const {
  std::vector<std::string> cells;
  for (const ListColumn& column : columns_) {
    const auto found = row.find(column.name);
    if (found == row.end() || found->is_null()) {
      cells.emplace_back();
    } else {
      cells.push_back(found->is_string() ? found->get<std::string>() : dumped_text(*found));
    }
  }
  return cells;
}

Json ListOutput::chosen_of(const Json& row) const {
  if (all_) return row;
  Json chosen = Json::object();
  for (const ListColumn& column : columns_) {
    const auto found = row.find(column.name);
    chosen[column.name] = found == row.end() ? Json(nullptr) : *found;
  }
  return chosen;
}

void ListOutput::add(const Json& row) {
  ++rows_;
  if (format_ == "json") return write((rows_ == 1 ? "\n" : ",\n") + dumped_text(chosen_of(row)));
  if (format_ == "jsonl") return write(dumped_line(chosen_of(row)));
  if (format_ == "csv") return write(csv_line(cells_of(row)));
  table_.add(cells_of(row));
}

void ListOutput::finish(std::string_view nothing) {
  if (format_ == "json") write(rows_ == 0 ? "]\n" : "\n]\n");
  if (format_ == "table") {
    if (rows_ == 0) {
      write(std::string{nothing} + "\n");
    } else {
      if (headers_) write(emphasized(table_.header()) + "\n");
      write(table_.body());
    }
  }
  print(waiting_);
  waiting_.clear();
}

void ListOutput::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() < write_bytes) return;
  print_piece(waiting_);
  waiting_.clear();
}

}  // namespace onefold::cli
