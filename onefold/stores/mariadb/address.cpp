#include "onefold/stores/mariadb/address.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "onefold/error.h"

namespace onefold::mariadb {
namespace {

constexpr std::string_view scheme = "mariadb://";

[[noreturn]] void refuse(const std::string& why) {
  throw Error{ErrorKind::bad_configuration,
              fmt::format("MariaDB: the address is no mariadb://user:password@host:port/database: "
                          "{}",
                          why)};
}

/// Cuts off and returns what stands before `mark`; absent, and nothing is cut, if there is none.
std::optional<std::string_view> cut(std::string_view& rest, char mark) {
  const std::size_t found = rest.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view front = rest.substr(0, found);
  rest.remove_prefix(found + 1);
  return front;
}

std::string decoded(std::string_view text, const char* part) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || read.ptr != digits.data() + 2) {
      refuse(
          fmt::format("a % in the {} is not followed by two hexadecimal digits; write %25 for "
                      "the character itself",
                      part));
    }
    if (byte == 0) refuse(fmt::format("the {} holds %00", part));
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

unsigned int port_of(std::string_view text) {
  unsigned int port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || port == 0 ||
      port > 65'535) {
    refuse("the port is not a number from 1 to 65535");
  }
  return port;
}

void read_host(std::string_view text, Address& address) {
  if (text.starts_with('[')) {  // An IPv6 address, whose colons are its own.
    text.remove_prefix(1);
    const auto host = cut(text, ']');
    if (!host) refuse("the host's [ has no ]");
    address.host = *host;
    if (text.starts_with(':')) {
      address.port = port_of(text.substr(1));
    } else if (!text.empty()) {
      refuse("the host's ] is followed by neither a port nor a database");
    }
    return;
  }
  const auto host = cut(text, ':');
  if (host) address.port = port_of(text);
  address.host = decoded(host.value_or(text), "host");
}

Tls tls_of(std::string_view text) {
  if (text == "off") return Tls::off;
  if (text == "required") return Tls::required;
  if (text == "verify") return Tls::verified;
  refuse("tls is none of off, required, verify");
}

void read_setting(std::string_view text, Address& address) {
  const auto name = cut(text, '=');
  if (!name) refuse("what follows the ? is not name=value, joined by &");
  const std::string value = decoded(text, "settings");
  if (*name == "socket") {
    address.socket = value;
  } else if (*name == "tls") {
    address.tls = tls_of(value);
  } else if (*name == "tls_ca") {
    address.tls_ca = value;
  } else if (*name == "tls_cert") {
    address.tls_cert = value;
  } else if (*name == "tls_key") {
    address.tls_key = value;
  } else {
    refuse("after the ? only socket, tls, tls_ca, tls_cert and tls_key are known");
  }
}

}  // namespace

std::string Address::place() const {
  if (!socket.empty()) return fmt::format("{} at {}", database, socket);
  return fmt::format("{} at {}:{}", database, host, port);
}

Address parse_address(std::string_view url) {
  if (!url.starts_with(scheme)) refuse("it does not begin with mariadb://");
  url.remove_prefix(scheme.size());
  std::string_view settings = url;
  const auto before_settings = cut(settings, '?');
  std::string_view place = before_settings.value_or(url);

  Address address;
  // The last @: one in a password should be %40, but is no riddle.
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    std::string_view password = place.substr(0, at);
    const auto user = cut(password, ':');
    address.user = decoded(user.value_or(password), "user");
    if (user) address.password = decoded(password, "password");
    place.remove_prefix(at + 1);
  }
  std::string_view database = place;
  const auto host = cut(database, '/');
  if (!host || database.empty()) refuse("the database is missing");
  address.database = decoded(database, "database");
  read_host(*host, address);
  if (before_settings) {
    while (const auto setting = cut(settings, '&')) read_setting(*setting, address);
    read_setting(settings, address);
  }
  if (address.host.empty() && address.socket.empty()) refuse("the host is missing");
  return address;
}

}  // namespace onefold::mariadb
