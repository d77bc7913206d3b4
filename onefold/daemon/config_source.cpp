#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t id_prefix_bytes_max = 64;

constexpr std::string_view identity_example =
    R"(identity = { id = "/event_id", source = "literal:shop", type = "/type" })";

/// A constant can be everything but what tells events apart: the id and the time.
constexpr std::string_view rule_hint(std::string_view key) {
  if (key == "id") return R"(write the JSON Pointer of the event's id, such as "/event_id")";
  if (key == "time") return R"(write the JSON Pointer of the event's time, such as "/created_at")";
  return R"(write a JSON Pointer such as "/type", or a constant: "literal:shop")";
}

/// One field of an identity rule, checked alone so that its own place can be named: the other
/// fields of the probe are fine.
void read_rule(TableReader& reader, std::string_view key, std::string IdentityRule::* field,
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

std::string read_id_prefix(TableReader& reader) {
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

void read_json_identity(TableReader& reader, SourceConfig& source) {
  for (const std::string_view key : {"id", "source", "type"}) {
    reader.require(key, identity_example);
  }
  read_rule(reader, "id", &IdentityRule::id, source.identity);
  read_rule(reader, "source", &IdentityRule::source, source.identity);
  read_rule(reader, "type", &IdentityRule::type, source.identity);
  read_rule(reader, "subject", &IdentityRule::subject, source.identity);
  read_rule(reader, "time", &IdentityRule::time, source.identity);
  source.identity.id_type =
      reader.choice("id_type", {"string", "integer"}, 0) == 1 ? IdType::integer : IdType::string;
}

void read_identity(TableReader& source_reader, SourceConfig& source, ConfigProblems& problems) {
  const bool json = source.format == SourceFormat::json;
  const toml::node* node =
      json ? source_reader.require("identity", identity_example) : source_reader.find("identity");
  if (node == nullptr) return;
  const toml::table* table = source_reader.table("identity");
  if (table == nullptr) return;
  TableReader reader{*table, "the identity of " + source_reader.label(), problems};
  if (json) {
    read_json_identity(reader, source);
  } else {
    for (const std::string_view key : {"id", "source", "type", "subject", "time", "id_type"}) {
      reader.refuse(key, "a CloudEvent carries it itself");
    }
  }
  source.id_prefix = read_id_prefix(reader);
  reader.finish();
}

void read_path(TableReader& reader, const std::string& folder, SourceConfig& source) {
  if (source.kind == SourceKind::standard_input) {
    reader.refuse("path", R"(kind = "stdin" has none)");
    reader.refuse("follow", "standard input goes on until its writer closes it");
    return;
  }
  source.follow = reader.boolean("follow", false);
  const auto path = reader.require_text("path", R"(path = "orders.jsonl")");
  if (!path) return;
  if (path->empty()) {
    reader.problem("path", "\"path\" must not be empty", R"(for example: path = "orders.jsonl")");
  } else if (*path == "-") {
    reader.problem("path", R"(the path "-" is not a file)", R"(write kind = "stdin" instead)");
  } else if (path->find('\0') != std::string::npos) {
    reader.problem("path", "\"path\" must not hold a NUL character");
  }
  source.path = relative_to(folder, *path);
}

}  // namespace

SourceConfig read_source(const std::string& name, const toml::table& table,
                         const std::string& folder, ConfigProblems& problems) {
  TableReader reader{table, "[source." + printable(name) + "]", problems};
  SourceConfig source;
  source.name = name;
  reader.require("kind", R"(kind = "file", or "stdin")");
  source.kind = reader.choice("kind", {"file", "stdin"}, 0) == 1 ? SourceKind::standard_input
                                                                 : SourceKind::file;
  reader.require("format", R"(format = "json", or "cloudevents")");
  const std::size_t chosen = reader.choice("format", {"cloudevents", "json"}, 2);
  source.format = chosen == 1 ? SourceFormat::json : SourceFormat::cloudevents;
  read_path(reader, folder, source);
  // Without a known format it is unknown what its identity may hold.
  if (chosen != 2) {
    read_identity(reader, source, problems);
  } else {
    reader.find("identity");
  }
  reader.finish();
  return source;
}

}  // namespace onefold
