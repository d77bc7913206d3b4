#include "onefold/daemon/config.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "onefold/daemon/catalog.h"
#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/daemon/toml_reader.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::string_view file_hint = "name it with -c FILE; without -c it is onefold.toml here";

LoadedConfig failed(const std::string& path, ConfigProblem problem) {
  LoadedConfig loaded;
  loaded.config.path = path;
  loaded.problems.push_back(std::move(problem));
  return loaded;
}

/// The parser names what its grammar expected; the hint is what people most often meant.
std::string syntax_hint(std::string_view description) {
  const auto says = [&](std::string_view words) {
    return description.find(words) != std::string_view::npos;
  };
  if (says("string") && (says("control characters") || says("end-of-file"))) {
    return "a string must end on its line: is the closing quote missing?";
  }
  const std::size_t name = description.find("'consumer.");
  const std::size_t end = description.find(".handler'");
  if (says("redefine") && name != std::string_view::npos && end != std::string_view::npos) {
    return "write [[" + printable(description.substr(name + 1, end - name - 1)) +
           ".handler]], with two brackets, above each handler";
  }
  return "see https://toml.io for the notation";
}

ConfigProblem syntax_problem(const toml::parse_error& error) {
  const std::string_view description = error.description();
  const ConfigPlace place = place_of(error.source());
  if (description.find("utf-8") != std::string_view::npos) {
    return {place, "the file is not valid UTF-8", "save it as UTF-8 text"};
  }
  return {place, "this is not TOML: " + printable(description, 300), syntax_hint(description)};
}

void read_version(TableReader& root, ConfigProblems& problems) {
  const toml::node* node = root.require("config_version", "config_version = 1");
  if (node == nullptr) return;
  const auto* version = node->as_integer();
  if (version == nullptr || version->get() != config_version) {
    problems.add(node->source(), "this program reads config_version = 1 only",
                 version != nullptr && version->get() > config_version
                     ? "a newer onefold wrote this file: update this one"
                     : "write config_version = 1");
  }
}

void read_store(TableReader& root, Config& config, ConfigProblems& problems) {
  const toml::node* node = root.require("store", "[store] with url = \"sqlite:shop.db\"");
  if (node == nullptr) return;
  const toml::table* table = root.table("store");
  if (table == nullptr) return;
  TableReader store{*table, "[store]", problems};
  if (const auto url = store.require_text("url", "url = \"sqlite:shop.db\"")) {
    config.store_url = *url;
    const ConfigHint defect = store_url_defect(*url);
    if (!defect.text.empty()) store.problem("url", defect.text, defect.hint);
  }
  store.finish();
}

/// Every named table of a section: [source.NAME], [consumer.NAME].
template <typename Read>
void each_section(TableReader& root, const std::string& section, std::string_view example,
                  ConfigUse use, ConfigProblems& problems, Read read) {
  const bool needed = use == ConfigUse::apply;
  if ((needed ? root.require(section, example) : root.find(section)) == nullptr) return;
  const toml::table* table = root.table(section);
  if (table == nullptr) return;
  if (table->empty()) problems.add(table->source(), "there is no " + section + " in it");
  for (const auto& [key, node] : *table) {
    check_name(key.str(), section + " name", place_of(key.source()), problems);
    const toml::table* named = node.as_table();
    if (named == nullptr) {
      problems.add(key.source(),
                   "\"" + printable(key.str()) + "\" must be a table: write [" + section + ".NAME]",
                   "for example: " + std::string{example});
      continue;
    }
    read(std::string{key.str()}, *named);
  }
}

/// Two readers of one standard input would each silently get a part of it (semantics 5.1).
void check_standard_input(const Config& config, const toml::table& root, ConfigProblems& problems) {
  int readers = 0;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const std::string& name : consumer.sources) {
      const auto source = config.sources.find(name);
      if (source == config.sources.end()) continue;
      if (source->second.kind != SourceKind::standard_input || ++readers != 2) continue;
      const toml::node_view<const toml::node> place = root["consumer"][consumer.name]["sources"];
      problems.add(place ? place.node()->source() : root.source(),
                   "standard input is read by two subscriptions, and each would get a part of it",
                   "give it to one consumer, or write the events to a file first");
    }
  }
}

void read_sections(const toml::table& root, ConfigUse use, Config& config,
                   ConfigProblems& problems) {
  TableReader reader{root, "the file", problems};
  read_version(reader, problems);
  read_store(reader, config, problems);
  const std::string folder = std::filesystem::path{config.path}.parent_path().string();
  each_section(reader, "source", "[source.orders]", use, problems,
               [&](const std::string& name, const toml::table& table) {
                 config.sources.emplace(name, read_source(name, table, folder, problems));
               });
  each_section(reader, "consumer", "[consumer.billing]", use, problems,
               [&](const std::string& name, const toml::table& table) {
                 config.consumers.push_back(read_consumer(name, table, config.sources, problems));
               });
  reader.finish();
  check_standard_input(config, root, problems);
}

}  // namespace

LoadedConfig load_config(const std::string& path, ConfigUse use) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return failed(path, {{}, "there is no such file", std::string{file_hint}});
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return failed(path, {{}, "it is a folder, not a file", std::string{file_hint}});
  }
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::string text(config_bytes_max + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) {
    const int cause = errno;
    LoadedConfig loaded =
        failed(path, {{}, std::string{"it cannot be read: "} + std::strerror(cause), ""});
    loaded.permission_denied = cause == EACCES || cause == EPERM;
    return loaded;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_config(text, path, use);
}

LoadedConfig parse_config(std::string_view text, const std::string& path, ConfigUse use) {
  if (text.size() > config_bytes_max) {
    return failed(path, {{}, "it is larger than 1 MiB", "a configuration is a small text file"});
  }
  LoadedConfig loaded;
  loaded.config.path = path;
  const toml::parse_result parsed = toml::parse(text, std::string_view{path});
  if (!parsed) {
    return failed(path, syntax_problem(parsed.error()));
  }
  ConfigProblems problems;
  read_sections(parsed.table(), use, loaded.config, problems);
  loaded.problems = problems.take();
  return loaded;
}

std::string to_string(const ConfigPlace& place, const std::string& path) {
  if (place.line == 0) return path;
  return path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

const std::vector<std::string>& builtin_parameters() {
  static const std::vector<std::string> names{"event_id",      "event_source", "event_type",
                                              "event_subject", "event_time",   "data"};
  return names;
}

std::string relative_to(const std::string& folder, const std::string& path) {
  if (folder.empty()) return path;
  // An absolute path replaces the folder.
  return (std::filesystem::path{folder} / path).string();
}

}  // namespace onefold
