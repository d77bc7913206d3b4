#include "onefold/cli/csv_text.h"

#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

constexpr std::string_view formula_starts = "=+-@\t\r";

std::string csv_cell(std::string_view text) {
  std::string cell;
  if (!text.empty() && formula_starts.find(text.front()) != std::string_view::npos) cell = "'";
  cell += printable(text, text.size());
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += ',';
    line += csv_cell(cells[i]);
  }
  return line + "\r\n";
}

}  // namespace onefold::cli
