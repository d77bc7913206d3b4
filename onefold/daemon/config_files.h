#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config_reading.h"

/// From names of files and folders to one tree of tables.
namespace onefold {

/// The text of one file of a configuration.
struct ConfigText {
  std::string path;  ///< As it is named in messages; relative paths start at its folder.
  std::string text;
};

/// Reads the files; of a folder, every `*.toml` in it, in the order of the bytes of their names.
/// What cannot be read is a problem; `permission_denied` says whether only rights are missing.
std::vector<ConfigText> read_files(const std::vector<std::string>& paths, ConfigReading& reading,
                                   bool& permission_denied);

/// Parses the texts and puts their tables together. A table or key that stands in two files is a
/// problem, but for `config_version`, which each may say. Absent if one cannot be parsed.
std::optional<toml::table> merged(const std::vector<ConfigText>& texts, ConfigReading& reading);

}  // namespace onefold
