#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "onefold/consumer.h"
#include "onefold/runner.h"
#include "onefold/runtime/careful.h"
#include "onefold/runtime/replay_driver.h"
#include "onefold/runtime/subscription.h"
#include "onefold/runtime/worker.h"

namespace onefold {

/// A consumer whose replays of ranges are driven here.
struct ServedConsumer {
  const Consumer& consumer;
  ConsumerId id = 0;
  std::span<const SourceFactory> sources;
};

/// The temporary workers of replays of ranges: each that runs has one, from when it is noticed to
/// its end. They share the thread and the session of what waits: replays are no hot path.
class RangeWorkers {
 public:
  explicit RangeWorkers(ReplayDriver& driver);
  ~RangeWorkers();

  /// What it refers to must outlive this.
  void serve(const ServedConsumer& served) { served_.emplace(served.consumer.name, served); }
  /// Lets `finish` do a batch of each, ends those that are done, and begins what is new.
  void step(const std::function<void(Worker&)>& finish, const Careful::Surroundings& around);
  /// All of them, also of those that have ended.
  Totals totals() const;
  /// The process ends as it should.
  void end() noexcept;

 private:
  struct Driven;
  void remove_ended();
  void begin(const ReplayRecord& replay, const Careful::Surroundings& around);

  ReplayDriver& driver_;
  std::map<std::string, ServedConsumer> served_;
  std::list<std::unique_ptr<Driven>> driven_;
  Totals ended_;
};

}  // namespace onefold
