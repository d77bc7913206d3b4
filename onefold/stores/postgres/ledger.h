#pragma once

#include <map>
#include <string>
#include <vector>

#include "onefold/store.h"
#include "onefold/stores/postgres/connection.h"
#include "onefold/stores/postgres/health.h"

namespace onefold::postgres {

/// What each scope stands for, so that the inbox need not repeat it. A scope never changes.
class ScopeWords {
 public:
  void remember(std::int32_t scope, std::string source_or_rule);
  /// Asks for what is not known yet of these.
  void learn(Connection& connection, std::span<const Evidence> evidence);
  /// The event source or rule of a scope; empty if there is no such scope.
  std::string_view source_or_rule(std::int32_t scope) const;

 private:
  std::map<std::int32_t, std::string> words_;
};

/// What the inbox has under these keys; fresh: nothing. In a statement of its own: one that has
/// waited for a rival sees what was before the wait.
std::vector<Claim> look_up(Connection& connection, std::span<const Key> keys);

/// All but `claim` only queue.
class InboxLedger final : public Ledger {
 public:
  InboxLedger(Connection& connection, Health& health, ScopeWords& words) noexcept
      : connection_{connection}, health_{health}, words_{words} {}

  std::vector<Claim> claim(std::span<const Evidence> wanted, ClaimMode mode) override;
  void withdraw(std::span<const Key> keys) override;
  void record(std::span<const Evidence> evidence, ClaimMode mode) override;
  void defer(std::span<const Deferral> deferrals) override;
  void advance(ConsumerId consumer, std::span<const Position> positions) override;

 private:
  Arguments rows_of(std::span<const Evidence> evidence);
  std::vector<bool> insert(std::span<const Evidence> wanted);

  Connection& connection_;
  Health& health_;
  ScopeWords& words_;
};

}  // namespace onefold::postgres
