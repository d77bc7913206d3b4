#include "onefold/stores/sqlite/statements.h"

#include <fmt/core.h>

#include <cmath>

namespace onefold::sqlite {
namespace {

/// Binds one value; the caller keeps it alive until the statement has run.
struct Bind {
  Statement& statement;
  int index;

  void operator()(Null /*null*/) const { statement.null(index); }
  void operator()(std::int64_t value) const { statement.integer(index, value); }
  void operator()(double value) const { statement.real(index, value); }
  void operator()(bool value) const { statement.integer(index, value ? 1 : 0); }
  void operator()(const std::string& value) const { statement.text(index, value); }
  void operator()(const std::vector<std::byte>& value) const {
    const auto* data = reinterpret_cast<const std::uint8_t*>(value.data());
    statement.blob(index, {data, value.size()});
  }
};

/// Finds a parameter, first where it stood the last time.
const Parameter& find(HandlerStatement::Slot& slot, std::span<const Parameter> given,
                      const Statement& statement) {
  if (slot.place < given.size() && given[slot.place].name == slot.name) return given[slot.place];
  for (std::size_t place = 0; place < given.size(); ++place) {
    if (given[place].name == slot.name) {
      slot.place = place;
      return given[place];
    }
  }
  throw Error{
      ErrorKind::permanent,
      fmt::format("SQLite: parameter :{} of \"{}\" is not given", slot.name, statement.beginning()),
      FailureClass::statement};
}

/// SQLite would store NULL without a word.
void refuse_nan(const Parameter& parameter, const Statement& statement) {
  const auto* number = std::get_if<double>(&parameter.value);
  if (number == nullptr || !std::isnan(*number)) return;
  throw Error{ErrorKind::permanent,
              fmt::format("SQLite: parameter :{} of \"{}\" is NaN, which would be stored as NULL",
                          parameter.name, statement.beginning()),
              FailureClass::data};
}

void bind_all(HandlerStatement& prepared, std::span<const Parameter> given) {
  int index = 1;
  for (HandlerStatement::Slot& slot : prepared.slots) {
    const Parameter& parameter = find(slot, given, prepared.statement);
    refuse_nan(parameter, prepared.statement);
    std::visit(Bind{prepared.statement, index}, parameter.value);
    ++index;
  }
}

Value value_at(const Statement& row, int column) {
  switch (sqlite3_column_type(row.handle(), column)) {
    case SQLITE_INTEGER:
      return row.integer_at(column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(row.handle(), column);
    case SQLITE_TEXT:
      return row.text_at(column);
    case SQLITE_BLOB: {
      const auto bytes = std::as_bytes(row.blob_at(column));
      return std::vector<std::byte>{bytes.begin(), bytes.end()};
    }
    default:
      return Null{};
  }
}

}  // namespace

std::int64_t HandlerStatements::run(HandlerStatement& prepared, Parameters parameters) {
  ::sqlite3* const database = connection_.handle();
  bind_all(prepared, parameters.view());
  const auto before = sqlite3_total_changes64(database);
  prepared.statement.run();
  // The count of changes stays as it was after a statement that is not a change.
  return sqlite3_total_changes64(database) == before ? 0 : sqlite3_changes64(database);
}

void HandlerStatements::execute(std::string_view sql, Parameters parameters,
                                std::optional<std::int64_t> expected_rows) {
  health_.guard([&] {
    HandlerStatement& prepared = connection_.of_handler(sql);
    const std::int64_t changed = run(prepared, parameters);
    if (expected_rows && changed != *expected_rows) {
      throw Error{
          ErrorKind::permanent,
          fmt::format("expected {} row{}, changed {}: {}", *expected_rows,
                      *expected_rows == 1 ? "" : "s", changed, prepared.statement.beginning()),
          FailureClass::rows};
    }
  });
}

std::int64_t HandlerStatements::change(std::string_view sql, Parameters parameters) {
  return health_.guard([&] { return run(connection_.of_handler(sql), parameters); });
}

Rows HandlerStatements::query(std::string_view sql, Parameters parameters) {
  return health_.guard([&] {
    HandlerStatement& prepared = connection_.of_handler(sql);
    Statement& statement = prepared.statement;
    bind_all(prepared, parameters.view());
    const ResetAtEnd reset{statement};
    Rows rows;
    while (statement.step()) {
      // Not before the first step, which may have prepared it anew.
      const int columns = sqlite3_column_count(statement.handle());
      std::vector<Value>& row = rows.emplace_back();
      row.reserve(static_cast<std::size_t>(columns));
      for (int column = 0; column < columns; ++column) row.push_back(value_at(statement, column));
    }
    return rows;
  });
}

}  // namespace onefold::sqlite
