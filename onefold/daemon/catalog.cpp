#include "onefold/daemon/catalog.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "onefold/brokers/file/file.h"
#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/sql_text.h"
#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"
#ifdef ONEFOLD_WITH_MARIADB
#include "onefold/stores/mariadb/mariadb.h"
#endif
#ifdef ONEFOLD_WITH_POSTGRES
#include "onefold/stores/postgres/postgres.h"
#endif
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";

std::string sqlite_path(const Config& config) {
  const std::string& url = config.store_url.reveal();
  return relative_to(config.store_folder, url.substr(std::min(url.size(), sqlite_scheme.size())));
}

/// A database server: its address says all, and whether it is there is told by connecting.
struct ServerKind {
  std::string_view scheme;
  SqlDialect dialect;
  std::unique_ptr<Store> (*open)(const Config& config, Access access);
};

#ifdef ONEFOLD_WITH_MARIADB
std::unique_ptr<Store> open_mariadb(const Config& config, Access access) {
  mariadb::Options options;
  options.connection = config.store_url.reveal();
  options.role = access == Access::run ? mariadb::Role::runner : mariadb::Role::visitor;
  options.accept_relaxed_durability = config.server.accept_relaxed_durability;
  options.connect_timeout = config.server.connect_timeout;
  options.statement_timeout = config.server.statement_timeout;
  options.lock_timeout = config.server.lock_timeout;
  options.idle_timeout = config.server.idle_timeout;
  options.tcp_user_timeout = config.server.network_timeout;
  options.notify = to_standard_error;
  return mariadb::open_store(std::move(options));
}
#endif

#ifdef ONEFOLD_WITH_POSTGRES
std::unique_ptr<Store> open_postgres(const Config& config, Access access) {
  postgres::Options options;
  options.connection = config.store_url.reveal();
  options.role = access == Access::run ? postgres::Role::runner : postgres::Role::visitor;
  options.schema = config.server.schema;
  options.pgbouncer = config.server.pgbouncer;
  options.accept_relaxed_durability = config.server.accept_relaxed_durability;
  options.connect_timeout = config.server.connect_timeout;
  options.statement_timeout = config.server.statement_timeout;
  options.lock_timeout = config.server.lock_timeout;
  options.idle_in_transaction_timeout = config.server.idle_timeout;
  options.tcp_user_timeout = config.server.network_timeout;
  options.notify = [](const std::string& what) { to_standard_error({Severity::info, what}); };
  return postgres::open_store(std::move(options));
}
#endif

constexpr std::array server_kinds{
#ifdef ONEFOLD_WITH_POSTGRES
    ServerKind{"postgres://", SqlDialect::postgres, open_postgres},
    ServerKind{"postgresql://", SqlDialect::postgres, open_postgres},
#endif
#ifdef ONEFOLD_WITH_MARIADB
    ServerKind{"mariadb://", SqlDialect::mariadb, open_mariadb},
#endif
    ServerKind{},
};

/// Null if the URL is not that of a server.
const ServerKind* server_of(std::string_view url) {
  const auto found = std::ranges::find_if(server_kinds, [&](const ServerKind& kind) {
    return !kind.scheme.empty() && url.starts_with(kind.scheme);
  });
  return found == server_kinds.end() ? nullptr : found;
}

struct Close {
  void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

/// The database is the better judge of what a statement returns, too; names are only compared where
/// the text gives one.
std::string returning_defect(sqlite3_stmt* prepared, const StatementConfig& statement) {
  const std::vector<std::string>& names = statement.returning;
  if (names.empty() || std::ranges::find(names, "*") != names.end()) return {};
  const auto count = static_cast<std::size_t>(sqlite3_column_count(prepared));
  if (count != names.size()) {
    return "SQLite returns " + std::to_string(count) + " columns, where the text names " +
           std::to_string(names.size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = sqlite3_column_name(prepared, static_cast<int>(i));
    if (names[i].empty() || (name != nullptr && names[i] == name)) continue;
    return "SQLite calls a column " + printable(name == nullptr ? "?" : name) +
           ", which is written as " + printable(names[i]);
  }
  return {};
}

/// SQLite itself says what a statement would do, whatever its text looks like: a handler works on
/// rows, and not on those of Onefold.
int authorize(void* objection, int action, const char* third, const char* fourth,
              const char* /*database*/, const char* /*trigger*/) noexcept {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_PRAGMA:  // Full text search asks for its own; a statement's has been refused.
      if (fourth == nullptr) return SQLITE_OK;
      break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
      if (third == nullptr || sqlite3_strnicmp(third, "onefold_", 8) != 0) return SQLITE_OK;
      *static_cast<std::string*>(objection) = "it writes to a table of Onefold";
      return SQLITE_DENY;
    default:
      break;
  }
  *static_cast<std::string*>(objection) = "it does not work on rows, which is all a handler may do";
  return SQLITE_DENY;
}

std::string prepare_defect(sqlite3* database, const StatementConfig& statement) {
  sqlite3_stmt* raw = nullptr;
  std::string objection;
  sqlite3_set_authorizer(database, authorize, &objection);
  const int code = sqlite3_prepare_v2(database, statement.sql.data(),
                                      static_cast<int>(statement.sql.size()), &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> prepared{raw};
  if (code != SQLITE_OK && !objection.empty()) return objection;
  if (code != SQLITE_OK) return sqlite3_errmsg(database);
  // The database is the better judge of what a parameter is; we must agree with it.
  for (int i = 1; i <= sqlite3_bind_parameter_count(raw); ++i) {
    const char* name = sqlite3_bind_parameter_name(raw, i);
    if (name != nullptr && std::ranges::find(statement.parameters, std::string{name + 1}) !=
                               statement.parameters.end()) {
      continue;
    }
    return std::string{"SQLite reads "} + (name == nullptr ? "?" : printable(name)) +
           " as a parameter, which is not written as :name";
  }
  return returning_defect(raw, statement);
}

/// SQLite has one code for all of these: only its words tell what is missing.
std::string statement_hint(std::string_view defect) {
  return defect.starts_with("no such table")
             ? "create the tables that the handlers use first, or correct the name"
             : "correct the statement";
}

std::unique_ptr<sqlite3, Close> open_read_only(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  std::unique_ptr<sqlite3, Close> database{raw};
  if (code != SQLITE_OK) {
    throw Error{ErrorKind::bad_configuration,
                "the database " + path + " cannot be opened: " + sqlite3_errmsg(raw)};
  }
  sqlite3_busy_timeout(raw, 5000);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return database;
}

}  // namespace

ConfigHint store_url_defect(std::string_view url) {
  constexpr std::string_view example = R"(for example: url = "sqlite:shop.db")";
  if (server_of(url) != nullptr) return {};
  if (!url.starts_with(sqlite_scheme)) {
    std::string known = "sqlite:";
    for (const ServerKind& kind : server_kinds) {
      if (!kind.scheme.empty()) known += " or " + std::string{kind.scheme};
    }
    return {
        "no store is known for \"" + printable(masked_url(url)) + "\": it must begin with " + known,
        std::string{example}};
  }
  const std::string_view path = url.substr(sqlite_scheme.size());
  if (path.empty()) return {"the path after sqlite: is missing", std::string{example}};
  if (path.starts_with("//")) {
    return {"sqlite: is followed by a path, without //",
            R"(write "sqlite:shop.db", or "sqlite:/var/lib/shop.db" for an absolute path)"};
  }
  if (path == ":memory:" || path.starts_with("file:") || path.find('\0') != path.npos) {
    return {
        "sqlite: must be followed by the path of an ordinary file, so that what was applied "
        "is still known after a restart",
        std::string{example}};
  }
  return {};
}

SqlDialect store_dialect(std::string_view url) {
  const ServerKind* const server = server_of(url);
  return server == nullptr ? SqlDialect::sqlite : server->dialect;
}

bool store_known(const Config& config) {
  return !config.store_url.empty();
}

std::string store_place(const Config& config) {
  const std::string& url = config.store_url.reveal();
  if (server_of(url) != nullptr) return masked_url(url);
  return sqlite_path(config);
}

bool store_exists(const Config& config) {
  // Opening creates nothing there, and says what is missing.
  if (server_of(config.store_url.reveal()) != nullptr) return true;
  std::error_code error;
  return std::filesystem::exists(sqlite_path(config), error);
}

std::unique_ptr<Store> open_store(const Config& config, Access access) {
  const std::string& url = config.store_url.reveal();
  if (const ServerKind* server = server_of(url)) return server->open(config, access);
  sqlite::Options options;
  options.path = sqlite_path(config);
  const std::filesystem::path folder = std::filesystem::path{options.path}.parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    throw Error{ErrorKind::bad_configuration, "the folder " + printable(folder.string()) +
                                                  " of the database does not exist: create it "
                                                  "first"};
  }
  options.role = access == Access::run ? sqlite::Role::runner : sqlite::Role::visitor;
  return sqlite::open_store(std::move(options));
}

SourceFactory open_source(const SourceConfig& source) {
  file::Options options;
  options.name = source.name;
  options.path = source.kind == SourceKind::standard_input ? "-" : source.path;
  options.format =
      source.format == SourceFormat::json ? file::Format::json : file::Format::cloudevents;
  options.identity = source.identity;
  options.id_prefix = source.id_prefix;
  options.follow = source.follow;
  options.limits = source.limits;
  return file::source(std::move(options));
}

namespace {

/// Calls `defect_of` with each statement of each handler.
template <class DefectOf>
std::vector<ConfigProblem> problems_of(const Config& config, DefectOf defect_of) {
  std::vector<ConfigProblem> problems;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const HandlerConfig& handler : consumer.handlers) {
      for (std::size_t i = 0; i < handler.statements.size(); ++i) {
        const StatementConfig& statement = handler.statements[i];
        const std::string defect = defect_of(statement);
        if (defect.empty()) continue;
        problems.push_back({statement.place,
                            "handler \"" + handler.name + "\", statement " + std::to_string(i + 1) +
                                " (" + sql_beginning(statement.sql) +
                                "): " + printable(defect, 300),
                            statement_hint(defect)});
      }
    }
  }
  return problems;
}

}  // namespace

std::vector<ConfigProblem> check_statements(const Config& config) {
  if (server_of(config.store_url.reveal()) != nullptr) {
    const auto housekeeping = open_store(config, Access::look)->housekeeping();
    return problems_of(config, [&](const StatementConfig& statement) {
      return housekeeping->statement_defect(statement.sql);
    });
  }
  const auto database = open_read_only(sqlite_path(config));
  return problems_of(config, [&](const StatementConfig& statement) {
    return prepare_defect(database.get(), statement);
  });
}

namespace {

std::string reading_defect(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> prepared{raw};
  if (code != SQLITE_OK) return sqlite3_errmsg(database);
  return sqlite3_stmt_readonly(raw) == 0 ? "it writes, and an invariant only reads" : "";
}

template <class DefectOf>
std::vector<ConfigProblem> invariant_problems(const Config& config, DefectOf defect_of) {
  std::vector<ConfigProblem> problems;
  for (const ConsumerConfig& consumer : config.consumers) {
    for (const InvariantConfig& invariant : consumer.invariants) {
      const std::string defect = defect_of(invariant.sql);
      if (defect.empty()) continue;
      problems.push_back({invariant.place,
                          "invariant \"" + invariant.name + "\" (" + sql_beginning(invariant.sql) +
                              "): " + printable(defect, 300),
                          statement_hint(defect)});
    }
  }
  return problems;
}

}  // namespace

std::vector<ConfigProblem> check_invariants(const Config& config) {
  if (server_of(config.store_url.reveal()) != nullptr) {
    const auto housekeeping = open_store(config, Access::look)->housekeeping();
    return invariant_problems(
        config, [&](const std::string& sql) { return housekeeping->statement_defect(sql); });
  }
  const auto database = open_read_only(sqlite_path(config));
  return invariant_problems(
      config, [&](const std::string& sql) { return reading_defect(database.get(), sql); });
}

std::optional<std::string> sqlite_file(const Config& config) {
  if (server_of(config.store_url.reveal()) != nullptr) return std::nullopt;
  return sqlite_path(config);
}

}  // namespace onefold
