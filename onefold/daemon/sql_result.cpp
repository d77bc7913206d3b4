#include "onefold/daemon/sql_result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "onefold/error.h"

namespace onefold {
namespace {

Error unfit(const std::string& name, const std::string& why) {
  return {ErrorKind::permanent, "result \"" + name + "\": " + why};
}

/// One value as JSON.
struct Write {
  const std::string& name;
  bool is_json;

  std::string operator()(Null /*null*/) const { return "null"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const {
    if (!std::isfinite(value)) throw unfit(name, "the number is infinite, or none");
    return nlohmann::json(value).dump();
  }
  std::string operator()(const std::string& value) const {
    if (is_json) return value;
    try {
      return nlohmann::json(value).dump();
    } catch (const nlohmann::json::exception&) {
      throw unfit(name, "the text is not UTF-8");
    }
  }
  std::string operator()(const std::vector<std::byte>& value) const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "\"";
    for (const std::byte byte : value) {
      text += digits[std::to_integer<std::size_t>(byte >> 4U)];
      text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return text + "\"";
  }
};

std::string field_text(const HandlerConfig& handler, const ResultField& field,
                       const std::vector<Parameter>& parameters, const std::vector<Value>& row) {
  if (field.column) return std::visit(Write{field.name, false}, row.at(*field.column));
  const auto found = std::ranges::find(parameters, field.parameter, &Parameter::name);
  const auto defined =
      std::ranges::find(handler.parameters, field.parameter, &ParameterConfig::name);
  const bool is_json = defined != handler.parameters.end() && defined->type == FieldType::json;
  return std::visit(Write{field.name, is_json}, found->value);
}

}  // namespace

std::string result_text(const HandlerConfig& handler, const std::vector<Parameter>& parameters,
                        const std::vector<Value>& row) {
  std::string text = "{";
  for (const ResultField& field : handler.result) {
    if (text.size() > 1) text += ',';
    text += "\"" + field.name + "\":" + field_text(handler, field, parameters, row);
    if (text.size() > result_bytes_max) throw unfit(field.name, "more than 64 KiB are too much");
  }
  return text + "}";
}

}  // namespace onefold
