#include "onefold/cli/table.h"

#include <algorithm>
#include <utility>

#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr std::size_t cell_bytes_max = 1000;
constexpr std::string_view gap = "  ";

bool continues_character(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string fitted(std::string cell, std::size_t width_max) {
  if (width_of(cell) <= width_max) return cell;
  std::size_t end = 0;
  for (std::size_t width = 0; end < cell.size(); ++end) {
    if (continues_character(cell[end])) continue;
    if (++width == width_max) break;
  }
  return cell.substr(0, end) + "…";
}

void append(std::string& line, const std::string& cell, Table::Align align, std::size_t width) {
  const std::string padding(width - std::min(width, width_of(cell)), ' ');
  line += align == Table::Align::right ? padding + cell : cell + padding;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_{std::move(columns)} {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = fitted(printable(cells[i], cell_bytes_max), columns_[i].width_max);
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(cells[i]));
    }
  }
  return widths;
}

std::string Table::line_of(const std::vector<std::string>& cells,
                           const std::vector<std::size_t>& widths) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += gap;
    append(line, cells[i], columns_[i].align, widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Table::header() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return line_of(titles, widths());
}

std::string Table::body() const {
  const auto all_widths = widths();
  std::string lines;
  for (const auto& cells : rows_) lines += line_of(cells, all_widths) + "\n";
  return lines;
}

std::size_t width_of(std::string_view utf8) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return !continues_character(c); }));
}

}  // namespace onefold::cli
