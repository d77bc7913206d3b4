#include "onefold/runtime/retry_source.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "onefold/error.h"

namespace onefold {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long nothing is asked after there was nothing. Others may add to what waits at any time.
constexpr milliseconds look_interval{500};
constexpr milliseconds shortest_look_interval{5};

class RetrySource final : public Source {
 public:
  RetrySource(ConsumerId consumer, Connection& connection, Clock& clock, const Decoders& decoders)
      : consumer_{consumer}, connection_{connection}, clock_{clock}, decoders_{decoders} {}

  std::vector<Delivery> receive(std::size_t limit, milliseconds patience) override;
  /// What is settled has left `deferred`, or waits anew.
  void acknowledge(std::span<const Settled> /*settled*/) override {}
  void release(std::span<const Delivery> /*deliveries*/, milliseconds /*delay*/) override {}
  void reposition() override { look_at_ = {}; }
  bool at_end() const override { return at_end_; }
  SourceTraits traits() const override { return {.kind = SourceClass::queue}; }

 private:
  Due ask(std::size_t limit, bool& probe);
  Delivery delivery_of(DeferredRecord& record, bool probe);
  void decode(Delivery& delivery, const std::string& source);

  ConsumerId consumer_;
  Connection& connection_;
  Clock& clock_;
  const Decoders& decoders_;  ///< Of the factory, which outlives it.
  std::map<std::string, Decode> open_decoders_;
  steady_clock::time_point look_at_{};
  bool at_end_ = false;
};

std::vector<Delivery> RetrySource::receive(std::size_t limit, milliseconds patience) {
  // Whoever cannot wait wants to know how it stands now.
  if (patience.count() > 0 && clock_.ticks() < look_at_) return {};
  bool probe = false;
  Due due = ask(std::min(limit, waiting_events_max), probe);
  at_end_ = due.events.empty();
  look_at_ = clock_.ticks();
  if (at_end_) {
    const auto next = due.next_in ? std::chrono::ceil<milliseconds>(*due.next_in) : look_interval;
    look_at_ += std::clamp(next, shortest_look_interval, look_interval);
  }
  std::vector<Delivery> deliveries;
  deliveries.reserve(due.events.size());
  for (DeferredRecord& record : due.events) deliveries.push_back(delivery_of(record, probe));
  return deliveries;
}

Due RetrySource::ask(std::size_t limit, bool& probe) {
  try {
    Session& session = connection_.session();
    probe = session.pause(consumer_).has_value();
    return session.due({.consumer = consumer_, .limit = limit, .probe = probe});
  } catch (const Error& error) {
    if (error.needs_reconnect()) connection_.drop();
    throw;
  }
}

Delivery RetrySource::delivery_of(DeferredRecord& record, bool probe) {
  auto waiting = std::make_shared<Waiting>();
  waiting->id = record.id;
  waiting->turn = record.turn;
  waiting->key = record.key;
  waiting->further_keys = std::move(record.further_keys);
  waiting->decoded = record.decoded;
  waiting->reason = std::move(record.reason);
  waiting->attempts = record.attempts;
  waiting->errors = std::move(record.errors);
  waiting->entity = std::move(record.entity);
  waiting->replay = std::move(record.replay);
  waiting->position = std::move(record.position);
  waiting->probe = probe;
  Delivery delivery;
  delivery.event = std::move(record.event);
  delivery.raw = std::move(record.raw);
  delivery.waiting = waiting;
  if (!waiting->decoded) {
    decode(delivery, record.source);
  }
  return delivery;
}

/// The bytes were no event when they came. A source that reads them otherwise today finds one.
void RetrySource::decode(Delivery& delivery, const std::string& source) {
  const auto known = decoders_.find(source);
  if (known == decoders_.end() || !known->second) {
    delivery.defect = "UNKNOWN_SOURCE: no source of this name tells how its bytes are read";
    return;
  }
  auto open = open_decoders_.find(source);
  if (open == open_decoders_.end()) open = open_decoders_.emplace(source, known->second()).first;
  const std::string bytes = std::move(delivery.raw);
  Headers headers = std::move(delivery.event.headers);
  delivery.event = {};
  delivery.event.headers = std::move(headers);
  delivery.position = delivery.waiting->position;
  open->second(bytes, delivery);
  // It was passed long ago: only its row remembers where it stood.
  delivery.position.reset();
  delivery.raw = bytes;
}

}  // namespace

SourceFactory retry_source(ConsumerId consumer, Connection& connection, Clock& clock,
                           Decoders decoders) {
  SourceFactory factory;
  factory.name = "retry";
  factory.traits = {.kind = SourceClass::queue};
  factory.open = [consumer, &connection, &clock,
                  decoders = std::make_shared<const Decoders>(std::move(decoders))](
                     const SourceContext& /*context*/) -> std::unique_ptr<Source> {
    return std::make_unique<RetrySource>(consumer, connection, clock, *decoders);
  };
  return factory;
}

}  // namespace onefold
