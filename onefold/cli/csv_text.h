#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace onefold::cli {

/// One line of RFC 4180, with its CRLF. Cells are made safe with `printable`, and those that a
/// spreadsheet would run as a formula (they begin with = + - @ or a tab) get a ' in front.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace onefold::cli
