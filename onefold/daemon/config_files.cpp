// The one file that compiles the TOML parser.
#define TOML_IMPLEMENTATION

#include "onefold/daemon/config_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "onefold/daemon/toml_depth.h"
#include "onefold/daemon/toml_reader.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_hint = "name it with -c FILE; without -c it is onefold.toml here";

ConfigPlace place_of(const std::string& path) {
  return {path, 0, 0};
}

/// The files of a folder whose names end in .toml. Hidden ones are left to editors.
std::vector<std::string> files_in(const std::string& folder, ConfigReading& reading) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator each{folder, error}; !error && each != fs::directory_iterator{};
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.ends_with(".toml") && !name.starts_with('.')) names.push_back(each->path().string());
  }
  if (error) {
    reading.problem(place_of(folder), "the folder cannot be read: " + error.message());
  } else if (names.empty()) {
    reading.problem(place_of(folder), "there is no *.toml file in this folder",
                    "put one there, or name a file with -c FILE");
  }
  std::ranges::sort(names);
  return names;
}

std::optional<ConfigText> read_file(const std::string& path, ConfigReading& reading,
                                    bool& permission_denied) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    reading.problem(place_of(path), "there is no such file", std::string{file_hint});
    return std::nullopt;
  }
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::string text(config_bytes_max + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) {
    const int cause = errno;
    permission_denied = cause == EACCES || cause == EPERM;
    reading.problem(
        place_of(path), std::string{"it cannot be read: "} + std::strerror(cause),
        permission_denied ? "give the user that runs onefold the right to read it" : "");
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return ConfigText{path, std::move(text)};
}

bool says(std::string_view description, std::string_view words) {
  return description.find(words) != std::string_view::npos;
}

/// The name that the parser could not define again.
std::string name_in(std::string_view description) {
  const std::size_t begin = description.find('\'');
  const std::size_t end = description.rfind('\'');
  return end <= begin ? std::string{} : printable(description.substr(begin + 1, end - begin - 1));
}

/// The parser names what its grammar expected; people want to know what they did.
ConfigProblem syntax_problem(std::string_view description) {
  constexpr std::string_view handler = ".handler";
  const std::string start = "this is not TOML: ";
  if (says(description, "string") &&
      (says(description, "control characters") || says(description, "end-of-file"))) {
    return {{}, start + "the string does not end on its line", "is the closing quote missing?"};
  }
  if (says(description, "could not determine value type")) {
    return {{},
            start + "the value is no number, truth, date or list, and no text in quotes",
            "put text in quotes: key = \"value\""};
  }
  if (says(description, "redefine")) {
    const std::string name = name_in(description);
    const bool table = says(description, "table");
    const std::string hint = table && name.starts_with("consumer.") && name.ends_with(handler)
                                 ? "write [[" + name + "]], with two brackets, above each handler"
                                 : "keep the one that is right";
    return {
        {}, start + (table ? "[" + name + "]" : "\"" + name + "\"") + " stands here twice", hint};
  }
  // "Error while parsing value: ..." tells nobody more than the place does.
  const std::size_t colon = description.find(": ");
  const bool prefixed = description.starts_with("Error while") && colon != description.npos;
  return {{},
          start + printable(description.substr(prefixed ? colon + 2 : 0), 300),
          "see https://toml.io for the notation"};
}

void report_syntax(const toml::parse_error& error, const std::string& path,
                   ConfigReading& reading) {
  const std::string_view description = error.description();
  const ConfigPlace place{path, error.source().begin.line, error.source().begin.column};
  if (says(description, "utf-8")) {
    reading.problem(place, "the file is not valid UTF-8", "save it as UTF-8 text");
    return;
  }
  ConfigProblem problem = syntax_problem(description);
  reading.problem(place, std::move(problem.text), std::move(problem.hint));
}

/// No file that a person wrote has one; the parser would blame the quotes around it.
bool report_nul(const ConfigText& text, ConfigReading& reading) {
  const std::size_t at = text.text.find('\0');
  if (at == std::string::npos) return false;
  const std::string_view before = std::string_view{text.text}.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t begin = before.rfind('\n');
  reading.problem({text.path, static_cast<std::uint32_t>(line),
                   static_cast<std::uint32_t>(at - (begin == before.npos ? 0 : begin + 1) + 1)},
                  "a NUL character stands here: this is no text file, or not in UTF-8",
                  "save it as UTF-8 text");
  return true;
}

std::optional<toml::table> parse(const ConfigText& text, ConfigReading& reading) {
  if (text.text.size() > config_bytes_max) {
    reading.problem(place_of(text.path), "it is larger than 1 MiB",
                    "a configuration is a small text file");
    return std::nullopt;
  }
  if (const auto line = line_of_too_deep_key(text.text)) {
    reading.problem({text.path, *line, 1},
                    "dots nest keys more than " + std::to_string(key_depth_max) + " deep here",
                    "no key of a configuration has more than a few dots");
    return std::nullopt;
  }
  if (report_nul(text, reading)) return std::nullopt;
  toml::parse_result parsed = toml::parse(text.text, std::string_view{text.path});
  if (parsed) return std::move(parsed).table();
  report_syntax(parsed.error(), text.path, reading);
  return std::nullopt;
}

void report_second(const std::string& what, const toml::key& second, const toml::node& first,
                   ConfigReading& reading) {
  reading.problem(
      second, what + " stands in two files: it is also at " + to_string(reading.place(first), {}),
      "keep the one that is right");
}

/// Moves the named tables of a section into the same section of another file.
void merge_section(toml::table& into, toml::table& from, const std::string& section,
                   ConfigReading& reading) {
  for (auto&& [key, node] : from) {
    const toml::node* first = into.get(key.str());
    if (first == nullptr) {
      into.insert(key, std::move(node));
    } else {
      report_second("[" + section + "." + printable(key.str()) + "]", key, *first, reading);
    }
  }
}

bool same_number(const toml::node& left, const toml::node& right) {
  const auto number = left.value_exact<std::int64_t>();
  return number && number == right.value_exact<std::int64_t>();
}

void merge(toml::table& into, toml::table& from, ConfigReading& reading) {
  for (auto&& [key, node] : from) {
    const std::string name{key.str()};
    toml::node* first = into.get(name);
    if (first == nullptr) {
      into.insert(key, std::move(node));
    } else if (name == "config_version" && same_number(node, *first)) {
      continue;  // Each file may say for which version it was written.
    } else if ((name == "source" || name == "consumer") && first->is_table() && node.is_table()) {
      merge_section(*first->as_table(), *node.as_table(), name, reading);
    } else {
      report_second(node.is_table() ? "[" + printable(name) + "]" : "\"" + printable(name) + "\"",
                    key, *first, reading);
    }
  }
}

}  // namespace

std::vector<ConfigText> read_files(const std::vector<std::string>& paths, ConfigReading& reading,
                                   bool& permission_denied) {
  std::vector<ConfigText> texts;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    for (const std::string& name :
         folder ? files_in(path, reading) : std::vector<std::string>{path}) {
      const auto same = [&](const ConfigText& text) {
        return fs::equivalent(text.path, name, error);
      };
      reading.next_file(name);
      if (std::ranges::any_of(texts, same)) {
        reading.problem(place_of(name), "this file is named twice", "name each file once");
      } else if (auto text = read_file(name, reading, permission_denied)) {
        texts.push_back(*std::move(text));
      }
    }
  }
  return texts;
}

std::optional<toml::table> merged(const std::vector<ConfigText>& texts, ConfigReading& reading) {
  std::optional<toml::table> all;
  bool parsed = true;
  for (const ConfigText& text : texts) {
    auto table = parse(text, reading);
    parsed = parsed && table;
    if (!parsed) continue;
    if (all) {
      merge(*all, *table, reading);
    } else {
      all = std::move(table);
    }
  }
  return parsed ? std::move(all) : std::nullopt;
}

}  // namespace onefold
