#include "onefold/stores/postgres/settings.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <map>

#include "onefold/formats/text.h"

namespace onefold::postgres {
namespace {

constexpr int oldest_version = 130'000;

struct FreeOptions {
  void operator()(::PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Parsed = std::unique_ptr<::PQconninfoOption, FreeOptions>;

/// libpq would take a part of such a password for the host, the port or the database, all of which
/// are shown in messages.
void require_clear(std::string_view url) {
  if (!url.starts_with("postgres://") && !url.starts_with("postgresql://")) return;
  url.remove_prefix(url.find("://") + 3);
  const std::size_t at = url.rfind('@');
  if (at == url.npos || url.find_first_of("@/") == at) return;
  throw Error{ErrorKind::bad_configuration,
              "PostgreSQL: it is not clear where the password of the connection ends; within a "
              "user, a password or a value after the ?, write %2F for / and %40 for @"};
}

/// A port that is none may be a password whose host was forgotten.
bool has_wrong_port(::PQconninfoOption* options) {
  for (auto* each = options; each->keyword != nullptr; ++each) {
    if (std::string_view{each->keyword} != "port" || each->val == nullptr) continue;
    if (std::string_view{each->val}.find_first_not_of("0123456789,") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

Parsed parse(const std::string& connection) {
  require_clear(connection);
  char* why = nullptr;
  Parsed parsed{PQconninfoParse(connection.c_str(), &why)};
  // Its words can show the password.
  PQfreemem(why);
  if (!parsed || has_wrong_port(parsed.get())) {
    throw Error{ErrorKind::bad_configuration,
                "PostgreSQL: the connection cannot be understood; write "
                "postgres://user:password@host:port/database, with %-codes for special characters"};
  }
  return parsed;
}

std::string seconds(std::chrono::milliseconds duration) {
  // libpq takes 1 for 2, and 0 for ever.
  return std::to_string(std::max<std::int64_t>(2, (duration.count() + 999) / 1000));
}

std::string milliseconds(std::chrono::milliseconds duration) {
  return std::to_string(duration.count());
}

/// Tries once more, and asks for the code of the refusal instead of words: only codes are the same
/// in every language (B04). Empty if there is none.
std::string code_of_refusal(const std::vector<const char*>& names,
                            const std::vector<const char*>& values,
                            std::chrono::milliseconds patience) {
  const std::unique_ptr<::PGconn, decltype(&PQfinish)> tried{
      PQconnectStartParams(names.data(), values.data(), 1), &PQfinish};
  if (!tried) return {};
  PQsetErrorVerbosity(tried.get(), PQERRORS_SQLSTATE);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ::PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
  while (wants == PGRES_POLLING_READING || wants == PGRES_POLLING_WRITING) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const short events = wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    ::pollfd socket{PQsocket(tried.get()), events, 0};
    if (left.count() <= 0 || ::poll(&socket, 1, static_cast<int>(left.count())) <= 0) return {};
    wants = PQconnectPoll(tried.get());
  }
  // "FATAL:  28P01", with the first word in the server's language.
  std::string_view line = PQerrorMessage(tried.get());
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  const std::string_view code = line.substr(line.size() - std::min<std::size_t>(5, line.size()));
  const bool is_code = std::ranges::all_of(
      code, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
  return is_code && code.size() == 5 && line.ends_with("  " + std::string{code}) ? std::string{code}
                                                                                 : std::string{};
}

}  // namespace

void require_sense(const Options& options) {
  const bool plain = std::ranges::all_of(options.schema, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  const std::size_t size = options.schema.size();
  if (!plain || size == 0 || size > 63 || (options.schema[0] >= '0' && options.schema[0] <= '9')) {
    throw Error{ErrorKind::bad_configuration,
                "PostgreSQL: the schema's name must be lower-case letters, digits and underscores, "
                "begin with a letter, and have at most 63 characters"};
  }
  if (!options.borrow) parse(options.connection);
  for (const auto duration : {options.statement_timeout, options.lock_timeout,
                              options.idle_in_transaction_timeout, options.tcp_user_timeout}) {
    if (duration.count() > 0) continue;
    throw Error{ErrorKind::bad_configuration,
                "PostgreSQL: a timeout must be more than 0: without one, a stopped process could "
                "delay all others for ever"};
  }
}

std::string place_of(const Options& options) {
  if (options.borrow) return "the borrowed connection";
  const Parsed parsed = parse(options.connection);
  std::map<std::string, std::string> values;
  for (auto* each = parsed.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) values[each->keyword] = each->val;
  }
  const auto value = [&](const char* name, const char* otherwise) {
    const auto found = values.find(name);
    return found == values.end() ? std::string{otherwise} : found->second;
  };
  return fmt::format("{}:{}/{}", value("host", "localhost"), value("port", "5432"),
                     value("dbname", value("user", "").c_str()));
}

::PGconn* connect(const Options& options) {
  const std::string wait = seconds(options.connect_timeout);
  const std::string silence = milliseconds(options.tcp_user_timeout);
  // What stands later wins: the user's own words before ours, but for the encoding.
  const std::map<std::string, std::string> defaults{
      {"application_name", "onefold"},
      {"connect_timeout", wait},
      {"tcp_user_timeout", silence},
      {"keepalives_idle", "5"},
      {"keepalives_interval", "5"},
      {"keepalives_count", "2"},
      {"target_session_attrs", options.role == Role::runner ? "read-write" : "any"}};
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : defaults) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.insert(names.end(), {"dbname", "client_encoding", nullptr});
  values.insert(values.end(), {options.connection.c_str(), "UTF8", nullptr});
  const auto begin = std::chrono::steady_clock::now();
  ::PGconn* const made = PQconnectdbParams(names.data(), values.data(), 1);
  if (made != nullptr && PQstatus(made) == CONNECTION_OK) return made;
  const std::string words = made == nullptr ? "out of memory" : PQerrorMessage(made);
  PQfinish(made);
  const bool quick = std::chrono::steady_clock::now() - begin < options.connect_timeout;
  const std::string code =
      quick ? code_of_refusal(names, values, options.connect_timeout) : std::string{};
  throw Error{kind_of(code, Part::own), fmt::format("PostgreSQL: cannot connect to {}: {}",
                                                    place_of(options), single_spaced(words))};
}

std::string relaxed_setting(const Server& server) {
  if (server.fsync != "on") return "fsync = " + server.fsync;
  if (server.full_page_writes != "on") return "full_page_writes = " + server.full_page_writes;
  return {};
}

void require_usable(const Server& server, const Options& options) {
  if (server.version < oldest_version) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("PostgreSQL {} is too old: version 13 or newer is needed",
                            server.version / 10'000)};
  }
  if (server.encoding != "UTF8") {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("PostgreSQL: the encoding of the database is {}; create one with "
                            "ENCODING 'UTF8'",
                            server.encoding)};
  }
  if (server.in_transaction) {
    throw Error{ErrorKind::bad_configuration,
                "PostgreSQL: the borrowed connection is in a transaction; end it first"};
  }
  const std::string relaxed = relaxed_setting(server);
  if (options.role == Role::runner && !relaxed.empty() && !options.accept_relaxed_durability) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("PostgreSQL: with {} a power cut can take back what was confirmed and "
                            "acknowledged; change it, or accept relaxed durability",
                            relaxed)};
  }
}

Arguments session_settings(const Options& options, const Server& server) {
  // Weaker ones are raised, stronger ones kept.
  const bool weak = server.synchronous_commit == "off" || server.synchronous_commit == "local";
  // Whoever has waited for so long looks whether the other one stands still.
  const auto lock_timeout = std::min(options.lock_timeout, options.idle_in_transaction_timeout);
  const std::vector<std::pair<const char*, std::string>> wanted{
      {"statement_timeout", milliseconds(options.statement_timeout)},
      {"lock_timeout", milliseconds(lock_timeout)},
      {"idle_in_transaction_session_timeout", milliseconds(options.idle_in_transaction_timeout)},
      {"synchronous_commit", weak ? "on" : server.synchronous_commit},
      {"TimeZone", "UTC"},
      {"DateStyle", "ISO"},
      {"bytea_output", "hex"}};
  Arguments arguments;
  for (const auto& [name, value] : wanted) arguments.text(name).text(value);
  return arguments;
}

}  // namespace onefold::postgres
