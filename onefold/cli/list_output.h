#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/options.h"
#include "onefold/cli/table.h"

namespace onefold::cli {

/// What can be seen of a row of a list. Its name is the key of the JSON object, the title of the
/// table, and what `--columns` is told.
struct ListColumn {
  std::string name;
  bool in_table = true;  ///< Also without `--columns`; CSV has all.
  Table::Align align = Table::Align::left;
  std::size_t width_max = 60;
};
std::vector<std::string> names_of(const std::vector<ListColumn>& columns);

/// Prints a list in the form that was asked for. All but tables are written as the rows come, so
/// that a list of any length needs little memory.
class ListOutput {
 public:
  ListOutput(const ListOptions& options, const std::vector<ListColumn>& known);

  /// `row` has a member for every column, and may have more, which only JSON shows.
  void add(const Json& row);
  /// Ends the list. `nothing` is what people read if it is empty.
  void finish(std::string_view nothing);
  std::size_t rows() const noexcept { return rows_; }

 private:
  std::vector<std::string> cells_of(const Json& row) const;
  Json chosen_of(const Json& row) const;
  void write(std::string_view text);

  const std::string format_;
  const bool headers_;
  const bool all_;  ///< No columns were named: JSON rows are printed as they are.
  std::vector<ListColumn> columns_;
  Table table_;
  std::string waiting_;  ///< To be written.
  std::size_t rows_ = 0;
};

}  // namespace onefold::cli
