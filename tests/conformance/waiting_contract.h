#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onefold/waiting.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {

/// What waits: taken by one, put back, released, paused.
class WaitingContract : public StoreContract {
 protected:
  Deferral deferral(int number, DeferralReason reason, std::string_view entity) {
    Deferral row{.key = key(number),
                 .fingerprint = {static_cast<std::uint8_t>(number)},
                 .consumer = consumer(),
                 .source = "orders",
                 .delivery = &delivery_,
                 .reason = reason,
                 .failure = FailureClass::constraint,
                 .entity = entity,
                 .handler = "credit",
                 .errors = errors_,
                 .attempts = 1,
                 .recorded_at = at_second(5)};
    row.further_keys = further_keys_;
    return row;
  }
  /// Claims a key and sets its event aside, as the runtime does. Returns its number.
  std::int64_t set_aside(int number, DeferralReason reason, std::string_view entity = {},
                         std::chrono::milliseconds due_in = std::chrono::milliseconds{0}) {
    commit([&](Transaction& transaction) {
      Deferral row = deferral(number, reason, entity);
      row.due_in = due_in;
      for (const Key& each : further_keys_) claim(transaction, waiting(each, reason));
      claim(transaction, waiting(row.key, reason));
      transaction.ledger().defer({&row, 1});
    });
    return records()->deferred({.key = key(number)}).at(0).id;
  }
  static Evidence waiting(Key wanted, DeferralReason reason) {
    Evidence row = evidence(wanted);
    row.outcome = reason == DeferralReason::dead ? Outcome::dead : Outcome::deferred;
    row.waiting = true;
    return row;
  }
  Waiting ticket(int number) {
    const DeferredRecord row = records()->deferred({.key = key(number)}).at(0);
    return {.id = row.id, .turn = row.turn, .key = row.key, .further_keys = row.further_keys};
  }
  static std::vector<ClaimState> take(Transaction& transaction,
                                      const std::vector<Waiting>& tickets) {
    std::vector<const Waiting*> events;
    for (const Waiting& each : tickets) events.push_back(&each);
    return states_of(transaction.waiting_room().take(events));
  }
  /// As the runtime does with an event that it has applied.
  void apply(Transaction& transaction, const Waiting& ticket) {
    std::vector<Evidence> rows{evidence(ticket.key)};
    for (const Key& each : ticket.further_keys) rows.push_back(evidence(each));
    transaction.ledger().record(rows, ClaimMode::claim_first);
    transaction.waiting_room().leave({&ticket.id, 1});
  }
  std::vector<std::string> due(std::size_t limit = 100, bool probe = false) {
    std::vector<std::string> keys;
    for (const DeferredRecord& row :
         session().due({.consumer = consumer(), .limit = limit, .probe = probe}).events) {
      keys.push_back(std::to_string(row.key.bytes.back()));
    }
    return keys;
  }
  std::vector<bool> blocked(const std::vector<Front>& fronts) {
    std::vector<bool> answers;
    commit([&](Transaction& transaction) {
      answers = transaction.waiting_room().blocked(consumer(), fronts);
      transaction.ledger().advance(consumer(), {});
    });
    return answers;
  }
  bool has_clock() const { return !GetParam().one_thread; }

  Delivery delivery_ = [] {
    Delivery delivery;
    delivery.event.id = "e1";
    delivery.event.data = std::string{"{\"a\": 1}\0\xff", 10};
    delivery.raw = "raw";
    return delivery;
  }();
  std::vector<std::string> errors_{"first"};
  std::vector<Key> further_keys_;
};

}  // namespace onefold::conformance
