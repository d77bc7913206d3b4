#pragma once

#include <new>
#include <optional>
#include <utility>

#include "onefold/error.h"
#include "onefold/stores/sqlite/connection.h"

namespace onefold::sqlite {

/// Whether a transaction may still be used. Any error poisons it: to go on after one is how events
/// are lost without a word.
class Health {
 public:
  explicit Health(Connection& connection) noexcept : connection_{connection} {}

  /// Throws if a handler broke the rules, the transaction is gone, or an earlier call threw.
  void require();
  /// Undoing to a savepoint heals what was a statement's own fault. Throws anything else again.
  void heal();

  /// Calls `work` if all is well; what it throws poisons.
  template <class Work>
  decltype(auto) guard(Work&& work) {
    require();
    try {
      return std::forward<Work>(work)();
    } catch (const Error& error) {
      poison(error);
    } catch (const std::bad_alloc&) {
      poison(Error{ErrorKind::unavailable, "SQLite: out of memory"});
    }
  }

 private:
  void require_alive();
  [[noreturn]] void poison(const Error& error);

  Connection& connection_;
  std::optional<Error> poison_;
  std::optional<Error> gone_;  ///< The transaction has ended, and why.
};

}  // namespace onefold::sqlite
