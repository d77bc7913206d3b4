#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "onefold/consumer.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/json.h"
#include "onefold/runtime/batch.h"
#include "onefold/runtime/key_rule.h"
#include "onefold/store.h"

namespace onefold {

/// Finds out what a delivery is to a consumer: its key and scope, its fingerprint, its handlers.
class Identifier {
 public:
  /// `consumer` must outlive this.
  Identifier(const Consumer& consumer, ConsumerId id, std::string source, KeyRule rule);

  /// Fills the first group of `item`. May allot a scope in a transaction of its own: call it while
  /// none is open. Throws `Error` as the store does; calling it again is safe.
  void identify(Item& item, Session& session);
  /// Forgets everything learnt from the database.
  void forget_scopes() { scopes_.clear(); }
  /// Forgets routes that hostile event types could pile up (P12). No item may hold one.
  void trim();

 private:
  void identify_defect(Item& item, Session& session);
  const Route* route_of(const std::string& type);
  std::optional<std::int32_t> scope(std::string_view source_or_rule, std::string_view key_form,
                                    bool always, Session& session);
  void derive_key(Item& item, Session& session);
  void read_data(Item& item);

  const Consumer& consumer_;
  ConsumerId id_;
  std::string source_;
  KeyRule rule_;
  Fingerprinter fingerprinter_;
  JsonDocument document_;
  std::unordered_map<std::string, Route> routes_;
  /// By key form and source. Absent number: the consumer has no scope left for that source.
  std::unordered_map<std::string, std::optional<std::int32_t>> scopes_;
  std::string scope_name_;  ///< Reused for look-ups.
};

}  // namespace onefold
