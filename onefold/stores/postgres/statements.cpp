#include "onefold/stores/postgres/statements.h"

#include <fmt/core.h>

#include <charconv>

namespace onefold::postgres {
namespace {

struct Add {
  Arguments& arguments;

  void operator()(Null /*null*/) const { arguments.null(type::unknown); }
  void operator()(std::int64_t value) const { arguments.integer64(value); }
  void operator()(double value) const { arguments.real(value); }
  void operator()(bool value) const { arguments.boolean(value); }
  void operator()(const std::string& value) const { arguments.literal(value); }
  void operator()(const std::vector<std::byte>& value) const {
    arguments.bytes({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
  }
};

const Parameter& find(std::string_view name, std::span<const Parameter> given,
                      const HandlerText& text) {
  for (const Parameter& each : given) {
    if (each.name == name) return each;
  }
  throw Error{ErrorKind::permanent,
              fmt::format("PostgreSQL: parameter :{} of \"{}\" is not given", name, text.beginning),
              FailureClass::statement};
}

/// PostgreSQL would say so only by the position of the byte, and not for which parameter.
void refuse_nul(const Parameter& parameter, const HandlerText& text) {
  const auto* value = std::get_if<std::string>(&parameter.value);
  if (value == nullptr || value->find('\0') == std::string::npos) return;
  throw Error{ErrorKind::permanent,
              fmt::format("PostgreSQL: parameter :{} of \"{}\" holds a NUL character, which its "
                          "texts cannot hold",
                          parameter.name, text.beginning),
              FailureClass::data};
}

template <class Number>
Value number_from(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) return number;
  return std::string{text};
}

std::vector<std::byte> bytes_from(const char* text) {
  std::size_t size = 0;
  unsigned char* const bytes = PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size);
  if (bytes == nullptr) throw std::bad_alloc{};
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  std::vector<std::byte> copied{begin, begin + size};
  PQfreemem(bytes);
  return copied;
}

Value value_at(const ::PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return Null{};
  const char* const data = PQgetvalue(result, row, column);
  const std::string_view text{data, static_cast<std::size_t>(PQgetlength(result, row, column))};
  switch (PQftype(result, column)) {
    case type::integer16:
    case type::integer32:
    case type::integer64:
      return number_from<std::int64_t>(text);
    case type::real32:
    case type::real64:
      return number_from<double>(text);
    case type::boolean:
      return text == "t";
    case type::bytes:
      return bytes_from(data);
    default:
      return std::string{text};
  }
}

}  // namespace

Command HandlerStatements::command_for(std::string_view sql, Parameters parameters) {
  const HandlerText& text = connection_.handler_text(sql);
  if (text.controls_transaction) {
    throw Error{
        ErrorKind::contract_violation,
        fmt::format("PostgreSQL: a handler must leave transactions alone: \"{}\"", text.beginning)};
  }
  Command command{.part = Part::handler, .doing = text.beginning, .binary = false};
  for (const std::string& name : text.numbered.names) {
    const Parameter& parameter = find(name, parameters.view(), text);
    refuse_nul(parameter, text);
    std::visit(Add{command.arguments}, parameter.value);
  }
  command.statement = &connection_.of_handler(text, command.arguments);
  return command;
}

void HandlerStatements::execute(std::string_view sql, Parameters parameters,
                                std::optional<std::int64_t> expected_rows) {
  health_.guard([&] {
    Command command = command_for(sql, parameters);
    command.expected_rows = expected_rows;
    connection_.queue(std::move(command));
  });
}

std::int64_t HandlerStatements::change(std::string_view sql, Parameters parameters) {
  return health_.guard([&] { return rows_changed(connection_.run(command_for(sql, parameters))); });
}

Rows HandlerStatements::query(std::string_view sql, Parameters parameters) {
  return health_.guard([&] {
    const Result result = connection_.run(command_for(sql, parameters));
    Rows rows(static_cast<std::size_t>(rows_in(result)));
    const int columns = PQnfields(result.get());
    for (int row = 0; row < rows_in(result); ++row) {
      for (int column = 0; column < columns; ++column) {
        rows[static_cast<std::size_t>(row)].push_back(value_at(result.get(), row, column));
      }
    }
    return rows;
  });
}

}  // namespace onefold::postgres
