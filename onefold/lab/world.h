#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "onefold/clock.h"
#include "onefold/lab/broker.h"
#include "onefold/lab/world_spec.h"
#include "onefold/runtime/worker.h"
#include "onefold/stores/memory/memory.h"

namespace onefold::lab {

/// Wall time stands still unless it jumps; no two workers ever read the same. Pauses are over as
/// soon as they have begun: the scheduler need not choose the worker.
class LabClock final : public Clock {
 public:
  explicit LabClock(int worker) : worker_{worker} {}
  Timestamp now() override;
  std::chrono::steady_clock::time_point ticks() override { return ticks_; }
  void end_pause() { ticks_ += std::chrono::seconds{10}; }
  void jump(std::chrono::seconds time) { jumped_ += time; }
  void reset() { jumped_ = std::chrono::seconds{0}; }

 private:
  int worker_;
  std::chrono::seconds jumped_{0};
  std::chrono::steady_clock::time_point ticks_{std::chrono::hours{1}};
};

/// The way of one process to the database. Notes the numbers of its sessions.
class Port final : public Store {
 public:
  explicit Port(memory::Model& model) : model_{model} {}
  StoreTraits traits() const override { return model_.traits(); }
  std::unique_ptr<Session> connect() override;
  std::unique_ptr<Housekeeping> housekeeping() override;
  std::unique_ptr<Records> records() override;
  std::unique_ptr<Decisions> decisions() override;
  std::unique_ptr<Replays> replays() override;
  std::unique_ptr<Runs> runs() override;
  /// Of the last one; 0: there was none since the start.
  int session() const noexcept { return session_; }
  bool is_broken() const noexcept { return broken_; }
  void note_broken() noexcept { broken_ = session_ != 0; }
  void reset() noexcept {
    session_ = 0;
    broken_ = false;
  }

 private:
  memory::Model& model_;
  int session_ = 0;
  bool broken_ = false;  ///< The session is lost; its worker may not know yet.
};

/// One worker of a world, from its birth to its crash and again.
struct Machine {
  Machine(int number, memory::Model& model) : clock{number}, port{model} {}
  LabClock clock;
  Port port;
  std::unique_ptr<Subscription> subscription;
  std::optional<Connection> connection;  ///< On SQLite that of the first one serves all.
  std::optional<Worker> worker;
  bool stopped = false;
  bool of_waiting = false;           ///< It serves the waiting room.
  int blocked_by = 0;                ///< The session.
  std::uint64_t blocked_during = 0;  ///< Its transaction.
};

/// A database, a broker and workers, built once and set back for each schedule.
class World {
 public:
  /// Throws `std::invalid_argument` if the description cannot work.
  explicit World(const WorldSpec& spec);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void reset();

  const WorldSpec& spec() const noexcept { return spec_; }
  memory::Model& model() noexcept { return *model_; }
  Broker& broker() noexcept { return broker_; }
  const Broker& broker() const noexcept { return broker_; }
  std::size_t size() const noexcept { return machines_.size(); }
  /// The first ones have the broker, the others the waiting room.
  std::size_t readers() const noexcept { return static_cast<std::size_t>(spec_.workers); }
  Machine& machine(std::size_t number) { return *machines_[number]; }
  ConsumerId consumer_id() const noexcept { return consumer_id_; }

  bool shares_a_session() const noexcept { return spec_.dialect == Dialect::sqlite; }
  Port& port(std::size_t number);
  const Port& port(std::size_t number) const;
  /// What the machine is about to do; `receive` if there is no worker yet.
  Step next(std::size_t number) const;
  bool has_in_hand(std::size_t number) const;
  bool has_transaction(std::size_t number) const;
  bool is_blocked(std::size_t number) const;
  /// It could do a step now.
  bool can_go_on(std::size_t number) const;
  Worker& worker(std::size_t number);

  // What a person does. Nothing, where somebody has the rows just then.
  bool has_dead() const;
  bool has_set_aside() const;
  void replay_dead();
  void discard_first();

  void crash(std::size_t number);
  void crash_all();
  void disconnect(std::size_t number);
  /// Everything the rest of a schedule depends on, but for what its faults may still do. Workers
  /// that have changed their places make no difference: none of them is special.
  void add_to(StateDigest& digest);
  /// Its next step neither sees nor changes anything that others see.
  bool is_alone(std::size_t number) const { return machines_[number]->worker->is_alone(); }
  /// Called after a machine has done something, so that its digest is taken anew.
  void touch(std::size_t number);

 private:
  void add_machine(int number, const SourceFactory& source, ClaimMode mode);

  /// What is known of a part, so that it need not be read again.
  struct Known {
    std::uint64_t digest = 0;
    std::uint64_t writes = 0;
    bool in_doubt = false;
    bool fresh = false;
  };
  Known& known(std::size_t number);
  std::uint64_t digest_of(std::size_t number);

  const WorldSpec spec_;
  std::unique_ptr<memory::Model> model_;
  Broker broker_;
  ConsumerId consumer_id_ = 0;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<Known> known_;
  std::shared_ptr<const void> start_;
  std::vector<std::uint64_t> digests_;  ///< Of each machine; kept for its memory.
  std::uint64_t committed_version_ = 0;
  std::uint64_t committed_digest_ = 0;
};

}  // namespace onefold::lab
