#include "onefold/runner.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <numeric>
#include <thread>
#include <vector>

#include "onefold/error.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"

namespace onefold {
namespace {
using std::chrono::milliseconds;
constexpr milliseconds patience_alone{200};  ///< Also how long a signal may wait.
constexpr milliseconds pause_when_idle{20};
}  // namespace

std::int64_t Totals::received() const noexcept {
  return std::accumulate(by_outcome.begin(), by_outcome.end(), std::int64_t{0});
}

struct Runner::State {
  struct Entry {
    Consumer consumer;
    std::vector<SourceFactory> sources;
  };

  State(Store& the_store, Options the_options)
      : store{the_store}, options{std::move(the_options)}, connection{the_store} {}

  void start();
  ClaimMode claim_mode(const Entry& entry) const;
  Totals loop(bool until_idle);
  StepResult finish_batch(Worker& worker);
  bool finish_batches();
  void pause();
  void sum_up();

  Store& store;
  Options options;
  std::list<Entry> entries;
  Connection connection;
  std::list<Subscription> subscriptions;
  std::list<Worker> workers;
  Totals totals;
  std::atomic<bool> stopping{false};
  bool started = false;
  bool waits = false;  ///< Sources may wait for more.
};

Runner::Runner(Store& store) : Runner{store, Options{}} {}
Runner::Runner(Store& store, Options options)
    : state_{std::make_unique<State>(store, std::move(options))} {}
Runner::~Runner() = default;

void Runner::add(const Consumer& consumer, SourceFactory source) {
  if (const std::string defect = defect_of(consumer); !defect.empty()) {
    throw Error{ErrorKind::bad_configuration, defect};
  }
  auto entry = std::ranges::find(state_->entries, consumer.name,
                                 [](const State::Entry& e) { return e.consumer.name; });
  if (entry == state_->entries.end()) {
    entry = state_->entries.insert(state_->entries.end(), {.consumer = consumer, .sources = {}});
  }
  const bool twice = std::ranges::any_of(
      entry->sources, [&](const SourceFactory& known) { return known.name == source.name; });
  if (twice) {
    throw Error{
        ErrorKind::bad_configuration,
        "consumer '" + consumer.name + "' is subscribed to source '" + source.name + "' twice"};
  }
  entry->sources.push_back(std::move(source));
}

Totals Runner::run_until_idle() {
  return state_->loop(true);
}
Totals Runner::run() {
  return state_->loop(false);
}
void Runner::stop() noexcept {
  state_->stopping = true;
}
const Totals& Runner::totals() const noexcept {
  return state_->totals;
}

void Runner::State::start() {
  if (started) return;
  const std::unique_ptr<Housekeeping> housekeeping = store.housekeeping();
  if (options.migrate) housekeeping->migrate();
  housekeeping->check_schema();
  std::size_t workers_total = 0;
  for (const Entry& entry : entries) workers_total += entry.sources.size();
  const bool alone = workers_total == 1 && waits;
  for (const Entry& entry : entries) {
    const ClaimMode mode = claim_mode(entry);
    const ConsumerId id = housekeeping->adopt({.name = entry.consumer.name,
                                               .rules = rules_of(entry.consumer, entry.sources),
                                               .mode = mode},
                                              options.rule_change);
    for (const SourceFactory& source : entry.sources) {
      subscriptions.push_back({.consumer = entry.consumer,
                               .id = id,
                               .source = source,
                               .mode = mode,
                               .id_prefixes = id_prefixes_of(entry.sources)});
      workers.emplace_back(subscriptions.back(), connection,
                           options.clock != nullptr ? *options.clock : system_clock(),
                           Worker::Options{.patience = alone ? patience_alone : milliseconds{0},
                                           .notify = options.notify});
    }
  }
  started = true;
}

/// Optimistic where each partition has one owner, so that losing a race is rare, and where other
/// writers could be in the way at all.
ClaimMode Runner::State::claim_mode(const Entry& entry) const {
  const bool owned = std::ranges::all_of(entry.sources, [](const SourceFactory& source) {
    return source.traits.kind == SourceClass::owned_log;
  });
  const bool optimistic = owned && !entry.consumer.claim_first && !store.traits().single_writer;
  return optimistic ? ClaimMode::optimistic : ClaimMode::claim_first;
}

/// A batch is finished before another worker's begins: they share one session.
StepResult Runner::State::finish_batch(Worker& worker) {
  StepResult result = worker.step();
  while (result == StepResult::progressed && !worker.at_rest()) result = worker.step();
  return result;
}

Totals Runner::State::loop(bool until_idle) {
  waits = !until_idle;
  start();
  while (!stopping) {
    const bool progressed = finish_batches();
    if (progressed && options.progress) options.progress(totals);
    const bool finished = std::ranges::all_of(workers, &Worker::at_end);
    if (until_idle && !progressed && finished) break;
    if (!progressed) pause();
  }
  return totals;
}

/// One batch of each worker. Returns whether any had one.
bool Runner::State::finish_batches() {
  bool progressed = false;
  for (Worker& worker : workers) {
    if (stopping) break;
    try {
      progressed = finish_batch(worker) == StepResult::progressed || progressed;
    } catch (...) {
      sum_up();  // What was committed before a consumer stops counts.
      throw;
    }
  }
  sum_up();
  return progressed;
}

/// Until the first worker may go on, but never long: a signal must be noticed.
void Runner::State::pause() {
  if (waits && workers.size() == 1 && workers.front().at_rest()) return;  // Its source has waited.
  std::this_thread::sleep_for(pause_when_idle);
}

void Runner::State::sum_up() {
  totals = {};
  for (const Worker& worker : workers) {
    for (std::size_t i = 0; i < outcome_count; ++i) {
      totals.by_outcome.at(i) += worker.totals().by_outcome.at(i);
    }
  }
}

}  // namespace onefold
