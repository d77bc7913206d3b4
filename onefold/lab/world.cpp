#include "onefold/lab/world.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "onefold/decisions.h"
#include "onefold/housekeeping.h"
#include "onefold/replays.h"
#include "onefold/runs.h"
#include "onefold/runtime/retry_source.h"
#include "onefold/runtime/rules.h"

namespace onefold::lab {
namespace {

constexpr int workers_max = 8;
constexpr int waiters_max = 2;
constexpr std::size_t deliveries_max = 200;
constexpr std::size_t name_bytes_max = 40;

memory::Options options_for(Dialect dialect) {
  return {.late_errors = dialect == Dialect::postgres,
          .single_writer = dialect == Dialect::sqlite,
          .smallest_gives_up = dialect == Dialect::mariadb};
}

bool can_be_a_name(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes_max &&
         std::ranges::all_of(name, [](unsigned char character) {
           return std::isalnum(character) != 0 || character == '_' || character == '-';
         });
}

WorldSpec checked(WorldSpec spec) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument{"world '" + spec.name + "': " + why};
  };
  if (!can_be_a_name(spec.name)) refuse("a name has letters, digits, '_' and '-', at most 40");
  if (spec.waiters < 0 || spec.waiters > waiters_max) refuse("0 to 2 waiters");
  if (spec.workers < 1 || spec.workers > workers_max) refuse("1 to 8 workers");
  if (spec.deliveries.empty() || spec.deliveries.size() > deliveries_max) {
    refuse("1 to 200 deliveries");
  }
  if (const std::string defect = defect_of(spec.consumer); !defect.empty()) refuse(defect);
  return spec;
}

ClaimMode mode_of(const WorldSpec& spec) {
  if (spec.claim) return *spec.claim;
  const bool optimistic = spec.source == SourceClass::owned_log &&
                          spec.consumer.claim != ClaimMode::claim_first &&
                          spec.dialect != Dialect::sqlite;
  return optimistic ? ClaimMode::optimistic : ClaimMode::claim_first;
}

}  // namespace

Timestamp LabClock::now() {
  return Timestamp{std::chrono::seconds{1'700'000'000}} + jumped_ +
         std::chrono::microseconds{worker_ + 1};
}

std::unique_ptr<Session> Port::connect() {
  auto session = model_.connect();
  session_ = model_.insight().last_session;
  broken_ = false;
  return session;
}
std::unique_ptr<Housekeeping> Port::housekeeping() {
  return model_.housekeeping();
}
std::unique_ptr<Records> Port::records() {
  return model_.records();
}
std::unique_ptr<Decisions> Port::decisions() {
  return model_.decisions();
}
std::unique_ptr<Replays> Port::replays() {
  return model_.replays();
}
std::unique_ptr<Runs> Port::runs() {
  return model_.runs();
}

World::World(const WorldSpec& spec)
    : spec_{checked(spec)},
      model_{memory::open_model(options_for(spec.dialect))},
      broker_{spec.source, spec.deliveries, spec.workers},
      known_(static_cast<std::size_t>(spec.workers + spec.waiters)) {
  for (const auto& [name, amount] : spec_.cells) model_->put(name, amount);
  const std::vector<SourceFactory> sources{broker_.factory(0)};
  const ClaimMode mode = mode_of(spec_);
  const auto housekeeping = model_->housekeeping();
  housekeeping->migrate();
  consumer_id_ = housekeeping->adopt(
      {.name = spec_.consumer.name, .rules = rules_of(spec_.consumer, sources), .mode = mode}, {});
  for (int number = 0; number < spec_.workers; ++number) {
    add_machine(number, broker_.factory(number), mode);
  }
  for (int number = spec_.workers; number < spec_.workers + spec_.waiters; ++number) {
    add_machine(number, {}, ClaimMode::claim_first);
  }
  // Every event's scope is allotted before the first schedule.
  const auto session = model_->connect();
  Identifier identifier{spec_.consumer, consumer_id_, sources.front().name, KeyRule{}};
  for (const Delivery& delivery : broker_.deliveries()) {
    std::vector<Item> items;
    identifier.open(delivery, items);
    identifier.identify(items, *session);
  }
  start_ = model_->snapshot();
}

void World::add_machine(int number, const SourceFactory& source, ClaimMode mode) {
  machines_.push_back(std::make_unique<Machine>(number, *model_));
  Machine& machine = *machines_.back();
  machine.of_waiting = source.open == nullptr;
  machine.subscription =
      std::make_unique<Subscription>(Subscription{.consumer = spec_.consumer,
                                                  .id = consumer_id_,
                                                  .source = source,
                                                  .mode = mode,
                                                  .id_prefixes = {},
                                                  .of_waiting = machine.of_waiting});
}

World::~World() {
  crash_all();
}

void World::reset() {
  crash_all();
  model_->restore(start_);
  model_->let_time_stand();
  broker_.reset();
  for (const auto& machine : machines_) {
    machine->clock.reset();
    machine->port.reset();
    machine->stopped = false;
  }
  for (Known& known : known_) known.fresh = false;
}

Port& World::port(std::size_t number) {
  return machines_[shares_a_session() ? 0 : number]->port;
}

Worker& World::worker(std::size_t number) {
  Machine& machine = *machines_[number];
  if (!machine.worker) {
    Machine& connected = *machines_[shares_a_session() ? 0 : number];
    if (!connected.connection) connected.connection.emplace(connected.port);
    if (machine.of_waiting) {
      machine.subscription->source =
          retry_source(consumer_id_, *connected.connection, machine.clock, {});
    }
    machine.worker.emplace(*machine.subscription, *connected.connection, machine.clock,
                           Worker::Options{.patience = {},
                                           .rerun_max = spec_.rerun_max,
                                           .notify = {},
                                           .number = static_cast<std::uint32_t>(number)});
  }
  return *machine.worker;
}

Step World::next(std::size_t number) const {
  const Machine& machine = *machines_[number];
  return machine.worker ? machine.worker->next() : Step::receive;
}

bool World::has_in_hand(std::size_t number) const {
  const Machine& machine = *machines_[number];
  return machine.worker && !machine.worker->at_rest();
}

const Port& World::port(std::size_t number) const {
  return machines_[shares_a_session() ? 0 : number]->port;
}

bool World::has_transaction(std::size_t number) const {
  return model_->transaction(port(number).session()) != 0;
}

bool World::is_blocked(std::size_t number) const {
  const Machine& machine = *machines_[number];
  return machine.blocked_by != 0 &&
         model_->transaction(machine.blocked_by) == machine.blocked_during;
}

bool World::can_go_on(std::size_t number) const {
  if (machines_[number]->stopped) return false;
  if (!has_in_hand(number)) {
    return machines_[number]->of_waiting ? model_->has_due(consumer_id_)
                                         : broker_.has_work(static_cast<int>(number));
  }
  return !is_blocked(number);
}

namespace {

bool is_dead(const DeferredRecord& row) {
  return row.reason == to_string(DeferralReason::dead) && !row.due_at;
}

}  // namespace

bool World::has_dead() const {
  bool any = false;
  model_->visit([](const InboxRecord&) {},
                [&](const DeferredRecord& row) { any = any || is_dead(row); });
  return any;
}

bool World::has_set_aside() const {
  bool any = false;
  model_->visit([](const InboxRecord&) {}, [&](const DeferredRecord&) { any = true; });
  return any;
}

void World::replay_dead() {
  std::vector<std::int64_t> ids;
  model_->visit([](const InboxRecord&) {},
                [&](const DeferredRecord& row) {
                  if (is_dead(row)) ids.push_back(row.id);
                });
  std::ranges::sort(ids);
  try {
    model_->decisions()->replay(ids, {.who = "person", .reason = "it may work now"});
  } catch (const memory::Blocked&) {
    return;  // Somebody has one of them in hand.
  }
}

void World::discard_first() {
  std::int64_t first = 0;
  model_->visit([](const InboxRecord&) {},
                [&](const DeferredRecord& row) {
                  if (first == 0 || row.id < first) first = row.id;
                });
  try {
    model_->decisions()->discard({&first, 1}, {.who = "person", .reason = "of no use"});
  } catch (const memory::Blocked&) {
    return;  // Somebody has it in hand.
  }
}

void World::crash(std::size_t number) {
  Machine& machine = *machines_[number];
  machine.worker.reset();
  if (!shares_a_session()) machine.connection.reset();
  machine.blocked_by = 0;
  touch(number);
}

void World::crash_all() {
  for (std::size_t number = 0; number < machines_.size(); ++number) crash(number);
  for (const auto& machine : machines_) machine->connection.reset();
}

void World::disconnect(std::size_t number) {
  Port& lost = port(number);
  if (lost.session() == 0) return;
  model_->break_session(lost.session());
  lost.note_broken();
  touch(number);
}

void World::touch(std::size_t number) {
  if (!shares_a_session()) {
    known_[number].fresh = false;
    return;
  }
  for (Known& known : known_) known.fresh = false;
}

World::Known& World::known(std::size_t number) {
  Known& known = known_[number];
  if (known.fresh) return known;
  const Machine& machine = *machines_[number];
  known = {.fresh = true};
  if (machine.worker) {
    const Worker::State state = machine.worker->state();
    known.digest = state.digest;
    known.in_doubt = state.in_doubt;
  }
  known.writes = model_->digest_of_writes(port(number).session());
  return known;
}

std::uint64_t World::digest_of(std::size_t number) {
  StateDigest digest;
  const Known& part = known(number);
  digest.add(part.digest);
  digest.add(part.writes);
  digest.add((port(number).is_broken() ? 2U : 0U) + (machines_[number]->stopped ? 1U : 0U));
  if (!machines_[number]->of_waiting) broker_.add_to(digest, static_cast<int>(number));
  return digest.value();
}

void World::add_to(StateDigest& digest) {
  const std::uint64_t version = model_->insight().versions;
  if (version != committed_version_) {
    committed_version_ = version;
    committed_digest_ = model_->digest(false);
  }
  digest.add(committed_digest_);
  broker_.add_to(digest);
  bool in_doubt = false;
  digests_.clear();
  for (std::size_t number = 0; number < machines_.size(); ++number) {
    in_doubt = in_doubt || known(number).in_doubt;
    digests_.push_back(digest_of(number));
  }
  for (std::size_t number = 0; number < machines_.size(); ++number) {
    if (!is_blocked(number)) continue;
    // Sessions have other numbers in other schedules: who is waited for counts.
    for (std::size_t other = 0; other < machines_.size(); ++other) {
      if (machines_[other]->port.session() != machines_[number]->blocked_by) continue;
      StateDigest blocked;
      blocked.add(digest_of(number));
      blocked.add(digest_of(other));
      digests_[number] = blocked.value();
    }
  }
  std::ranges::sort(digests_);
  for (const std::uint64_t machine : digests_) digest.add(machine);
  if (!in_doubt) return;
  digest.add(model_->digest(true));
  digest.add(static_cast<std::uint64_t>(machines_[0]->clock.now().time_since_epoch().count()));
}

}  // namespace onefold::lab
