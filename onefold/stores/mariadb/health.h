#pragma once

#include <new>
#include <optional>
#include <utility>

#include "onefold/error.h"
#include "onefold/stores/mariadb/connection.h"

namespace onefold::mariadb {

/// Whether a transaction may still be used. Any error poisons it: MariaDB undoes only the statement
/// when a lock took too long, and the whole transaction on a deadlock, and in both cases goes on as
/// if nothing had happened.
class Health {
 public:
  explicit Health(Connection& connection) noexcept : connection_{connection} {}

  /// Throws if a handler broke the rules, the transaction is gone, or an earlier call threw.
  void require();
  /// Undoing to a savepoint heals what was a statement's own fault. Throws anything else again.
  void require_healable();
  void heal() noexcept { poison_.reset(); }

  /// Calls `work` if all is well; what it throws poisons.
  template <class Work>
  decltype(auto) guard(Work&& work) {
    require();
    return watch(std::forward<Work>(work));
  }
  /// The same without asking first.
  template <class Work>
  decltype(auto) watch(Work&& work) {
    try {
      return std::forward<Work>(work)();
    } catch (const Error& error) {
      poison_.emplace(error);
      throw;
    } catch (const std::bad_alloc&) {
      poison_.emplace(ErrorKind::unavailable, "MariaDB: out of memory");
      throw Error{*poison_};
    }
  }

 private:
  void require_alive();

  Connection& connection_;
  std::optional<Error> poison_;
};

}  // namespace onefold::mariadb
