#pragma once

#include <string>

namespace onefold {

/// The schema of a configuration as JSON Schema 2020-12, for editors. It knows types, choices and
/// ranges; what depends on several keys, only `onefold check` does.
std::string schema_as_json();

/// The tables of docs/configuration.md, in Markdown: a heading and a table for each.
std::string schema_as_markdown();

}  // namespace onefold
