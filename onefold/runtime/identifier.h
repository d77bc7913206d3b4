#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onefold/consumer.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/json.h"
#include "onefold/runtime/batch.h"
#include "onefold/runtime/key_rule.h"
#include "onefold/store.h"

namespace onefold {

/// Finds out what a delivery is to a consumer: its handlers, its keys and scopes, its fingerprint.
class Identifier {
 public:
  /// `consumer` must outlive this.
  Identifier(const Consumer& consumer, ConsumerId id, std::string source, KeyRule rule);

  /// Appends what the delivery leads to: one item, or with a scope for each handler one for each.
  void open(const Delivery& delivery, std::vector<Item>& items);
  /// Fills what is known of items of one delivery. May allot a scope in a transaction of its own:
  /// call it while none is open. Throws `Error` as the store does; calling it again is safe.
  void identify(std::span<Item> parts, Session& session);
  /// Forgets everything learnt from the database.
  void forget_scopes() { scopes_.clear(); }
  bool knows_scopes() const noexcept { return !scopes_.empty(); }
  /// Forgets routes that hostile event types could pile up (P12). No item may hold one.
  void trim();

 private:
  /// What is read of a delivery once, for all its items.
  struct Reading {
    const Event& event;
    std::optional<JsonValue> data = {};  ///< Absent if it is no JSON.
    Fingerprint fingerprint{};
  };

  const std::vector<Route>& routes_of(const std::string& type);
  Route route_of(std::span<const HandlerSpec* const> handlers) const;
  void identify_defect(Item& item, Session& session);
  Reading read(const Event& event);
  std::string entity_of(const Route& route, const Reading& reading) const;
  void identify_part(Item& item, const Reading& reading, Session& session);
  void identify_waiting(std::span<Item> parts, const Waiting& waiting);
  void refuse(Item& item, FailureClass failure, std::string why);
  ItemKey event_key(const Item& item, const Reading& reading, Session& session);
  /// Absent if the event does not have the values; the item is dead then.
  std::optional<ItemKey> business_key(Item& item, const KeySpec& spec, const Reading& reading,
                                      Session& session);
  std::optional<std::int32_t> scope(const ScopeName& name, Session& session);
  ScopeName scope_name(const Item& item, std::string_view source_or_rule, std::string_view form,
                       bool always) const;

  const Consumer& consumer_;
  ConsumerId id_;
  std::string source_;
  KeyRule rule_;
  Fingerprinter fingerprinter_;
  JsonDocument document_;
  std::unordered_map<std::string, std::vector<Route>> routes_;
  /// By handler, key form and source. Absent number: the consumer has no scope left for that
  /// source.
  std::unordered_map<std::string, std::optional<std::int32_t>> scopes_;
  std::string scope_text_;  ///< Reused for look-ups.
};

}  // namespace onefold
