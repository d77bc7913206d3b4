#include "tests/faults/scripted_source.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace onefold::faults {

Event event(std::string id, std::string data, std::string type) {
  Event event;
  event.id = std::move(id);
  event.source = "shop";
  event.type = std::move(type);
  event.data = std::move(data);
  return event;
}

Delivery delivery(Event event) {
  Delivery delivery;
  delivery.raw = "{\"id\":\"" + event.id + "\",\"data\":" + event.data.value_or("null") + "}";
  delivery.event = std::move(event);
  return delivery;
}

Delivery undecodable(std::string raw, std::string defect) {
  Delivery delivery;
  delivery.raw = std::move(raw);
  delivery.defect = std::move(defect);
  return delivery;
}

struct ScriptedBroker::State {
  struct Entry {
    Delivery delivery;
    int held_by = 0;  ///< The source that has it in hand; 0: nobody.
    bool acknowledged = false;
  };
  struct Failure {
    Error error;
    int left;
  };

  std::string name;
  SourceClass kind;
  std::shared_ptr<const Partition> partition;
  std::vector<Entry> entries;
  std::vector<Failure> receive_failures;
  std::vector<Failure> acknowledge_failures;
  std::vector<Acknowledgement> acknowledged;
  std::vector<std::string> released;
  int opened = 0;
  int repositioned = 0;

  bool is_log() const { return kind == SourceClass::owned_log; }

  static void fail_if_due(std::vector<Failure>& failures) {
    std::optional<Error> due;
    std::erase_if(failures, [&](Failure& failure) {
      if (--failure.left > 0) return false;
      due = failure.error;
      return true;
    });
    if (due) throw Error{*due};
  }
};

namespace {

class ScriptedSource final : public Source {
 public:
  using State = ScriptedBroker::State;

  ScriptedSource(std::shared_ptr<State> state, SourceContext context)
      : state_{std::move(state)}, context_{std::move(context)}, number_{++state_->opened} {
    if (state_->is_log()) {
      next_ = start();
      return;
    }
    for (State::Entry& entry : state_->entries) {
      if (entry.held_by != 0 && !entry.acknowledged) give_back(entry);
    }
  }

  std::vector<Delivery> receive(std::size_t limit,
                                std::chrono::milliseconds /*patience*/) override {
    State::fail_if_due(state_->receive_failures);
    std::vector<Delivery> received;
    for (std::size_t i = next_; i < state_->entries.size() && received.size() < limit; ++i) {
      State::Entry& entry = state_->entries[i];
      if (state_->is_log()) {
        next_ = i + 1;
      } else if (entry.acknowledged || entry.held_by != 0) {
        continue;
      }
      entry.held_by = number_;
      received.push_back(entry.delivery);
    }
    return received;
  }

  void acknowledge(std::span<const Settled> settled) override {
    State::fail_if_due(state_->acknowledge_failures);
    for (const Settled& one : settled) {
      State::Entry& entry = find(*one.delivery);
      entry.acknowledged = true;
      state_->acknowledged.push_back(
          {one.delivery->event.id, one.delivery->receipt, one.outcome, std::string{one.result}});
    }
  }

  void release(std::span<const Delivery> deliveries, std::chrono::milliseconds /*delay*/) override {
    for (const Delivery& delivery : deliveries) {
      State::Entry& entry = find(delivery);
      state_->released.push_back(delivery.receipt);
      if (!state_->is_log()) give_back(entry);
    }
  }

  void reposition() override {
    if (!state_->is_log()) throw std::logic_error{"only an owned log can be repositioned"};
    next_ = start();
    ++state_->repositioned;
  }

  bool at_end() const override {
    if (state_->is_log()) return next_ >= state_->entries.size();
    return std::all_of(state_->entries.begin(), state_->entries.end(),
                       [](const auto& entry) { return entry.acknowledged || entry.held_by != 0; });
  }

  SourceTraits traits() const override { return {.kind = state_->kind, .ordered = true}; }

 private:
  static void give_back(State::Entry& entry) {
    entry.held_by = 0;
    ++entry.delivery.broker_attempt;
  }

  std::size_t start() const {
    for (const Position& position : context_.positions()) {
      if (*position.partition == *state_->partition) {
        return static_cast<std::size_t>(position.next.low);
      }
    }
    return 0;
  }

  State::Entry& find(const Delivery& delivery) {
    for (State::Entry& entry : state_->entries) {
      if (entry.delivery.receipt != delivery.receipt) continue;
      if (entry.held_by == number_) return entry;
    }
    throw std::logic_error{"the source never handed out " + delivery.receipt};
  }

  std::shared_ptr<State> state_;
  SourceContext context_;
  int number_;
  std::size_t next_ = 0;  ///< Of a log; the others search from the front.
};

}  // namespace

ScriptedBroker::ScriptedBroker(std::string name, SourceClass kind)
    : state_{std::make_shared<State>()} {
  state_->name = std::move(name);
  state_->kind = kind;
  recreate("first");
}

ScriptedBroker::~ScriptedBroker() = default;

void ScriptedBroker::add(Event event) {
  add(delivery(std::move(event)));
}

void ScriptedBroker::add(Delivery delivery) {
  const std::uint64_t index = state_->entries.size();
  delivery.receipt = state_->partition->incarnation + "#" + std::to_string(index);
  if (state_->is_log()) {
    delivery.position = Position{state_->partition, {0, index}, {0, index + 1}};
  }
  state_->entries.push_back({.delivery = std::move(delivery)});
}

void ScriptedBroker::fail_receive(Error error, int nth) {
  state_->receive_failures.push_back({std::move(error), nth});
}
void ScriptedBroker::fail_acknowledge(Error error, int nth) {
  state_->acknowledge_failures.push_back({std::move(error), nth});
}

void ScriptedBroker::recreate(std::string incarnation) {
  state_->partition =
      std::make_shared<const Partition>(Partition{state_->name, std::move(incarnation), {}});
  state_->entries.clear();
}

SourceFactory ScriptedBroker::factory() {
  return {.name = state_->name,
          .traits = {.kind = state_->kind, .ordered = true},
          .identity = "scripted",
          .attributes = {},
          .id_prefixes = {},
          .open = [state = state_](SourceContext context) -> std::unique_ptr<Source> {
            return std::make_unique<ScriptedSource>(state, std::move(context));
          }};
}

const std::vector<ScriptedBroker::Acknowledgement>& ScriptedBroker::acknowledged() const noexcept {
  return state_->acknowledged;
}
std::size_t ScriptedBroker::unacknowledged() const noexcept {
  return static_cast<std::size_t>(std::count_if(state_->entries.begin(), state_->entries.end(),
                                                [](const auto& e) { return !e.acknowledged; }));
}
int ScriptedBroker::opened() const noexcept {
  return state_->opened;
}
int ScriptedBroker::repositioned() const noexcept {
  return state_->repositioned;
}
const std::vector<std::string>& ScriptedBroker::released() const noexcept {
  return state_->released;
}
std::shared_ptr<const Partition> ScriptedBroker::partition() const noexcept {
  return state_->partition;
}

}  // namespace onefold::faults
