#pragma once

#include <string>
#include <vector>

#include "onefold/stores/postgres/connection.h"

/// How a connection is opened, and what must be true of the server.
namespace onefold::postgres {

/// Opens a connection of our own. Never returns a bad one.
::PGconn* connect(const Options& options);

/// Throws `bad_configuration` unless the options make sense.
void require_sense(const Options& options);

/// "host:port/database", without user and password; for messages.
std::string place_of(const Options& options);

/// What the server says about itself.
struct Server {
  int process = 0;  ///< Of the server, as it says itself.
  int version = 0;  ///< 150018.
  std::string encoding;
  std::string synchronous_commit;
  std::string fsync;
  std::string full_page_writes;
  bool in_transaction = false;
};

/// The setting by which a confirmed commit can be lost in a power cut, as "name = value"; empty if
/// there is none. `synchronous_commit` is not looked at: each of our transactions sets it.
std::string relaxed_setting(const Server& server);

/// Throws `bad_configuration` if the server cannot be used.
void require_usable(const Server& server, const Options& options);

/// What `set_config` is called with: `name, value` pairs of all that our transactions need.
inline constexpr int settings_count = 7;
Arguments session_settings(const Options& options, const Server& server);

}  // namespace onefold::postgres
