#include "onefold/daemon/config.h"

#include <filesystem>
#include <utility>

#include "onefold/daemon/catalog.h"
#include "onefold/daemon/config_environment.h"
#include "onefold/daemon/config_files.h"
#include "onefold/daemon/config_sections.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

void read_version(const TableReader& root) {
  const toml::node* node = root.require("config_version");
  if (node == nullptr) return;
  const auto version = node->value_exact<std::int64_t>();
  if (version != config_version) {
    root.problem("config_version", "this program reads config_version = 1 only",
                 version && *version > config_version
                     ? "a newer onefold wrote this file: update this one"
                     : "write config_version = 1");
  }
}

/// What makes no sense for the kind of database that the URL names.
void refuse_foreign_keys(const TableReader& store, std::string_view url) {
  const bool postgres = url.starts_with("postgres");
  const bool server = postgres || url.starts_with("mariadb:");
  for (const char* key : {"connect_timeout", "statement_timeout", "lock_timeout", "idle_timeout",
                          "network_timeout", "accept_relaxed_durability"}) {
    if (!server) store.refuse(key, "it is for database servers");
  }
  for (const char* key : {"schema", "pgbouncer"}) {
    if (!postgres) store.refuse(key, "it is for PostgreSQL");
  }
}

ServerConfig read_server(const TableReader& store) {
  const auto duration = [&](std::string_view key) {
    return std::chrono::milliseconds{store.duration(key)};
  };
  ServerConfig server;
  server.connect_timeout = duration("connect_timeout");
  server.statement_timeout = duration("statement_timeout");
  server.lock_timeout = duration("lock_timeout");
  server.idle_timeout = duration("idle_timeout");
  server.network_timeout = duration("network_timeout");
  server.accept_relaxed_durability = store.boolean("accept_relaxed_durability");
  server.schema = store.text("schema").value_or(server.schema);
  server.pgbouncer = store.boolean("pgbouncer");
  return server;
}

void read_store(const TableReader& root, Config& config) {
  if (root.require("store") == nullptr) return;
  const toml::table* table = root.table("store");
  if (table == nullptr) return;
  const TableReader store{*table, table_schema("store"), "[store]", root.reading()};
  const auto url = store.secret("url");
  const std::string key = store.secret_key("url");
  config.store_folder = store.folder(key);
  config.server = read_server(store);
  if (!url) return;
  config.store_url = *url;
  root.reading().set_dialect(store_dialect(url->reveal()));
  const ConfigHint defect = store_url_defect(url->reveal());
  if (!defect.text.empty()) {
    store.problem(key, defect.text, defect.hint);
  } else {
    refuse_foreign_keys(store, url->reveal());
  }
}

/// Every named table of a section: [source.NAME], [consumer.NAME].
template <typename Read>
void each_section(const TableReader& root, const std::string& section, Read read) {
  ConfigReading& reading = root.reading();
  const bool needed = reading.options().use == ConfigUse::apply;
  if ((needed ? root.require(section) : root.find(section)) == nullptr) return;
  const toml::table* table = root.table(section);
  if (table == nullptr) return;
  if (table->empty()) root.problem(section, "there is no " + section + " in it");
  for (const auto& [key, node] : *table) {
    check_name(key.str(), section + " name", ConfigReading::place(key), reading);
    const toml::table* named = node.as_table();
    if (named == nullptr) {
      reading.problem(
          key, "\"" + printable(key.str()) + "\" must be a table: write [" + section + ".NAME]",
          "for example: " + table_schema("").find(section)->example);
      continue;
    }
    read(std::string{key.str()}, *named);
  }
}

/// Two readers of one standard input would each silently get a part of it (semantics 5.1).
void check_standard_input(const Config& config, const toml::table& root, ConfigReading& reading) {
  int readers = 0;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& name : consumer.sources) {
      const auto source = config.sources.find(name);
      if (source == config.sources.end()) continue;
      if (source->second.kind != SourceKind::standard_input || ++readers != 2) continue;
      const toml::node_view<const toml::node> place = root["consumer"][consumer.name]["sources"];
      reading.problem(
          place ? *place.node() : root,
          "standard input is read by two subscriptions, and each would get a part of it",
          "give it to one consumer, or write the events to a file first");
    }
  }
}

void read_state_folder(const TableReader& root, Config& config) {
  const auto folder = root.text("state_folder");
  if (!folder) return;
  if (folder->empty() || folder->find('\0') != std::string::npos) {
    root.problem("state_folder", R"("state_folder" must be the path of a folder)",
                 R"(for example: state_folder = "/var/lib/onefold")");
  }
  config.state_folder = relative_to(root.folder("state_folder"), *folder);
}

void read_sections(const toml::table& root, Config& config, ConfigReading& reading) {
  const TableReader reader{root, table_schema(""), "the file", reading};
  read_version(reader);
  read_state_folder(reader, config);
  read_store(reader, config);
  each_section(reader, "source", [&](const std::string& name, const toml::table& table) {
    config.sources.emplace(name, read_source(name, table, reading));
  });
  each_section(reader, "consumer", [&](const std::string& name, const toml::table& table) {
    config.consumers.push_back(read_consumer(name, table, config.sources, reading));
  });
  check_standard_input(config, root, reading);
}

void read_texts(const std::vector<ConfigText>& texts, LoadedConfig& loaded,
                ConfigReading& reading) {
  auto root = merged(texts, reading);
  if (!root) return;
  override_keys(*root, reading);
  interpolate(*root, reading);
  read_sections(*root, loaded.config, reading);
  if (!reading.has_problems()) loaded.effective = effective_keys(*root, reading);
}

}  // namespace

LoadedConfig load_config(const std::vector<std::string>& paths,
                         const ConfigReadingOptions& options) {
  LoadedConfig loaded;
  if (!paths.empty()) loaded.config.path = paths.front();
  ConfigReading reading{options};
  const auto texts = read_files(paths, reading, loaded.permission_denied);
  if (!reading.has_problems()) read_texts(texts, loaded, reading);
  loaded.problems = reading.take();
  return loaded;
}

LoadedConfig load_config(const std::string& path, ConfigUse use) {
  return load_config(std::vector{path},
                     ConfigReadingOptions{.use = use, .environment = process_environment()});
}

LoadedConfig parse_config(std::string_view text, const std::string& path,
                          const ConfigReadingOptions& options) {
  LoadedConfig loaded;
  loaded.config.path = path;
  ConfigReading reading{options};
  reading.next_file(path);
  read_texts({{path, std::string{text}}}, loaded, reading);
  loaded.problems = reading.take();
  return loaded;
}

LoadedConfig parse_config(std::string_view text, const std::string& path, ConfigUse use) {
  return parse_config(text, path, ConfigReadingOptions{.use = use});
}

std::string to_string(const ConfigPlace& place, const std::string& otherwise) {
  if (place.file.empty() && place.line == 0) return otherwise;
  std::string file = place.file.empty() ? otherwise : printable(place.file);
  if (place.line == 0) return file;
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

const std::vector<std::string>& builtin_parameters() {
  static const std::vector<std::string> names{"event_id",      "event_source", "event_type",
                                              "event_subject", "event_time",   "data"};
  return names;
}

}  // namespace onefold
