#include "onefold/lab/trial/script_broker.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/text.h"

namespace onefold::lab {
namespace {

constexpr std::size_t workers_max = 8;
constexpr std::size_t name_bytes_max = 40;
/// No log of a real source has this incarnation, so that its positions never meet the lab's.
constexpr const char* incarnation = "onefold lab";

class ScriptSource final : public Source {
 public:
  ScriptSource(ScriptBroker& broker, int worker, SourceTraits traits, SourceContext context)
      : broker_{broker}, worker_{worker}, traits_{traits}, context_{std::move(context)} {
    reposition();
  }
  ~ScriptSource() override { broker_.close(worker_); }
  ScriptSource(const ScriptSource&) = delete;
  ScriptSource& operator=(const ScriptSource&) = delete;

  std::vector<Delivery> receive(std::size_t limit,
                                std::chrono::milliseconds /*patience*/) override {
    return broker_.receive(worker_, limit);
  }
  void acknowledge(std::span<const Settled> settled) override {
    broker_.acknowledge(worker_, settled);
  }
  void release(std::span<const Delivery> deliveries, std::chrono::milliseconds /*delay*/) override {
    broker_.release(worker_, deliveries);
  }
  void reposition() override {
    broker_.open(worker_, broker_.is_log() ? broker_.start(context_.positions) : 0);
  }
  bool at_end() const override { return !broker_.has_work(worker_); }
  SourceTraits traits() const override { return traits_; }

 private:
  ScriptBroker& broker_;
  int worker_;
  SourceTraits traits_;
  SourceContext context_;
};

}  // namespace

ScriptBroker::ScriptBroker(std::string source, Traits traits, std::span<const Delivery> deliveries)
    : source_{std::move(source)}, traits_{traits}, deliveries_{deliveries}, readers_(workers_max) {}

void ScriptBroker::reset(const std::vector<bool>& left_out) {
  entries_.clear();
  for (std::size_t event = 0; event < deliveries_.size(); ++event) {
    if (!left_out[event]) entries_.push_back({.event = event});
  }
  std::ranges::fill(readers_, Reader{});
}

SourceFactory ScriptBroker::factory(const SourceFactory& real, int worker) {
  SourceFactory factory = real;
  factory.traits = {.kind = traits_.kind, .ordered = traits_.ordered, .shareable = !is_log()};
  factory.open = [this, worker,
                  traits = factory.traits](SourceContext context) -> std::unique_ptr<Source> {
    return std::make_unique<ScriptSource>(*this, worker, traits, std::move(context));
  };
  return factory;
}

bool ScriptBroker::has_work(int worker) const {
  if (!is_log()) {
    return std::ranges::any_of(entries_,
                               [](const Entry& e) { return e.place == Entry::Place::ready; });
  }
  const Reader& reader = readers_[static_cast<std::size_t>(worker)];
  return !reader.is_open || reader.next < entries_.size();
}

void ScriptBroker::send_again(std::size_t event) {
  const auto copies = std::ranges::count(entries_, event, &Entry::event);
  entries_.push_back({.event = event, .copy = static_cast<std::size_t>(copies)});
}

bool ScriptBroker::can_be_sent_again(std::size_t event) const {
  const bool is_there = std::ranges::find(entries_, event, &Entry::event) != entries_.end();
  return is_there && (!is_log() || deliveries_[event].defect.empty());
}

std::string ScriptBroker::name_of(std::size_t entry) const {
  const Entry& one = entries_[entry];
  return event_name(one.event) + "#" + std::to_string(one.copy);
}

std::string ScriptBroker::event_name(std::size_t event) const {
  const std::string& id = deliveries_[event].event.id;
  return id.empty() ? "(undecodable)" : printable(id, name_bytes_max);
}

void ScriptBroker::open(int worker, std::size_t next) {
  readers_[static_cast<std::size_t>(worker)] = {.is_open = true, .next = next};
}

/// What its reader still had in hand is there for others.
void ScriptBroker::close(int worker) {
  readers_[static_cast<std::size_t>(worker)] = {};
  for (Entry& entry : entries_) {
    if (entry.place != Entry::Place::in_hand || entry.holder != worker) continue;
    entry.place = Entry::Place::ready;
    entry.holder = -1;
  }
}

std::size_t ScriptBroker::start(const PositionLookup& positions) const {
  for (const Position& position : positions()) {
    if (position.partition->incarnation == incarnation) {
      return static_cast<std::size_t>(position.next.low);
    }
  }
  return 0;
}

std::vector<std::size_t> ScriptBroker::available(int worker, std::size_t limit) const {
  std::vector<std::size_t> there;
  const std::size_t first = is_log() ? readers_[static_cast<std::size_t>(worker)].next : 0;
  for (std::size_t i = first; i < entries_.size() && there.size() < limit; ++i) {
    if (is_log() || entries_[i].place == Entry::Place::ready) there.push_back(i);
  }
  return there;
}

std::vector<Delivery> ScriptBroker::receive(int worker, std::size_t limit) {
  std::vector<std::size_t> there = available(worker, limit);
  if (there.size() > 1) {
    if (const auto alone = script_.choose(there)) there = {*alone};
  }
  std::vector<Delivery> received;
  for (const std::size_t entry : there) {
    if (is_log()) readers_[static_cast<std::size_t>(worker)].next = entry + 1;
    script_.handed(entry, worker);
    received.push_back(deliver(entry));
    entries_[entry].place = Entry::Place::in_hand;
    entries_[entry].holder = worker;
  }
  return received;
}

Delivery ScriptBroker::deliver(std::size_t entry) {
  Entry& one = entries_[entry];
  Delivery delivery = deliveries_[one.event];
  delivery.receipt = std::to_string(entry);
  delivery.broker_attempt = ++one.attempts;
  delivery.position.reset();
  if (is_log()) {
    delivery.position =
        Position{std::make_shared<const Partition>(Partition{source_, incarnation, {}}),
                 {0, entry},
                 {0, entry + 1}};
  }
  if (traits_.id_is_place && one.copy > 0 && delivery.defect.empty()) {
    delivery.event.id += " again " + std::to_string(one.copy);
  }
  return delivery;
}

std::size_t ScriptBroker::entry_of(const Delivery& delivery) const {
  std::size_t entry = entries_.size();
  const std::string& text = delivery.receipt;
  std::from_chars(text.data(), text.data() + text.size(), entry);
  if (entry >= entries_.size()) throw std::logic_error{"an acknowledgement of an unknown delivery"};
  return entry;
}

void ScriptBroker::acknowledge(int worker, std::span<const Settled> settled) {
  const Act fate = script_.acknowledgement();
  for (const Settled& one : settled) {
    const std::size_t place = entry_of(*one.delivery);
    Entry& entry = entries_[place];
    const bool arrives = fate == Act::acknowledge || fate == Act::acknowledged_with_error;
    if (arrives) {
      entry.place = Entry::Place::done;
      script_.done(place);
    } else if (entry.place == Entry::Place::in_hand && entry.holder == worker) {
      entry.place = Entry::Place::ready;
    }
  }
  if (fate == Act::acknowledgement_refused || fate == Act::acknowledged_with_error) {
    throw Error{ErrorKind::unavailable, "the broker has closed the channel"};
  }
}

void ScriptBroker::release(int worker, std::span<const Delivery> deliveries) {
  for (const Delivery& delivery : deliveries) {
    Entry& entry = entries_[entry_of(delivery)];
    if (entry.place == Entry::Place::in_hand && entry.holder == worker) {
      entry.place = Entry::Place::ready;
    }
  }
}

}  // namespace onefold::lab
