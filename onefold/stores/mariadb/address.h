#pragma once

#include <string>
#include <string_view>

namespace onefold::mariadb {

enum class Tls {
  offered,  ///< If the server offers it, without a look at its certificate.
  off,
  required,  ///< Without a look at the certificate.
  verified,  ///< The certificate must be valid, and of this host.
};

/// Where a server is, and as whom to go there.
struct Address {
  std::string host;
  unsigned int port = 3306;
  std::string socket;  ///< A path; then host and port are not regarded.
  std::string user;
  std::string password;
  std::string database;
  Tls tls = Tls::offered;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;

  /// For messages: without the password.
  std::string place() const;
};

/// Reads mariadb://user:password@host:port/database?... Throws `bad_configuration`; the message
/// never repeats what could be a password.
Address parse_address(std::string_view url);

}  // namespace onefold::mariadb
