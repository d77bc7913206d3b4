#include "onefold/lab/trial/written.h"

#include <map>
#include <utility>

#include "onefold/lab/trial/reader.h"

namespace onefold::lab {
namespace {

int note_writes(void* tables, int action, const char* table, const char* /*fourth*/,
                const char* /*database*/, const char* /*trigger*/) noexcept {
  const bool writes = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
  if (writes && table != nullptr) static_cast<std::set<std::string>*>(tables)->emplace(table);
  return SQLITE_OK;
}

}  // namespace

std::set<std::string> tables_written_by(const std::vector<std::string>& statements,
                                        const std::string& database) {
  std::set<std::string> tables;
  Reader reader{database, Reader::Access::write};
  reader.execute("PRAGMA foreign_keys = ON");
  sqlite3_set_authorizer(reader.handle(), note_writes, &tables);
  for (const std::string& sql : statements) reader.statement(sql);
  return tables;
}

namespace {

/// Finds the tables that get numbers in the program of a statement, and in those of its triggers,
/// which follow it, each with registers of its own.
class Numbering {
 public:
  void read(Reader& reader, const std::string& sql) {
    reader.each("EXPLAIN " + sql, [this](sqlite3_stmt* row) {
      if (sqlite3_column_int(row, 0) == 0) end_program();
      const std::string opcode = reinterpret_cast<const char*>(sqlite3_column_text(row, 1));
      const int first = sqlite3_column_int(row, 2);
      const int second = sqlite3_column_int(row, 3);
      if (opcode == "OpenWrite") pages_[first] = second;
      // The cursor may be another table's later.
      if (opcode == "NewRowid") new_numbers_.emplace_back(pages_[first], second);
      if (opcode == "MustBeInt") given_.insert(first);
    });
    end_program();
  }
  /// The first pages of the tables.
  const std::set<int>& pages() const noexcept { return numbered_; }

 private:
  void end_program() {
    for (const auto& [page, number] : new_numbers_) {
      if (!given_.contains(number)) numbered_.insert(page);
    }
    pages_.clear();
    new_numbers_.clear();
    given_.clear();
  }

  std::map<int, int> pages_;                      ///< First page by cursor.
  std::vector<std::pair<int, int>> new_numbers_;  ///< First page and register.
  std::set<int> given_;                           ///< Registers.
  std::set<int> numbered_;
};

}  // namespace

std::set<std::string> tables_numbered_by(const std::vector<std::string>& statements,
                                         const std::string& database) {
  Reader reader{database, Reader::Access::read};
  Numbering numbering;
  for (const std::string& sql : statements) numbering.read(reader, sql);
  std::set<std::string> tables;
  reader.each(
      "SELECT name, rootpage FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE "
      "'sqlite%'",
      [&](sqlite3_stmt* row) {
        if (!numbering.pages().contains(sqlite3_column_int(row, 1))) return;
        tables.emplace(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
      });
  return tables;
}

}  // namespace onefold::lab
