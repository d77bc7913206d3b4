#include "onefold/daemon/schema_text.h"

#include <nlohmann/json.hpp>

#include "onefold/daemon/config_schema.h"
#include "onefold/daemon/quantity.h"

namespace onefold {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* pointer_pattern = "^(/([^~]|~[01])*)?$";
constexpr const char* name_pattern = "^[a-z0-9_-]{1,64}$";
/// A string that the environment fills: what it becomes is not known here.
constexpr const char* variable_pattern = R"(\$\{[A-Za-z_][A-Za-z0-9_]*(:[-?][^}]*)?\})";

Json one_or_many(const Json& element, std::size_t most = 0) {
  Json array = {{"type", "array"}, {"items", element}, {"minItems", 1}};
  if (most > 0) array["maxItems"] = most;
  return {{"oneOf", Json::array({element, std::move(array)})}};
}

Json or_variable(Json type) {
  return {{"anyOf",
           Json::array({std::move(type), {{"type", "string"}, {"pattern", variable_pattern}}})}};
}

Json keys_type() {
  const Json value = {{"type", "string"}, {"pattern", "^(/|attr:(id|source|type|subject)$)"}};
  const Json rule = {{"type", "object"},
                     {"propertyNames", {{"pattern", name_pattern}}},
                     {"minProperties", 1},
                     {"maxProperties", 1},
                     {"additionalProperties", one_or_many(value, 8)}};
  return one_or_many({{"oneOf", Json::array({{{"const", "event"}}, rule})}}, 8);
}

Json counts_type() {
  return one_or_many(
      {{"oneOf", Json::array({{{"type", "integer"}, {"minimum", 0}}, {{"const", "any"}}})}});
}

std::string child_path(const TableSchema& table, const KeySchema& key) {
  const std::string path = table.path.empty() ? key.name : table.path + "." + key.name;
  return key.kind == KeyKind::named ? path + ".*" : path;
}

Json table_type(const TableSchema& table);

Json type_of(const TableSchema& table, const KeySchema& key) {
  switch (key.kind) {
    case KeyKind::integer:
      if (key.least == key.most) return {{"const", key.least}};
      return or_variable({{"type", "integer"}, {"minimum", key.least}, {"maximum", key.most}});
    case KeyKind::number:
      return or_variable({{"type", "number"}, {"minimum", key.least}, {"maximum", key.most}});
    case KeyKind::boolean:
      return or_variable({{"type", "boolean"}});
    case KeyKind::choice:
      return or_variable({{"enum", key.choices}});
    case KeyKind::size:
      return or_variable({{"type", "string"}, {"pattern", "^[0-9]+(B|KiB|MiB|KB|MB)$"}});
    case KeyKind::duration:
      return or_variable({{"type", "string"}, {"pattern", "^[0-9]+(ms|s|m|h)$"}});
    case KeyKind::pointer:
      return or_variable({{"type", "string"}, {"pattern", pointer_pattern}});
    case KeyKind::pointers:
      return {{"type", "array"}, {"items", {{"type", "string"}, {"pattern", pointer_pattern}}}};
    case KeyKind::texts:
      return one_or_many({{"type", "string"}});
    case KeyKind::words:
      return {{"type", "array"}, {"items", {{"enum", key.choices}}}};
    case KeyKind::keys:
      return keys_type();
    case KeyKind::counts:
      return counts_type();
    case KeyKind::result:
      return {{"type", "object"},
              {"minProperties", 1},
              {"maxProperties", 32},
              {"additionalProperties", {{"type", "string"}}}};
    case KeyKind::table:
      return table_type(table_schema(child_path(table, key)));
    case KeyKind::named:
      return {{"type", "object"},
              {"additionalProperties", table_type(table_schema(child_path(table, key)))}};
    case KeyKind::table_array:
      return {{"type", "array"},
              {"items", table_type(table_schema(child_path(table, key)))},
              {"minItems", 1}};
    case KeyKind::text:
    case KeyKind::secret:
    case KeyKind::rule:
      break;
  }
  return {{"type", "string"}};
}

Json table_type(const TableSchema& table) {
  Json properties = Json::object();
  Json required = Json::array();
  Json secrets = Json::array();
  for (const KeySchema& key : table.keys) {
    Json type = type_of(table, key);
    type["description"] = key.meaning;
    if (!key.otherwise.empty()) {
      // A default is a number, a truth or a string: all of them are written as in JSON.
      type["default"] = Json::parse(key.otherwise);
    }
    properties[key.name] = std::move(type);
    if (key.required) required.push_back(key.name);
    if (key.kind != KeyKind::secret) continue;
    for (const char* ending : {"", "_file", "_env"}) {
      secrets.push_back({{"required", {key.name + ending}}});
    }
  }
  Json type = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (!required.empty()) type["required"] = required;
  if (!secrets.empty()) type["oneOf"] = secrets;
  return type;
}

std::string default_text(const KeySchema& key) {
  if (key.required) return "required";
  return key.otherwise.empty() ? "none" : "`" + key.otherwise + "`";
}

std::string joined(const std::vector<std::string>& choices) {
  std::string all;
  for (const std::string& each : choices) all += (all.empty() ? "`\"" : ", `\"") + each + "\"`";
  return all;
}

std::string type_text(const KeySchema& key) {
  switch (key.kind) {
    case KeyKind::integer:
      return key.least == key.most ? "`" + std::to_string(key.least) + "`"
                                   : std::to_string(key.least) + " to " + std::to_string(key.most);
    case KeyKind::number:
      return std::to_string(key.least) + " to " + std::to_string(key.most);
    case KeyKind::boolean:
      return "`true`, `false`";
    case KeyKind::choice:
      return joined(key.choices);
    case KeyKind::size:
      return size_text(key.least) + " to " + size_text(key.most);
    case KeyKind::duration:
      return duration_text(key.least) + " to " + duration_text(key.most);
    case KeyKind::pointer:
      return "pointer";
    case KeyKind::rule:
      return "pointer or constant";
    case KeyKind::pointers:
      return "array of pointers";
    case KeyKind::texts:
      return "string or array";
    case KeyKind::words:
      return "array of " + joined(key.choices);
    case KeyKind::keys:
      return "`\"event\"`, rule, or array of these";
    case KeyKind::counts:
      return "count, `\"any\"`, or array of these";
    case KeyKind::result:
    case KeyKind::table:
      return "table";
    case KeyKind::named:
      return "tables with names";
    case KeyKind::table_array:
      return "array of tables";
    case KeyKind::text:
    case KeyKind::secret:
      break;
  }
  return "string";
}

std::string code(const std::string& text) {
  return "`" + text + "`";
}

}  // namespace

std::string schema_as_json() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Configuration of onefold"}};
  schema.update(table_type(table_schema("")));
  return schema.dump(2) + "\n";
}

std::string schema_as_markdown() {
  std::string text;
  for (const TableSchema& table : config_schema()) {
    text += (text.empty() ? "### " : "\n### ") +
            (table.path.empty() ? std::string{"The file"} : code(table.title)) + "\n\n" +
            "| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const KeySchema& key : table.keys) {
      text += "| " + code(key.name) + " | " + type_text(key) + " | " + default_text(key) + " | " +
              key.meaning + " For example `" + key.example + "`. |\n";
    }
  }
  return text;
}

}  // namespace onefold
