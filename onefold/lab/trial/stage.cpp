#include "onefold/lab/trial/stage.h"

#include "onefold/formats/text.h"
#include "onefold/lab/trial/trial_faults.h"
#include "onefold/runtime/rules.h"

namespace onefold::lab {
namespace {
constexpr std::size_t name_bytes_max = 20;
}

Stage::Stage(Setting& setting) : setting_{setting}, store_{setting.store(), commits_} {
  const TrialSpec& spec = setting_.spec();
  for (const TrialSubscription& each : spec.subscriptions) {
    const TrialSource& source = spec.sources[each.source];
    const SourceClass kind = is_log(spec, source) ? SourceClass::owned_log : SourceClass::queue;
    brokers_.emplace_back(
        source.source.name,
        ScriptBroker::Traits{
            .kind = kind, .ordered = keeps_order(spec, source), .id_is_place = source.id_is_place},
        source.deliveries);
  }
  for (std::size_t i = 0; i < brokers_.size(); ++i) add_machines(i);
}

Stage::~Stage() {
  end_process();
}

void Stage::add_machines(std::size_t subscription) {
  const TrialSpec& spec = setting_.spec();
  const TrialSubscription& which = spec.subscriptions[subscription];
  const TrialSource& source = spec.sources[which.source];
  std::vector<SourceFactory> all;
  for (const TrialSubscription& each : spec.subscriptions) {
    if (each.consumer == which.consumer) all.push_back(spec.sources[each.source].source);
  }
  for (int number = 0; number < workers_for(spec, source); ++number) {
    Machine& machine = machines_.emplace_back();
    machine.subscription = subscription;
    machine.number = number;
    machine.subscribed = std::make_unique<Subscription>(
        Subscription{.consumer = spec.consumers[which.consumer],
                     .id = setting_.consumer_id(which.consumer),
                     .source = brokers_[subscription].factory(source.source, number),
                     .mode = ClaimMode::claim_first,
                     .id_prefixes = id_prefixes_of(all)});
  }
}

void Stage::reset(Timestamp now, std::uint64_t seed,
                  const std::vector<std::vector<bool>>& left_out) {
  end_process();
  setting_.copies().reset();
  setting_.time().set(now, seed);
  clock_.set(now);
  for (std::size_t i = 0; i < brokers_.size(); ++i) {
    brokers_[i].reset(left_out[setting_.spec().subscriptions[i].source]);
  }
}

void Stage::end_process() {
  for (Machine& machine : machines_) {
    machine.worker.reset();
    machine.paused = false;
  }
  connection_.reset();
  reader_.reset();
}

void Stage::cut_log(std::uint64_t bytes) {
  setting_.copies().cut_log(bytes);
}

Worker& Stage::worker(std::size_t number) {
  Machine& machine = machines_[number];
  if (!connection_) connection_.emplace(store_);
  if (!machine.worker) {
    machine.worker.emplace(
        *machine.subscribed, *connection_, clock_,
        Worker::Options{
            .patience = {}, .notify = {}, .number = static_cast<std::uint32_t>(number)});
  }
  return *machine.worker;
}

bool Stage::is_in_hand(std::size_t number) const {
  const Machine& machine = machines_[number];
  return machine.worker && !machine.worker->at_rest();
}

bool Stage::can_go_on(std::size_t number) const {
  const Machine& machine = machines_[number];
  return is_in_hand(number) || brokers_[machine.subscription].has_work(machine.number);
}

std::vector<std::string> Stage::worker_names() const {
  const TrialSpec& spec = setting_.spec();
  std::vector<std::string> names;
  for (const Machine& machine : machines_) {
    std::string name = "worker " + std::to_string(names.size() + 1);
    if (spec.subscriptions.size() > 1) {
      const TrialSubscription& which = spec.subscriptions[machine.subscription];
      name += " (" + printable(spec.consumers[which.consumer].name, name_bytes_max) + ", " +
              printable(spec.sources[which.source].source.name, name_bytes_max) + ")";
    }
    names.push_back(std::move(name));
  }
  return names;
}

Reader& Stage::reader() {
  if (!reader_) reader_.emplace(setting_.copies().path(), Reader::Access::read);
  return *reader_;
}

}  // namespace onefold::lab
