#pragma once

#include <map>
#include <string>
#include <vector>

#include "onefold/store.h"
#include "onefold/stores/mariadb/connection.h"
#include "onefold/stores/mariadb/health.h"

namespace onefold::mariadb {

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

/// The look for keys that are in the inbox already, as text: numbers and hexadecimal digits alone.
/// A statement with a parameter for each key would have to be prepared for each number of keys.
std::string probe_sql(std::span<const Key> keys);

/// Adds what is found of these keys: sorted, and not too many for one list.
void read_claims(Connection& connection, std::span<const Key> keys, std::map<Key, Claim>& found);

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
  using Missing = std::vector<std::size_t>;

  void look_up(std::span<const Evidence> wanted, Missing& missing, std::vector<Claim>& claims);
  bool insert(std::span<const Evidence> wanted, Missing& rows);
  bool is_full(const ParameterRows& rows) const noexcept;
  void bind_proof(ParameterRows& row, const Evidence& evidence);
  void bind_row(ParameterRows& row, const Evidence& evidence);
  void insert_rows(std::span<const Evidence> evidence);
  void update_rows(std::span<const Evidence> evidence);
  void touch(ConsumerId consumer);

  Connection& connection_;
  Health& health_;
  ScopeWords& words_;
};

}  // namespace onefold::mariadb
