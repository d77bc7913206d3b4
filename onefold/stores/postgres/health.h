#pragma once

#include <new>
#include <optional>
#include <utility>

#include "onefold/error.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Whether a transaction may still be used. Any error poisons it: to go on after one is how events
/// are lost without a word.
class Health {
 public:
  explicit Health(Connection& connection) noexcept : connection_{connection} {}

  /// Throws if a handler broke the rules, the transaction is gone, or an earlier call threw. Does
  /// not wait.
  void require();
  /// Undoing to a savepoint heals what was a statement's own fault. Throws anything else again.
  void heal();
  /// Calls `work` if all is well; what it throws poisons.
  template <class Work>
  decltype(auto) guard(Work&& work) {
    require();
    return attempt(std::forward<Work>(work));
  }
  /// The same for what must also work where an error has been healed.
  template <class Work>
  decltype(auto) attempt(Work&& work) {
    const NoteBegin note{*this};
    try {
      return std::forward<Work>(work)();
    } catch (const Error& error) {
      poison(error);
    } catch (const std::bad_alloc&) {
      poison(Error{ErrorKind::unavailable, "PostgreSQL: out of memory"});
    }
  }

 private:
  /// Once the server has answered BEGIN, only we may end the transaction.
  struct NoteBegin {
    ~NoteBegin() {
      const auto status = health.connection_.status();
      if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR) health.begun_ = true;
    }
    Health& health;
  };

  void require_alive();
  void give_up(ErrorKind kind, const std::string& why);
  [[noreturn]] void poison(const Error& error);

  Connection& connection_;
  bool begun_ = false;
  std::optional<Error> poison_;
  std::optional<Error> gone_;  ///< The transaction has ended, and why.
};

}  // namespace onefold::postgres
