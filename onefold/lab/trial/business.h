#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onefold/lab/trial/reader.h"

namespace onefold::lab {

/// A row, each value as SQL writes it.
using BusinessRow = std::vector<std::string>;
/// Rows by table, sorted.
using BusinessRows = std::map<std::string, std::vector<BusinessRow>>;

/// The tables that are not Onefold's: what the handlers are there for. Compared without regard to
/// the order of rows.
class Business {
 public:
  /// Of `only` these tables, unless it is empty.
  Business(Reader& reader, const std::set<std::string>& only);

  /// The column is not compared. False: there is none.
  bool leave_out(const std::string& table, const std::string& column);
  /// Leaves out what differs between two undisturbed runs, such as times and random numbers;
  /// returns "TABLE.COLUMN" of each.
  std::vector<std::string> leave_out_varying(const BusinessRows& one, const BusinessRows& other);
  /// Leaves out the numbers that SQLite gives to rows of these tables in the order of their
  /// insertion, where two runs in different orders differ in nothing else.
  std::vector<std::string> leave_out_numbers(const std::set<std::string>& numbered,
                                             const BusinessRows& one, const BusinessRows& other);

  /// Of all that is compared; equal rows in another order have the same.
  std::uint64_t digest(Reader& reader) const;
  BusinessRows rows(Reader& reader) const;
  /// A line for each row, for timelines.
  std::vector<std::string> facts(Reader& reader) const;
  /// The first rows that differ, a line each.
  std::vector<std::string> differences(const BusinessRows& expected, const BusinessRows& found,
                                       std::size_t lines_max) const;

 private:
  struct Table {
    std::string name;
    std::string select;
    std::vector<std::string> columns;
    std::vector<bool> compared;
    std::vector<std::size_t> key;       ///< Columns of its primary key.
    std::optional<std::size_t> number;  ///< The column that SQLite can fill by itself.
    bool skipped = false;               ///< Nothing of it is compared.
  };
  static std::vector<BusinessRow> compared_of(const Table& table,
                                              const std::vector<BusinessRow>& rows);
  static std::string words(const Table& table, const BusinessRow& row);
  void read_columns(Reader& reader, Table& table);
  std::vector<std::string> differences(const Table& table, const std::vector<BusinessRow>& expected,
                                       const std::vector<BusinessRow>& found) const;

  std::vector<Table> tables_;
};

}  // namespace onefold::lab
