#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace onefold::cli {

/// A plain table for terminals. Cells are made safe with `printable`, so that nothing an event
/// carries can reach the terminal as a command.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
    std::size_t width_max = 60;  ///< In characters; longer cells are cut and end in "…".
  };

  explicit Table(std::vector<Column> columns);
  /// As many cells as there are columns; missing ones are empty.
  void add(std::vector<std::string> cells);
  bool empty() const noexcept { return rows_.empty(); }
  /// Ends with a line break; no line ends in white space.
  std::string text() const { return header() + "\n" + body(); }
  /// The line with the titles, without its end, and the lines below it.
  std::string header() const;
  std::string body() const;

 private:
  std::vector<std::size_t> widths() const;
  std::string line_of(const std::vector<std::string>& cells,
                      const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Code points: what a terminal shows of most scripts. Wide characters may shift a column.
std::size_t width_of(std::string_view utf8) noexcept;

}  // namespace onefold::cli
