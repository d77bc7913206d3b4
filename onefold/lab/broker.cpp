#include "onefold/lab/broker.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "onefold/error.h"

namespace onefold::lab {
namespace {

constexpr const char* subscription = "orders";

class LabSource final : public Source {
 public:
  LabSource(Broker& broker, int worker, SourceTraits traits, SourceContext context)
      : broker_{broker}, worker_{worker}, traits_{traits}, context_{std::move(context)} {
    broker_.open(worker_, broker_.is_log() ? broker_.start(context_.positions) : 0);
  }
  ~LabSource() override { broker_.close(worker_); }
  LabSource(const LabSource&) = delete;
  LabSource& operator=(const LabSource&) = delete;

  std::vector<Delivery> receive(std::size_t limit,
                                std::chrono::milliseconds /*patience*/) override {
    return broker_.receive(worker_, limit, context_.positions);
  }
  void acknowledge(std::span<const Settled> settled) override {
    broker_.acknowledge(worker_, settled);
  }
  void release(std::span<const Delivery> deliveries, std::chrono::milliseconds /*delay*/) override {
    broker_.release(worker_, deliveries);
  }
  void reposition() override { broker_.seek(worker_, broker_.start(context_.positions)); }
  bool at_end() const override { return broker_.at_end(worker_); }
  SourceTraits traits() const override { return traits_; }

 private:
  Broker& broker_;
  int worker_;
  SourceTraits traits_;
  SourceContext context_;
};

[[noreturn]] void fail(const char* why) {
  throw Error{ErrorKind::unavailable, why};
}

}  // namespace

Broker::Broker(SourceClass kind, std::vector<Delivery> deliveries, int workers)
    : kind_{kind},
      deliveries_{std::move(deliveries)},
      entries_(deliveries_.size()),
      readers_(static_cast<std::size_t>(workers)) {
  const auto partition = std::make_shared<const Partition>(Partition{subscription, "1", {}});
  for (std::uint64_t i = 0; i < deliveries_.size(); ++i) {
    deliveries_[i].receipt = std::to_string(i);
    deliveries_[i].position.reset();
    if (is_log()) deliveries_[i].position = Position{partition, {0, i}, {0, i + 1}};
  }
}

void Broker::reset() {
  std::ranges::fill(entries_, Entry{});
  std::ranges::fill(readers_, Reader{});
  owner_ = 0;
  settled_.clear();
  handed_.clear();
}

SourceFactory Broker::factory(int worker) {
  const SourceTraits traits{.kind = kind_, .ordered = true, .shareable = !is_log()};
  return {.name = subscription,
          .traits = traits,
          .identity = "lab",
          .attributes = {},
          .id_prefixes = {},
          .open = [this, worker, traits](SourceContext context) -> std::unique_ptr<Source> {
            return std::make_unique<LabSource>(*this, worker, traits, std::move(context));
          }};
}

bool Broker::has_work(int worker) const {
  const Reader& reader = readers_[static_cast<std::size_t>(worker)];
  if (reader.is_open && reader.broken) return true;
  if (is_log()) {
    if (worker != owner_) return false;
    return !reader.is_open || reader.stale || reader.next < entries_.size();
  }
  return std::ranges::any_of(entries_, [](const Entry& e) { return e.place == Place::ready; });
}

void Broker::redeliver(std::size_t delivery) {
  entries_[delivery] = Entry{};
}

void Broker::revoke() {
  owner_ = (owner_ + 1) % static_cast<int>(readers_.size());
  readers_[static_cast<std::size_t>(owner_)].stale = true;
}

Broker::Past Broker::past() const {
  Past past;
  for (const Entry& entry : entries_) past.places.push_back(entry.place);
  return past;
}

void Broker::restore(const Past& past) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool done = past.places[i] == Place::acknowledged;
    entries_[i] = Entry{done ? Place::acknowledged : Place::ready, -1};
  }
  for (Reader& reader : readers_) reader.broken = reader.is_open;
}

void Broker::add_to(StateDigest& digest) const {
  if (is_log()) return;
  std::uint64_t packed = 0;
  for (const Entry& entry : entries_) {
    packed = packed * 4 + static_cast<std::uint64_t>(entry.place);
    if (packed >> 60U != 0) digest.add(std::exchange(packed, 0));
  }
  digest.add(packed);
}

void Broker::add_to(StateDigest& digest, int worker) const {
  const Reader& reader = readers_[static_cast<std::size_t>(worker)];
  digest.add((reader.next << 4U) + (reader.is_open ? 1U : 0U) + (reader.broken ? 2U : 0U) +
             (reader.stale ? 4U : 0U) + (is_log() && worker == owner_ ? 8U : 0U));
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].place == Place::in_hand && entries_[i].holder == worker) digest.add(i);
  }
}

void Broker::open(int worker, std::size_t next) {
  readers_[static_cast<std::size_t>(worker)] = {.is_open = true, .next = next};
}

/// What its reader still had in hand is there for others.
void Broker::close(int worker) {
  readers_[static_cast<std::size_t>(worker)] = {};
  for (Entry& entry : entries_) {
    if (entry.place == Place::in_hand && entry.holder == worker) entry = Entry{};
  }
}

std::size_t Broker::start(const PositionLookup& positions) const {
  for (const Position& position : positions()) {
    if (position.partition->source == subscription) {
      return static_cast<std::size_t>(position.next.low);
    }
  }
  return 0;
}

std::vector<Delivery> Broker::receive(int worker, std::size_t limit,
                                      const PositionLookup& positions) {
  Reader& reader = readers_[static_cast<std::size_t>(worker)];
  if (reader.broken) fail("The broker has closed the connection.");
  std::vector<Delivery> received;
  if (is_log()) {
    if (worker != owner_) return received;
    if (reader.stale) reader.next = start(positions);
    reader.stale = false;
    const std::size_t end = std::min(entries_.size(), reader.next + limit);
    while (reader.next < end) {
      handed_.push_back(reader.next);
      received.push_back(deliveries_[reader.next++]);
    }
    return received;
  }
  for (std::size_t i = 0; i < entries_.size() && received.size() < limit; ++i) {
    if (entries_[i].place != Place::ready) continue;
    entries_[i] = Entry{Place::in_hand, worker};
    handed_.push_back(i);
    received.push_back(deliveries_[i]);
  }
  return received;
}

std::size_t Broker::index_of(const Delivery& delivery) const {
  std::size_t index = entries_.size();
  const std::string& text = delivery.receipt;
  std::from_chars(text.data(), text.data() + text.size(), index);
  if (index >= entries_.size()) throw std::logic_error{"an acknowledgement of an unknown delivery"};
  return index;
}

/// An acknowledgement of what has been handed to another worker since counts as well, as it does
/// with most brokers.
void Broker::acknowledge(int worker, std::span<const Settled> settled) {
  const Act fate = fate_ ? fate_() : Act::acknowledge;
  if (readers_[static_cast<std::size_t>(worker)].broken) fail("The broker has closed the channel.");
  for (const Settled& one : settled) settled_.push_back(index_of(*one.delivery));
  if (fate == Act::acknowledgement_refused) fail("The broker has closed the channel.");
  for (const Settled& one : settled) {
    Entry& entry = entries_[index_of(*one.delivery)];
    if (fate != Act::acknowledgement_lost) {
      entry = Entry{Place::acknowledged, -1};
    } else if (entry.place == Place::in_hand && entry.holder == worker) {
      entry = Entry{};
    }
  }
  if (fate == Act::acknowledged_with_error) fail("The broker's answer was lost.");
}

void Broker::release(int worker, std::span<const Delivery> deliveries) {
  for (const Delivery& delivery : deliveries) {
    Entry& entry = entries_[index_of(delivery)];
    if (entry.place == Place::in_hand && entry.holder == worker) entry = Entry{};
  }
}

void Broker::seek(int worker, std::size_t next) {
  readers_[static_cast<std::size_t>(worker)].next = next;
}

bool Broker::at_end(int worker) const {
  return !has_work(worker);
}

}  // namespace onefold::lab
