#include <algorithm>
#include <limits>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/daemon/sql_text.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::string_view parameter_example = R"({ at = "/amount", type = "int64" })";

bool is_builtin(std::string_view name) {
  return std::ranges::find(builtin_parameters(), name) != builtin_parameters().end();
}

void check_parameter_name(const std::string& name, const toml::key& key, ConfigReading& reading) {
  if (is_builtin(name)) {
    reading.problem(key, "the parameter :" + name + " is built in and cannot be defined again",
                    "give your own another name");
  } else if (!is_parameter_name(name)) {
    reading.problem(key, "\"" + printable(name) + "\" cannot be the name of a parameter",
                    "use letters, digits and _, beginning with a letter");
  }
}

ParameterConfig read_parameter(const std::string& name, const toml::table& table,
                               ConfigReading& reading) {
  const TableReader reader{table, table_schema("consumer.*.handler.params.*"),
                           "the parameter \"" + printable(name) + "\"", reading};
  ParameterConfig parameter{.name = name};
  for (const std::string_view key : {"at", "type"}) {
    if (reader.find(key) != nullptr) continue;
    reader.problem_here(reader.label() + " needs the key \"" + std::string{key} + "\"",
                        "for example: " + std::string{parameter_example});
  }
  parameter.at = reader.pointer("at");
  parameter.required = reader.boolean("required");
  if (const auto type = reader.text("type")) {
    if (const auto known = field_type_from(*type)) {
      parameter.type = *known;
    } else {
      reader.problem("type", "\"" + printable(*type) + "\" is not a type of parameters",
                     nearest_hint(*type, reader.choices("type"), "types"));
    }
  }
  return parameter;
}

void read_parameters(const TableReader& reader, HandlerConfig& handler,
                     std::vector<ConfigPlace>& places) {
  const toml::table* table = reader.table("params");
  if (table == nullptr) return;
  ConfigReading& reading = reader.reading();
  for (const auto& [key, node] : *table) {
    const std::string name{key.str()};
    check_parameter_name(name, key, reading);
    ParameterConfig parameter{.name = name};
    if (const toml::table* definition = node.as_table()) {
      parameter = read_parameter(name, *definition, reading);
    } else {
      reading.problem(node,
                      "the parameter \"" + printable(name) + "\" must be a table, not " +
                          std::string{describe(node)},
                      "for example: " + printable(name) + " = " + std::string{parameter_example});
    }
    handler.parameters.push_back(std::move(parameter));
    places.push_back(ConfigReading::place(key));
  }
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string statement_title(std::size_t number, std::size_t count) {
  return count == 1 ? "the statement" : "statement " + std::to_string(number);
}

/// Returns whether all statements could be read, so that their parameters are known.
bool read_statements(const TableReader& reader, HandlerConfig& handler) {
  const auto texts = reader.require_texts("sql");
  bool readable = !texts.empty();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const PlacedText& text = texts[i];
    SqlText read = read_sql(text.text, reader.reading().dialect());
    readable = readable && read.defect.empty();
    if (!read.defect.empty() && text.usable) {
      std::string message = statement_title(i + 1, texts.size());
      if (read.defect_line > 1) message += ", line " + std::to_string(read.defect_line);
      reader.reading().problem(text.place, message + ": " + read.defect, read.hint);
    }
    handler.statements.push_back(
        {text.text, std::move(read.parameters), {}, text.place, std::move(read.returning)});
  }
  return readable;
}

/// A parameter that nothing defines, or that nothing uses, is most likely a typing mistake.
void match_parameters(const HandlerConfig& handler, const std::vector<ConfigPlace>& places,
                      ConfigReading& reading) {
  std::vector<std::string> known;
  for (const ParameterConfig& parameter : handler.parameters) known.push_back(parameter.name);
  known.insert(known.end(), builtin_parameters().begin(), builtin_parameters().end());
  std::vector<std::string> used;
  std::vector<std::string> misspelt;
  for (std::size_t i = 0; i < handler.statements.size(); ++i) {
    const StatementConfig& statement = handler.statements[i];
    for (const std::string& name : statement.parameters) {
      used.push_back(name);
      if (std::ranges::find(known, name) != known.end()) continue;
      if (const auto meant = nearest(name, known)) misspelt.push_back(*meant);
      reading.problem(statement.place,
                      statement_title(i + 1, handler.statements.size()) +
                          " uses :" + printable(name) + ", which \"params\" does not define",
                      nearest_hint(name, known, "parameters"));
    }
  }
  for (const ResultField& field : handler.result) used.push_back(field.parameter);
  // One mistake is told once.
  used.insert(used.end(), misspelt.begin(), misspelt.end());
  for (std::size_t i = 0; i < handler.parameters.size(); ++i) {
    const std::string& name = handler.parameters[i].name;
    if (std::ranges::find(used, name) != used.end() || is_builtin(name) || !is_parameter_name(name))
      continue;
    reading.problem(places[i], "no statement uses the parameter \"" + printable(name) + "\"",
                    "write :" + printable(name) + " in \"sql\", or remove it here");
  }
}

/// The row count that a statement must have; "any" leaves it open.
void expect(StatementConfig& statement, const toml::node& node, ConfigReading& reading) {
  const auto* text = node.as_string();
  if (text != nullptr && (text->get() == "any" || reading.unknown(node))) return;
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < 0) {
    reading.problem(node, "\"expect_rows\" counts rows: an integer from 0, or \"any\"",
                    "for example: expect_rows = [1, \"any\"]");
    return;
  }
  const std::string keyword = read_sql(statement.sql, reading.dialect()).keyword;
  if (keyword == "SELECT" || keyword == "VALUES") {
    reading.problem(node, "\"expect_rows\" counts changed rows, and a " + keyword + " changes none",
                    "write \"any\" for it");
    return;
  }
  statement.expect_rows = number->get();
}

void read_expectations(const TableReader& reader, HandlerConfig& handler) {
  const toml::node* node = reader.find("expect_rows");
  if (node == nullptr || handler.statements.empty()) return;
  ConfigReading& reading = reader.reading();
  const toml::array* counts = node->as_array();
  if (counts == nullptr) {
    const auto* text = node->as_string();
    if (text != nullptr && text->get() == "any") return;
    if (handler.statements.size() > 1) {
      reading.problem(*node, "\"expect_rows\" must be an array here: one count a statement",
                      "for example: expect_rows = [1, \"any\"]");
    } else {
      expect(handler.statements.front(), *node, reading);
    }
    return;
  }
  if (counts->size() != handler.statements.size()) {
    reading.problem(*node,
                    "\"expect_rows\" has " + counted(counts->size(), "count") +
                        ", but \"sql\" has " + counted(handler.statements.size(), "statement"),
                    "write one count a statement; \"any\" leaves one open");
    return;
  }
  for (std::size_t i = 0; i < counts->size(); ++i) {
    expect(handler.statements[i], (*counts)[i], reading);
  }
}

void check_type(const TableReader& reader, const std::string& type) {
  const std::size_t star = type.find('*');
  if (type.empty()) {
    reader.problem("type", "\"type\" must not be empty", R"(type = "*" takes every event)");
  } else if (star != std::string::npos && star + 1 != type.size()) {
    reader.problem("type", "a * can only stand at the end of a type",
                   R"(for example: type = "payment.*")");
  }
}

}  // namespace

bool is_parameter_name(const std::string& name) {
  // What `read_sql` would find again after a colon.
  const SqlText read = read_sql("SELECT :" + name);
  return read.defect.empty() && read.parameters == std::vector<std::string>{name};
}

HandlerConfig read_handler(const toml::table& table, const std::string& label,
                           const RetryPolicy& retry_of_consumer, ConfigReading& reading) {
  const auto name = table["name"].value<std::string>();
  const TableReader reader{table, table_schema("consumer.*.handler"),
                           name ? "the handler \"" + printable(*name) + "\"" : label, reading};
  HandlerConfig handler;
  handler.name = reader.require_text("name").value_or("");
  if (name && !handler.name.empty()) {
    check_name(*name, "handler name", reading.place(*table.get("name")), reading);
  }
  if (const auto type = reader.require_text("type")) {
    handler.type = *type;
    check_type(reader, *type);
  }
  handler.version = static_cast<int>(reader.integer("version"));
  handler.entity = reader.pointer("entity");
  handler.keys = read_keys(reader);
  if (reader.find("retry") != nullptr) {
    handler.retry = read_retry(reader, "consumer.*.handler.retry", retry_of_consumer);
  }
  handler.times_without_zone = reading.dialect() == SqlDialect::mariadb;
  std::vector<ConfigPlace> places;
  read_parameters(reader, handler, places);
  const bool readable = read_statements(reader, handler);
  read_expectations(reader, handler);
  if (readable) {
    read_result(reader, handler);
    match_parameters(handler, places, reading);
  }
  return handler;
}

}  // namespace onefold
