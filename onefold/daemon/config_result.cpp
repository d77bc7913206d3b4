// result = { account = ":account", balance = "balance" }: what stands as evidence of the effect.
// With a colon a parameter, without one a column that the last statement returns.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t fields_max = 32;

constexpr const char* example =
    R"(for example: result = { account = ":account", balance = "balance" }, a parameter and a )"
    R"(column of RETURNING)";

void read_parameter_field(const toml::node& node, const std::string& parameter,
                          const HandlerConfig& handler, ConfigReading& reading) {
  std::vector<std::string> known;
  for (const ParameterConfig& each : handler.parameters) known.push_back(each.name);
  known.insert(known.end(), builtin_parameters().begin(), builtin_parameters().end());
  if (parameter == "data") {
    reading.problem(node, "\"result\" cannot keep all of :data",
                    "define parameters for the fields that are worth keeping");
  } else if (std::ranges::find(known, parameter) == known.end()) {
    reading.problem(
        node, "\"result\" uses :" + printable(parameter) + ", which \"params\" does not define",
        nearest_hint(parameter, known, "parameters"));
  }
}

std::optional<std::size_t> read_column(const toml::node& node, const std::string& column,
                                       const std::vector<std::string>& returning,
                                       ConfigReading& reading) {
  if (returning.empty()) {
    reading.problem(node,
                    "\"result\" takes the column \"" + printable(column) +
                        "\" from the last statement, which has no RETURNING",
                    "add RETURNING " + printable(column) +
                        " to it, or write \":" + printable(column) + "\" for a parameter");
    return std::nullopt;
  }
  if (std::ranges::find(returning, "*") != returning.end()) {
    reading.problem(node,
                    "\"result\" needs the columns by name, and the last statement has "
                    "RETURNING *",
                    "name them: a table that gets another column must not change the evidence");
    return std::nullopt;
  }
  const auto found = std::ranges::find(returning, column);
  if (found == returning.end()) {
    std::vector<std::string> names;
    std::ranges::copy_if(returning, std::back_inserter(names),
                         [](const std::string& name) { return !name.empty(); });
    reading.problem(node, "the last statement returns no column \"" + printable(column) + "\"",
                    names.empty() ? "give it a name there: RETURNING … AS " + printable(column)
                                  : nearest_hint(column, names, "columns"));
    return std::nullopt;
  }
  if (std::ranges::count(returning, column) > 1) {
    reading.problem(node, "the last statement returns \"" + printable(column) + "\" twice",
                    "give one of them another name there, with AS");
  }
  return static_cast<std::size_t>(found - returning.begin());
}

/// A row is needed, so that no other count can be right.
void check_row_count(const TableReader& reader, const HandlerConfig& handler) {
  const bool columns =
      std::ranges::any_of(handler.result, [](const ResultField& field) { return !!field.column; });
  const auto& expected = handler.statements.back().expect_rows;
  if (!columns || !expected || *expected == 1) return;
  reader.problem("expect_rows",
                 "\"result\" takes columns of the one row that the last statement returns, but "
                 "\"expect_rows\" wants " +
                     std::to_string(*expected),
                 "write 1 for the last statement");
}

}  // namespace

void read_result(const TableReader& reader, HandlerConfig& handler) {
  const toml::table* table = reader.table("result");
  if (table == nullptr) return;
  ConfigReading& reading = reader.reading();
  if (table->empty() || table->size() > fields_max) {
    reader.problem("result", "\"result\" needs 1 to 32 members", example);
    return;
  }
  for (const auto& [key, node] : *table) {
    ResultField field{.name = std::string{key.str()}};
    if (!is_parameter_name(field.name)) {
      reading.problem(key, "\"" + printable(field.name) + "\" cannot be a name in \"result\"",
                      "use letters, digits and _, beginning with a letter");
    }
    const auto* text = node.as_string();
    if (text == nullptr) {
      reading.problem(node, "\"result\" holds strings, not " + std::string{describe(node)},
                      example);
      continue;
    }
    if (reading.unknown(node)) continue;
    if (text->get().starts_with(':')) {
      field.parameter = text->get().substr(1);
      read_parameter_field(node, field.parameter, handler, reading);
    } else {
      field.column = read_column(node, text->get(), handler.statements.back().returning, reading);
    }
    handler.result.push_back(std::move(field));
  }
  check_row_count(reader, handler);
}

}  // namespace onefold
