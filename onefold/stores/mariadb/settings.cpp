#include "onefold/stores/mariadb/settings.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <mutex>

namespace onefold::mariadb {
namespace {

/// A server that is asked for nothing has to answer this much later at most.
constexpr unsigned int answer_margin_s = 5;

unsigned int whole_seconds(std::chrono::milliseconds time) noexcept {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return seconds < 1 ? 1U : static_cast<unsigned int>(seconds);
}

void ask_for_tls(::MYSQL* handle, const Address& address) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  mysql_ssl_set(handle, text_or_null(address.tls_key), text_or_null(address.tls_cert),
                text_or_null(address.tls_ca), nullptr, nullptr);
  const my_bool enforce = address.tls == Tls::required || address.tls == Tls::verified ? 1 : 0;
  const my_bool verify = address.tls == Tls::verified ? 1 : 0;
  mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

/// Bytes without an answer, and a silent peer, are noticed long before TCP gives up by itself.
void bound_silence(::MYSQL* handle, std::chrono::milliseconds tcp_user_timeout) {
  const int socket = static_cast<int>(mysql_get_socket(handle));
  const auto milliseconds = static_cast<unsigned int>(tcp_user_timeout.count());
  const int on = 1;
  const int idle_s = static_cast<int>(whole_seconds(tcp_user_timeout));
  // A socket of the file system has none of these, and needs none.
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
}

void set_options(::MYSQL* handle, const Address& address, const Options& options, Purpose purpose) {
  const unsigned int connect_s = whole_seconds(options.connect_timeout);
  mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
  if (purpose == Purpose::apply) {
    const unsigned int answer_s = whole_seconds(options.statement_timeout) + answer_margin_s;
    mysql_options(handle, MYSQL_OPT_READ_TIMEOUT, &answer_s);
    mysql_options(handle, MYSQL_OPT_WRITE_TIMEOUT, &answer_s);
  }
  const my_bool no = 0;
  const unsigned int no_files = 0;
  mysql_options(handle, MYSQL_OPT_RECONNECT, &no);
  mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &no_files);
  mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options4(handle, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "onefold");
  ask_for_tls(handle, address);
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error{ErrorKind::bad_configuration, "MariaDB: " + what};
}

}  // namespace

::MYSQL* connect(const Address& address, const Options& options, Purpose purpose) {
  static std::once_flag library;
  std::call_once(library, [] { mysql_server_init(0, nullptr, nullptr); });
  ::MYSQL* const handle = mysql_init(nullptr);
  if (handle == nullptr) throw Error{ErrorKind::unavailable, "MariaDB: out of memory"};
  set_options(handle, address, options, purpose);
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  // FOUND_ROWS: an UPDATE counts the rows that it found, as on every other database, and not only
  // those that it made different.
  if (mysql_real_connect(handle, text_or_null(address.host), text_or_null(address.user),
                         text_or_null(address.password), address.database.c_str(), address.port,
                         text_or_null(address.socket), CLIENT_FOUND_ROWS) == nullptr) {
    const Reason reason = reason_of(handle);
    mysql_close(handle);
    fail(reason, Origin::opening, fmt::format("connecting to {}", address.place()));
  }
  bound_silence(handle, options.tcp_user_timeout);
  return handle;
}

Durability judge_durability(std::string_view flush, std::string_view doublewrite,
                            std::string_view log_bin, std::string_view sync) {
  const bool logs = log_bin == "1";
  Durability found;
  found.text = fmt::format("innodb_flush_log_at_trx_commit = {}, innodb_doublewrite = {}", flush,
                           doublewrite);
  if (logs) found.text += fmt::format(", sync_binlog = {}", sync);
  // 3 is 1 with the older, slower way of syncing a group. What the log holds after a crash decides
  // with it, so that a log which is synced seldom takes commits back, too.
  const bool whole_pages = doublewrite != "0" && doublewrite != "OFF";
  found.durable = (flush == "1" || flush == "3") && whole_pages && (!logs || sync == "1");
  return found;
}

std::string set_up_sql(const Options& options, Purpose purpose) {
  std::string sql =
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,"
      "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1, completion_type = 0, "
      "unique_checks = 1, foreign_key_checks = 1, lc_messages = 'en_US'";
  if (purpose == Purpose::apply) {
    sql += fmt::format(
        ", innodb_lock_wait_timeout = {0}, lock_wait_timeout = {0}, max_statement_time = {1}, "
        "idle_transaction_timeout = {2}",
        whole_seconds(options.lock_timeout),
        static_cast<double>(options.statement_timeout.count()) / 1000.0,
        whole_seconds(options.idle_timeout));
  }
  return sql;
}

Settings read_settings(Connection& connection) {
  TextRows row = connection.query(
      "SELECT version(), database(), @@sql_mode, @@time_zone, @@character_set_client, "
      "@@character_set_connection, @@character_set_results, @@max_allowed_packet, "
      "@@innodb_flush_log_at_trx_commit, @@innodb_doublewrite, @@log_bin, @@sync_binlog",
      "reading the settings");
  row.next();
  Settings found;
  found.version = row.at(0);
  found.database = row.at(1);
  found.sql_mode = row.at(2);
  found.time_zone = row.at(3);
  found.character_set = row.at(4);
  if (row.at(5) != row.at(4) || row.at(6) != row.at(4)) found.character_set = "a mixture";
  found.packet_max = static_cast<std::size_t>(row.integer_at(7));
  found.durability = judge_durability(row.at(8), row.at(9), row.at(10), row.at(11));
  return found;
}

void require_settings(::MYSQL* handle, const Settings& settings) {
  if (mariadb_connection(handle) == 0) {
    refuse("the server says that it is " + settings.version + "; only MariaDB is supported");
  }
  unsigned long capabilities = 0;
  mariadb_get_infov(handle, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &capabilities);
  if ((capabilities & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32U)) == 0) {
    refuse("the server, or a proxy before it, takes no bulk statements; use MariaDB 10.6 or later");
  }
  unsigned long flags = 0;
  mariadb_get_infov(handle, MARIADB_CONNECTION_CLIENT_CAPABILITIES, &flags);
  if ((flags & CLIENT_FOUND_ROWS) == 0) {
    refuse(
        "the borrowed connection counts only rows that became different: open it with "
        "CLIENT_FOUND_ROWS");
  }
  if (settings.database.empty()) refuse("the connection has no database");
  if (settings.sql_mode.find("STRICT_") == std::string::npos) {
    refuse("sql_mode lets values be cut without an error: add STRICT_ALL_TABLES");
  }
  if (settings.sql_mode.find("NO_BACKSLASH_ESCAPES") != std::string::npos) {
    refuse("sql_mode has NO_BACKSLASH_ESCAPES, by which statements would be misread: remove it");
  }
  if (settings.time_zone != "+00:00" && settings.time_zone != "UTC") {
    refuse("time_zone is " + settings.time_zone + ": set it to '+00:00'");
  }
  if (settings.character_set != "utf8mb4") {
    refuse("the character set is " + settings.character_set + ": SET NAMES utf8mb4");
  }
}

}  // namespace onefold::mariadb
