#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/formats/sql_text.h"
#include "onefold/source.h"
#include "onefold/store.h"

/// From names in a configuration to adapters. catalog.cpp is the only file that names them all: a
/// new broker or database is one more line there.
namespace onefold {

struct ConfigHint {
  std::string text;  ///< Empty: there is nothing wrong.
  std::string hint;
};

/// Why no store can be opened under such a URL, whatever is there.
ConfigHint store_url_defect(std::string_view url);

/// Whose SQL the database under such a URL speaks.
SqlDialect store_dialect(std::string_view url);

/// Why the database is opened.
enum class Access {
  run,   ///< To apply events or migrate: alone.
  look,  ///< Everything else, also while another process runs.
};

/// Whether the configuration says which database it is. It does not if that depends on an
/// environment that was not looked at; nothing below may be called then.
bool store_known(const Config& config);
/// The path or address of the database, for messages.
std::string store_place(const Config& config);
/// Whether there is a database already. Opening creates it, so that those who only look ask first.
bool store_exists(const Config& config);
/// Throws `Error` as the adapter does.
std::unique_ptr<Store> open_store(const Config& config, Access access);

SourceFactory open_source(const SourceConfig& source);

/// Prepares every statement of every handler against the tables that the database has, and changes
/// nothing. Call it only if the store exists. Throws `Error` if it cannot be opened.
std::vector<ConfigProblem> check_statements(const Config& config);
/// The same of the invariants, which must moreover only read.
std::vector<ConfigProblem> check_invariants(const Config& config);

/// The file of an SQLite database; absent if it is of another kind.
std::optional<std::string> sqlite_file(const Config& config);

}  // namespace onefold
