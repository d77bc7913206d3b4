#include "onefold/runner.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "onefold/error.h"
#include "onefold/runtime/careful.h"
#include "onefold/runtime/connection.h"
#include "onefold/runtime/crash_file.h"
#include "onefold/runtime/crash_reports.h"
#include "onefold/runtime/range_workers.h"
#include "onefold/runtime/replay_driver.h"
#include "onefold/runtime/retry_source.h"
#include "onefold/runtime/rules.h"
#include "onefold/runtime/worker.h"

namespace onefold {
namespace {
using std::chrono::milliseconds;
constexpr milliseconds patience_alone{200};  ///< Also how long a signal may wait.
constexpr milliseconds pause_when_idle{20};
}  // namespace

Totals& Totals::operator+=(const Totals& other) noexcept {
  for (std::size_t i = 0; i < outcome_count; ++i) by_outcome.at(i) += other.by_outcome.at(i);
  return *this;
}

std::int64_t Totals::received() const noexcept {
  return std::accumulate(by_outcome.begin(), by_outcome.end(), std::int64_t{0});
}

struct Runner::State {
  struct Entry {
    Consumer consumer;
    std::vector<SourceFactory> sources;
  };
  /// Workers that are stepped in turn by one thread, over one session.
  struct Crew {
    Crew(Store& store, Clock& clock) : connection{store}, replays{store, connection, clock} {}
    Connection connection;
    std::list<Careful> careful;  ///< One for each worker.
    std::list<Worker> workers;
    ReplayDriver replays;  ///< Of the consumers whose waiting room it serves.
    RangeWorkers ranges{replays};
    int sources = 0;  ///< Without any, its work comes from what the others set aside.
    Totals totals;    ///< What the others may know of it, under `together`.
  };

  State(Store& the_store, Options the_options)
      : store{the_store}, options{std::move(the_options)} {}

  void start();
  void subscribe(const Entry& entry, ConsumerId id, ClaimMode mode, bool alone);
  void serve_waiting(const Entry& entry, ConsumerId id);
  void add_worker(Crew& crew, Subscription subscription, milliseconds patience);
  Notify notify_others();
  Careful::Surroundings surroundings_of(Crew& crew);
  Crew& crew_for_another();
  Clock& clock() const { return options.clock != nullptr ? *options.clock : system_clock(); }
  bool takes_turns() const;
  ClaimMode claim_mode(const Entry& entry) const;
  Totals loop(bool until_idle);
  void run_threads(bool until_idle);
  void run_crew(Crew& crew, bool until_idle);
  void take_turns(Crew& crew, bool until_idle);
  StepResult finish_batch(Worker& worker);
  bool finish_batches(Crew& crew);
  bool is_idle(Crew& crew, bool sources_done) const;
  void pause(const Crew& crew);
  void publish(Crew& crew);

  Store& store;
  Options options;
  std::list<Entry> entries;
  std::list<Subscription> subscriptions;
  std::list<Crew> crews;
  Totals totals;
  CrashReports reports;  ///< Of those that ran before.
  std::atomic<bool> stopping{false};
  std::atomic<int> crews_with_sources{0};  ///< That have not come to their end.
  bool started = false;
  bool waits = false;   ///< Sources may wait for more.
  std::mutex together;  ///< Guards the totals, and the calls of `notify` and `progress`.
};

Runner::Runner(Store& store) : Runner{store, Options{}} {}
Runner::Runner(Store& store, Options options)
    : state_{std::make_unique<State>(store, std::move(options))} {}
Runner::~Runner() = default;

void Runner::add(const Consumer& consumer, SourceFactory source) {
  if (const std::string defect = defect_of(consumer); !defect.empty()) {
    throw Error{ErrorKind::bad_configuration, defect};
  }
  if (consumer.claim == ClaimMode::optimistic && source.traits.kind != SourceClass::owned_log) {
    throw Error{ErrorKind::bad_configuration,
                "consumer '" + consumer.name + "' is optimistic, and source '" + source.name +
                    "' may give its deliveries to several: claim first"};
  }
  auto entry = std::ranges::find(state_->entries, consumer.name,
                                 [](const State::Entry& e) { return e.consumer.name; });
  if (entry == state_->entries.end()) {
    entry = state_->entries.insert(state_->entries.end(), {.consumer = consumer, .sources = {}});
  } else if (!say_the_same(entry->consumer, consumer)) {
    throw Error{ErrorKind::bad_configuration,
                "consumer '" + consumer.name +
                    "' was added before with other handlers or rules: add the same one to each of "
                    "its sources"};
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

std::vector<PauseRecord> Runner::paused() const {
  std::vector<PauseRecord> paused;
  for (const State::Crew& crew : state_->crews) {
    for (const Worker& worker : crew.workers) {
      const auto& why = worker.paused();
      const bool known = why && std::ranges::any_of(paused, [&](const PauseRecord& one) {
                           return one.consumer == why->consumer;
                         });
      if (why && !known) paused.push_back(*why);
    }
  }
  return paused;
}

namespace {
int workers_of(const Consumer& consumer, const SourceFactory& source) {
  return source.traits.shareable ? consumer.workers : 1;
}
}  // namespace

void Runner::State::start() {
  if (started) return;
  const std::unique_ptr<Housekeeping> housekeeping = store.housekeeping();
  if (options.migrate) housekeeping->migrate();
  housekeeping->check_schema();
  int workers_total = 0;
  for (const Entry& entry : entries) {
    for (const SourceFactory& source : entry.sources)
      workers_total += workers_of(entry.consumer, source);
  }
  const bool alone = waits && (workers_total == 1 || !takes_turns());
  for (const Entry& entry : entries) {
    const ClaimMode mode = claim_mode(entry);
    const ConsumerId id = housekeeping->adopt({.name = entry.consumer.name,
                                               .rules = rules_of(entry.consumer, entry.sources),
                                               .mode = mode},
                                              options.rule_change);
    if (!options.waiting_only) subscribe(entry, id, mode, alone);
    serve_waiting(entry, id);
  }
  started = true;
}

void Runner::State::subscribe(const Entry& entry, ConsumerId id, ClaimMode mode, bool alone) {
  for (const SourceFactory& source : entry.sources) {
    for (int i = 0; i < workers_of(entry.consumer, source); ++i) {
      Crew& crew = crew_for_another();
      ++crew.sources;
      add_worker(crew,
                 {.consumer = entry.consumer,
                  .id = id,
                  .source = source,
                  .mode = mode,
                  .id_prefixes = id_prefixes_of(entry.sources)},
                 alone ? patience_alone : milliseconds{0});
    }
  }
}

/// What waits has a worker of its own, so that it is never in one batch with fresh events.
void Runner::State::serve_waiting(const Entry& entry, ConsumerId id) {
  Crew& crew = crew_for_another();
  Decoders decoders;
  for (const SourceFactory& source : entry.sources) decoders[source.name] = source.decoder;
  add_worker(crew,
             {.consumer = entry.consumer,
              .id = id,
              .source = retry_source(id, crew.connection, clock(), std::move(decoders)),
              .mode = ClaimMode::claim_first,
              .id_prefixes = id_prefixes_of(entry.sources),
              .of_waiting = true},
             waits ? patience_alone : milliseconds{0});
  crew.replays.add(entry.consumer.name, id);
  if (options.waiting_only) {
    crew.replays.leave_ranges();
  } else {
    crew.ranges.serve({.consumer = entry.consumer, .id = id, .sources = entry.sources});
  }
}

void Runner::State::add_worker(Crew& crew, Subscription subscription, milliseconds patience) {
  const Notify notify = notify_others();
  subscriptions.push_back(std::move(subscription));
  Careful& careful = crew.careful.emplace_back(subscriptions.back(), surroundings_of(crew));
  crew.workers.emplace_back(subscriptions.back(), crew.connection, clock(),
                            Worker::Options{.patience = patience,
                                            .notify = notify,
                                            .number = static_cast<std::uint32_t>(crews.size()),
                                            .careful = &careful});
}

Careful::Surroundings Runner::State::surroundings_of(Crew& crew) {
  return {.store = store,
          .connection = crew.connection,
          .clock = clock(),
          .reports = reports,
          .notify = notify_others()};
}

Notify Runner::State::notify_others() {
  return [this](const Notice& notice) {
    const std::scoped_lock lock{together};
    if (options.notify) options.notify(notice);
  };
}

/// Sessions cost little, threads too: each worker has its own where the database can use them.
Runner::State::Crew& Runner::State::crew_for_another() {
  if (crews.empty() || !takes_turns()) crews.emplace_back(store, clock());
  return crews.back();
}

bool Runner::State::takes_turns() const {
  const StoreTraits traits = store.traits();
  return traits.single_writer || traits.one_thread || traits.one_connection;
}

/// Optimistic where each partition has one owner, so that losing a race is rare, and where other
/// writers could be in the way at all (semantics 3.1).
ClaimMode Runner::State::claim_mode(const Entry& entry) const {
  if (store.traits().single_writer) return ClaimMode::claim_first;
  const bool owned = std::ranges::all_of(entry.sources, [](const SourceFactory& source) {
    return source.traits.kind == SourceClass::owned_log;
  });
  return entry.consumer.claim.value_or(owned ? ClaimMode::optimistic : ClaimMode::claim_first);
}

/// A batch is finished before another worker's begins: they share one session.
StepResult Runner::State::finish_batch(Worker& worker) {
  StepResult result = worker.step();
  while (result == StepResult::progressed && !worker.at_rest()) result = worker.step();
  return result;
}

Totals Runner::State::loop(bool until_idle) {
  waits = !until_idle;
  std::unique_ptr<CrashFile> crash_file;
  if (!options.state_folder.empty()) {
    const std::string folder = std::filesystem::absolute(options.state_folder).string();
    crash_file = std::make_unique<CrashFile>(folder, options.notify);
    reports = CrashReports{folder, options.notify};
  }
  start();
  crews_with_sources = static_cast<int>(
      std::ranges::count_if(crews, [](const Crew& crew) { return crew.sources > 0; }));
  if (crews.size() == 1) {
    run_crew(crews.front(), until_idle);
  } else {
    run_threads(until_idle);
  }
  return totals;
}

/// The first that has to stop has all of them stop, after the batch in hand.
void Runner::State::run_threads(bool until_idle) {
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (Crew& crew : crews) {
      threads.emplace_back([&, this] {
        try {
          run_crew(crew, until_idle);
        } catch (...) {
          stopping = true;
          const std::scoped_lock lock{together};
          if (!failure) failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// However it ends, short of a death: nobody has to wonder what became of it.
void Runner::State::run_crew(Crew& crew, bool until_idle) {
  std::optional<SignalStack> stack;
  if (!options.state_folder.empty()) stack.emplace();
  const auto end_runs = [&] {
    std::ranges::for_each(crew.careful, &Careful::end);
    crew.ranges.end();
  };
  try {
    take_turns(crew, until_idle);
  } catch (const Error&) {
    end_runs();
    throw;
  }
  end_runs();
}

void Runner::State::take_turns(Crew& crew, bool until_idle) {
  while (!stopping) {
    // First, so that what the last of them has set aside is seen below.
    const bool sources_done = crews_with_sources == 0;
    const bool progressed = finish_batches(crew);
    if (until_idle && !progressed && is_idle(crew, sources_done)) break;
    if (!progressed) pause(crew);
  }
  if (crew.sources > 0) --crews_with_sources;
  publish(crew);  // Units of an unfinished batch have been committed, too.
}

/// Sources are at their end, and nothing is due now.
bool Runner::State::is_idle(Crew& crew, bool sources_done) const {
  if (!std::ranges::all_of(crew.workers, &Worker::at_end)) return false;
  return (crew.sources > 0 || sources_done) && !crew.replays.is_running();
}

/// One batch of each worker. Returns whether any had one.
bool Runner::State::finish_batches(Crew& crew) {
  bool progressed = false;
  const auto finish = [&](Worker& worker) {
    if (stopping) return;
    try {
      progressed = finish_batch(worker) == StepResult::progressed || progressed;
    } catch (...) {
      publish(crew);  // What was committed before a consumer stops counts.
      throw;
    }
  };
  std::ranges::for_each(crew.workers, finish);
  crew.ranges.step(finish, surroundings_of(crew));
  progressed = crew.replays.advance() || progressed;
  if (progressed) publish(crew);
  return progressed;
}

/// Until the first worker may go on, but never long: a signal must be noticed.
void Runner::State::pause(const Crew& crew) {
  const bool source_waited = waits && crew.sources == 1 && crew.workers.front().at_rest() &&
                             !crew.workers.front().paused();
  if (source_waited) return;
  std::this_thread::sleep_for(pause_when_idle);
}

void Runner::State::publish(Crew& crew) {
  const std::scoped_lock lock{together};
  crew.totals = {};
  for (const Worker& worker : crew.workers) crew.totals += worker.totals();
  crew.totals += crew.ranges.totals();
  totals = {};
  for (const Crew& each : crews) totals += each.totals;
  if (options.progress) options.progress(totals);
}

}  // namespace onefold
