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

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FieldType type : {FieldType::int64, FieldType::text, FieldType::decimal,
                                 FieldType::real, FieldType::boolean, FieldType::timestamp,
                                 FieldType::uuid, FieldType::bytes, FieldType::json}) {
      all.emplace_back(to_string(type));
    }
    return all;
  }();
  return names;
}

bool is_builtin(std::string_view name) {
  return std::ranges::find(builtin_parameters(), name) != builtin_parameters().end();
}

/// What `read_sql` would find again after a colon.
bool is_parameter_name(const std::string& name) {
  const SqlText read = read_sql("SELECT :" + name);
  return read.defect.empty() && read.parameters == std::vector<std::string>{name};
}

void check_parameter_name(const std::string& name, const ConfigPlace& place,
                          ConfigProblems& problems) {
  if (is_builtin(name)) {
    problems.add(place, "the parameter :" + name + " is built in and cannot be defined again",
                 "give your own another name");
  } else if (!is_parameter_name(name)) {
    problems.add(place, "\"" + printable(name) + "\" cannot be the name of a parameter",
                 "use letters, digits and _, beginning with a letter");
  }
}

ParameterConfig read_parameter(const std::string& name, const toml::table& table,
                               ConfigProblems& problems) {
  TableReader reader{table, "the parameter \"" + printable(name) + "\"", problems};
  ParameterConfig parameter{.name = name};
  reader.require("at", parameter_example);
  parameter.at = read_pointer(reader, "at");
  parameter.required = reader.boolean("required", true);
  if (const auto type = reader.require_text("type", parameter_example)) {
    if (const auto known = field_type_from(*type)) {
      parameter.type = *known;
    } else {
      reader.problem("type", "\"" + printable(*type) + "\" is not a type of parameters",
                     nearest_hint(*type, type_names(), "types"));
    }
  }
  reader.finish();
  return parameter;
}

void read_parameters(TableReader& reader, HandlerConfig& handler, std::vector<ConfigPlace>& places,
                     ConfigProblems& problems) {
  const toml::table* table = reader.table("params");
  if (table == nullptr) return;
  for (const auto& [key, node] : *table) {
    const std::string name{key.str()};
    check_parameter_name(name, place_of(key.source()), problems);
    ParameterConfig parameter{.name = name};
    if (const toml::table* definition = node.as_table()) {
      parameter = read_parameter(name, *definition, problems);
    } else {
      problems.add(node.source(),
                   "the parameter \"" + printable(name) + "\" must be a table, not " +
                       std::string{describe(node)},
                   "for example: " + printable(name) + " = " + std::string{parameter_example});
    }
    handler.parameters.push_back(std::move(parameter));
    places.push_back(place_of(key.source()));
  }
}

std::string statement_title(std::size_t number, std::size_t count) {
  return count == 1 ? "the statement" : "statement " + std::to_string(number);
}

/// Returns whether all statements could be read, so that their parameters are known.
bool read_statements(TableReader& reader, HandlerConfig& handler, ConfigProblems& problems) {
  const auto texts = reader.require_texts("sql", R"(sql = ["INSERT INTO ..."])");
  bool readable = !texts.empty();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const PlacedText& text = texts[i];
    SqlText read = read_sql(text.text);
    readable = readable && read.defect.empty();
    if (!read.defect.empty() && text.place.line != 0) {
      std::string message = statement_title(i + 1, texts.size());
      if (read.defect_line > 1) message += ", line " + std::to_string(read.defect_line);
      problems.add(text.place, message + ": " + read.defect);
    }
    handler.statements.push_back({text.text, std::move(read.parameters), {}, text.place});
  }
  return readable;
}

/// A parameter that nothing defines, or that nothing uses, is most likely a typing mistake.
void match_parameters(const HandlerConfig& handler, const std::vector<ConfigPlace>& places,
                      ConfigProblems& problems) {
  std::vector<std::string> known;
  for (const ParameterConfig& parameter : handler.parameters) known.push_back(parameter.name);
  known.insert(known.end(), builtin_parameters().begin(), builtin_parameters().end());
  std::vector<std::string> used;
  for (std::size_t i = 0; i < handler.statements.size(); ++i) {
    const StatementConfig& statement = handler.statements[i];
    for (const std::string& name : statement.parameters) {
      used.push_back(name);
      if (std::ranges::find(known, name) != known.end()) continue;
      problems.add(statement.place,
                   statement_title(i + 1, handler.statements.size()) + " uses :" + printable(name) +
                       ", which \"params\" does not define",
                   nearest_hint(name, known, "parameters"));
    }
  }
  for (std::size_t i = 0; i < handler.parameters.size(); ++i) {
    const std::string& name = handler.parameters[i].name;
    if (std::ranges::find(used, name) != used.end() || is_builtin(name) || !is_parameter_name(name))
      continue;
    problems.add(places[i], "no statement uses the parameter \"" + printable(name) + "\"",
                 "write :" + printable(name) + " in \"sql\", or remove it here");
  }
}

/// The row count that a statement must have; "any" leaves it open.
void expect(StatementConfig& statement, const toml::node& node, ConfigProblems& problems) {
  const auto* text = node.as_string();
  if (text != nullptr && text->get() == "any") return;
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < 0) {
    problems.add(node.source(), "\"expect_rows\" counts rows: an integer from 0, or \"any\"",
                 "for example: expect_rows = [1, \"any\"]");
    return;
  }
  const std::string keyword = read_sql(statement.sql).keyword;
  if (keyword == "SELECT" || keyword == "VALUES") {
    problems.add(node.source(), "\"expect_rows\" counts changed rows, and a " + keyword +
                                    " changes none: write \"any\" for it");
    return;
  }
  statement.expect_rows = number->get();
}

void read_expectations(TableReader& reader, HandlerConfig& handler, ConfigProblems& problems) {
  const toml::node* node = reader.find("expect_rows");
  if (node == nullptr || handler.statements.empty()) return;
  const toml::array* counts = node->as_array();
  if (counts == nullptr) {
    const auto* text = node->as_string();
    if (text != nullptr && text->get() == "any") return;
    if (handler.statements.size() > 1) {
      problems.add(node->source(), "\"expect_rows\" must be an array here: one count a statement",
                   "for example: expect_rows = [1, \"any\"]");
    } else {
      expect(handler.statements.front(), *node, problems);
    }
    return;
  }
  if (counts->size() != handler.statements.size()) {
    problems.add(node->source(),
                 "\"expect_rows\" has " + std::to_string(counts->size()) + " counts, but \"sql\" " +
                     std::to_string(handler.statements.size()) + " statements",
                 "write one count a statement; \"any\" leaves one open");
    return;
  }
  for (std::size_t i = 0; i < counts->size(); ++i) {
    expect(handler.statements[i], (*counts)[i], problems);
  }
}

void check_type(TableReader& reader, const std::string& type) {
  const std::size_t star = type.find('*');
  if (type.empty()) {
    reader.problem("type", "\"type\" must not be empty", R"(type = "*" takes every event)");
  } else if (star != std::string::npos && star + 1 != type.size()) {
    reader.problem("type", "a * can only stand at the end of a type",
                   R"(for example: type = "payment.*")");
  }
}

}  // namespace

std::string read_pointer(TableReader& reader, std::string_view key) {
  const auto pointer = reader.text(key);
  if (!pointer) return {};
  const std::string defect = pointer_defect(*pointer);
  if (defect.empty()) return *pointer;
  reader.problem(key, "\"" + printable(*pointer) + "\" is no JSON Pointer: " + defect,
                 R"(it begins with a slash and points into the event's data, like "/order/id")");
  return {};
}

HandlerConfig read_handler(const toml::table& table, const std::string& label,
                           ConfigProblems& problems) {
  const auto name = table["name"].value<std::string>();
  TableReader reader{table, name ? "the handler \"" + printable(*name) + "\"" : label, problems};
  HandlerConfig handler;
  handler.name = reader.require_text("name", R"(name = "credit")").value_or("");
  if (name) check_name(*name, "handler name", place_of(table["name"].node()->source()), problems);
  if (const auto type = reader.require_text("type", R"(type = "payment.received")")) {
    handler.type = *type;
    check_type(reader, *type);
  }
  handler.version =
      static_cast<int>(reader.integer("version", 1, 1, std::numeric_limits<int>::max()));
  handler.entity = read_pointer(reader, "entity");
  std::vector<ConfigPlace> places;
  read_parameters(reader, handler, places, problems);
  if (read_statements(reader, handler, problems)) match_parameters(handler, places, problems);
  read_expectations(reader, handler, problems);
  reader.finish();
  return handler;
}

}  // namespace onefold
