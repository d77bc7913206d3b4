#pragma once

#include <map>
#include <string>
#include <vector>

#include "onefold/store.h"
#include "onefold/stores/sqlite/connection.h"
#include "onefold/stores/sqlite/health.h"

namespace onefold::sqlite {

/// What each scope stands for, so that the inbox need not repeat it. A scope never changes.
class ScopeWords {
 public:
  /// The event source or rule of a scope; empty if there is no such scope.
  std::string_view source_or_rule(Connection& connection, std::int32_t scope);

 private:
  std::map<std::int32_t, std::string> words_;
  std::int32_t last_scope_ = 0;
  const std::string* last_ = nullptr;  ///< Batches ask for the same scope again and again.
};

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
  static Claim look_up(Statement& probe, const Key& key);
  void bind_row(Statement& insert, const Evidence& evidence);
  void insert_rows(std::span<const Evidence> evidence);
  void update_rows(std::span<const Evidence> evidence);
  bool move_forward(ConsumerId consumer, const Position& position);

  Connection& connection_;
  Health& health_;
  ScopeWords& words_;
};

}  // namespace onefold::sqlite
