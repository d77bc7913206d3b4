#include "onefold/stores/mariadb/statements.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace onefold::mariadb {
namespace {

/// Adds one value; the caller keeps it alive until the statement has run.
struct Bind {
  ParameterRows& row;

  void operator()(Null /*null*/) const { row.null(); }
  void operator()(std::int64_t value) const { row.integer(value); }
  void operator()(double value) const { row.real(value); }
  void operator()(bool value) const { row.integer(value ? 1 : 0); }
  void operator()(const std::string& value) const { row.text(value); }
  void operator()(const std::vector<std::byte>& value) const {
    const auto* data = reinterpret_cast<const std::uint8_t*>(value.data());
    row.blob({data, value.size()});
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
  throw Error{ErrorKind::permanent,
              fmt::format("MariaDB: parameter :{} of \"{}\" is not given", slot.name,
                          statement.beginning()),
              FailureClass::statement};
}

/// MariaDB has no such numbers, and stores something else without a word.
void refuse_infinite(const Parameter& parameter, const Statement& statement) {
  const auto* number = std::get_if<double>(&parameter.value);
  if (number == nullptr || std::isfinite(*number)) return;
  throw Error{ErrorKind::permanent,
              fmt::format("MariaDB: parameter :{} of \"{}\" is NaN or infinite, which MariaDB "
                          "cannot store",
                          parameter.name, statement.beginning()),
              FailureClass::data};
}

Value value_at(const Statement& row, std::size_t column) {
  if (row.is_null(column)) return Null{};
  switch (row.type_of(column)) {
    case Statement::Type::integer:
      return row.integer_at(column);
    case Statement::Type::unsigned_integer: {
      const std::uint64_t number = row.unsigned_at(column);
      // What does not fit travels as decimals do.
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return std::to_string(number);
      }
      return static_cast<std::int64_t>(number);
    }
    case Statement::Type::real:
      return row.real_at(column);
    case Statement::Type::text:
      return row.text_at(column);
    default: {
      const auto bytes = std::as_bytes(row.blob_at(column));
      return std::vector<std::byte>{bytes.begin(), bytes.end()};
    }
  }
}

}  // namespace

HandlerStatement& HandlerStatements::bind(std::string_view sql, Parameters parameters) {
  HandlerStatement& prepared = connection_.of_handler(sql);
  prepared.parameters.clear();
  for (HandlerStatement::Slot& slot : prepared.slots) {
    const Parameter& parameter = find(slot, parameters.view(), prepared.statement);
    refuse_infinite(parameter, prepared.statement);
    std::visit(Bind{prepared.parameters}, parameter.value);
  }
  // The server would close the connection, which blames nobody and comes again for ever.
  if (prepared.parameters.bytes() + packet_margin > connection_.packet_max()) {
    throw Error{ErrorKind::permanent,
                fmt::format("MariaDB: the parameters of \"{}\" have {} bytes, the server takes {} "
                            "(max_allowed_packet)",
                            prepared.statement.beginning(), prepared.parameters.bytes(),
                            connection_.packet_max()),
                FailureClass::data};
  }
  return prepared;
}

std::int64_t HandlerStatements::run(HandlerStatement& prepared) {
  const std::int64_t changed = prepared.statement.run(prepared.parameters);
  std::int64_t returned = 0;
  while (prepared.statement.column_count() > 0 && prepared.statement.step()) ++returned;
  prepared.statement.finish();
  // RETURNING gives the rows that were changed instead of their number.
  return prepared.changes ? changed + returned : 0;
}

void HandlerStatements::execute(std::string_view sql, Parameters parameters,
                                std::optional<std::int64_t> expected_rows) {
  health_.guard([&] {
    HandlerStatement& prepared = bind(sql, parameters);
    const std::int64_t changed = run(prepared);
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
  return health_.guard([&] { return run(bind(sql, parameters)); });
}

Rows HandlerStatements::query(std::string_view sql, Parameters parameters) {
  return health_.guard([&] {
    HandlerStatement& prepared = bind(sql, parameters);
    Statement& statement = prepared.statement;
    statement.run(prepared.parameters);
    Rows rows;
    while (statement.column_count() > 0 && statement.step()) {
      std::vector<Value>& row = rows.emplace_back();
      row.reserve(statement.column_count());
      for (std::size_t column = 0; column < statement.column_count(); ++column) {
        row.push_back(value_at(statement, column));
      }
    }
    statement.finish();
    return rows;
  });
}

}  // namespace onefold::mariadb
