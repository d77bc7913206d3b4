#pragma once

#include <string>
#include <string_view>

#include "onefold/daemon/config.h"
#include "onefold/daemon/toml_reader.h"

/// The parts of `parse_config`, one source file each.
namespace onefold {

/// [source.NAME]. `folder` is that of the configuration file.
SourceConfig read_source(const std::string& name, const toml::table& table,
                         const std::string& folder, ConfigProblems& problems);

/// [consumer.NAME]; its sources must be among those that were declared.
ConsumerConfig read_consumer(const std::string& name, const toml::table& table,
                             const std::map<std::string, SourceConfig>& sources,
                             ConfigProblems& problems);

/// [[consumer.NAME.handler]]. `label` names it in messages.
HandlerConfig read_handler(const toml::table& table, const std::string& label,
                           ConfigProblems& problems);

/// Reads an optional JSON Pointer into an event's data; empty if absent or wrong.
std::string read_pointer(TableReader& reader, std::string_view key);

/// `path` as seen from the working directory, if it was written relative to `folder`.
std::string relative_to(const std::string& folder, const std::string& path);

}  // namespace onefold
