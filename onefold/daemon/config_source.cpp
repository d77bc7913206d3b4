#include <cstddef>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t id_prefix_bytes_max = 64;

constexpr std::string_view position_rule = "position";
constexpr std::string_view body_rule = "body-hash";

/// A constant can be everything but what tells events apart: the id and the time.
constexpr std::string_view rule_hint(std::string_view key) {
  if (key == "id") {
    return R"(write the JSON Pointer of the event's id, such as "/event_id"; "position" or )"
           R"("body-hash" if it has none)";
  }
  if (key == "time") return R"(write the JSON Pointer of the event's time, such as "/created_at")";
  return R"(write a JSON Pointer such as "/type", or a constant: "literal:shop")";
}

/// One field of an identity rule, checked alone so that its own place can be named: the other
/// fields of the probe are fine.
void read_rule(const TableReader& reader, std::string_view key, std::string IdentityRule::* field,
               IdentityRule& rule) {
  const auto value = reader.text(key);
  if (!value) return;
  IdentityRule probe;
  probe.id = "/id";
  probe.source = "literal:source";
  probe.type = "literal:type";
  probe.*field = *value;
  const std::string defect = identity_defect(probe);
  if (!defect.empty()) {
    reader.problem(key, defect, std::string{rule_hint(key)});
    return;
  }
  rule.*field = *value;
}

/// An id need not stand in the event: then it is made, by a rule that is asked for in words.
void read_id(const TableReader& reader, SourceConfig& source) {
  const auto rule = reader.text("id");
  if (!rule || (*rule != position_rule && *rule != body_rule)) {
    read_rule(reader, "id", &IdentityRule::id, source.identity);
    return;
  }
  if (*rule == position_rule && source.kind == SourceKind::standard_input) {
    reader.problem("id",
                   R"(id = "position" needs a file: what comes through standard input has no )"
                   "place that a second run would find again",
                   R"(read a file, or write id = "body-hash")");
    return;
  }
  reader.refuse("id_type", "the id is made, not read");
  reader.refuse("id_prefix", "the id is made, and has none");
  source.identity.id = *rule;
}

std::string read_id_prefix(const TableReader& reader) {
  const auto prefix = reader.text("id_prefix");
  if (!prefix) return {};
  if (prefix->empty() || prefix->size() > id_prefix_bytes_max ||
      printable(*prefix, id_prefix_bytes_max + 1) != *prefix) {
    reader.problem("id_prefix", "\"id_prefix\" must be 1 to 64 printable bytes",
                   R"(for example: id_prefix = "evt_")");
    return {};
  }
  return *prefix;
}

void read_json_identity(const TableReader& reader, const std::string& example,
                        SourceConfig& source) {
  for (const std::string_view key : {"id", "source", "type"}) {
    if (reader.find(key) == nullptr) {
      reader.problem_here(reader.label() + " needs the key \"" + std::string{key} + "\"",
                          "for example: " + example);
    }
  }
  read_id(reader, source);
  read_rule(reader, "source", &IdentityRule::source, source.identity);
  read_rule(reader, "type", &IdentityRule::type, source.identity);
  read_rule(reader, "subject", &IdentityRule::subject, source.identity);
  read_rule(reader, "time", &IdentityRule::time, source.identity);
  source.identity.id_type = reader.choice("id_type") == 1 ? IdType::integer : IdType::string;
}

void read_identity(const TableReader& source_reader, SourceConfig& source) {
  const bool json = source.format == SourceFormat::json;
  const toml::node* node =
      json ? source_reader.require("identity") : source_reader.find("identity");
  if (node == nullptr) return;
  const toml::table* table = source_reader.table("identity");
  if (table == nullptr) return;
  const TableReader reader{*table, table_schema("source.*.identity"),
                           "the identity of " + source_reader.label(), source_reader.reading()};
  if (json) {
    read_json_identity(reader, table_schema("source.*").find("identity")->example, source);
  } else {
    for (const std::string_view key : {"id", "source", "type", "subject", "time", "id_type"}) {
      reader.refuse(key, "a CloudEvent carries it itself");
    }
  }
  source.id_prefix = read_id_prefix(reader);
}

void read_path(const TableReader& reader, SourceConfig& source) {
  if (source.kind == SourceKind::standard_input) {
    reader.refuse("path", R"(kind = "stdin" has none)");
    reader.refuse("follow", "standard input goes on until its writer closes it");
    return;
  }
  source.follow = reader.boolean("follow");
  const auto path = reader.require_text("path");
  if (!path) return;
  if (path->empty()) {
    reader.problem("path", "\"path\" must not be empty", R"(for example: path = "orders.jsonl")");
  } else if (*path == "-") {
    reader.problem("path", R"(the path "-" is not a file)", R"(write kind = "stdin" instead)");
  } else if (path->find('\0') != std::string::npos) {
    reader.problem("path", "\"path\" must not hold a NUL character",
                   R"(for example: path = "orders.jsonl")");
  }
  source.path = relative_to(reader.folder("path"), *path);
}

void read_limits(const TableReader& reader, DecodeLimits& limits) {
  limits.event_bytes_max = static_cast<std::size_t>(reader.size("event_max"));
  limits.id_bytes_max = static_cast<std::size_t>(reader.integer("id_max"));
  limits.json.depth_max = static_cast<std::size_t>(reader.integer("depth_max"));
}

}  // namespace

SourceConfig read_source(const std::string& name, const toml::table& table,
                         ConfigReading& reading) {
  const TableReader reader{table, table_schema("source.*"), "[source." + printable(name) + "]",
                           reading};
  SourceConfig source;
  source.name = name;
  reader.require("kind");
  source.kind = reader.choice("kind") == 1 ? SourceKind::standard_input : SourceKind::file;
  reader.require("format");
  const std::size_t format = reader.choice("format");
  source.format = format == 1 ? SourceFormat::json : SourceFormat::cloudevents;
  read_path(reader, source);
  read_limits(reader, source.limits);
  // Without a known format it is unknown what its identity may hold.
  if (format < table_schema("source.*").find("format")->choices.size()) {
    read_identity(reader, source);
  }
  return source;
}

}  // namespace onefold
