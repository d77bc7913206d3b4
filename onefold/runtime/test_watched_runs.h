#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/decisions.h"
#include "onefold/error.h"
#include "onefold/housekeeping.h"
#include "onefold/records.h"
#include "onefold/replays.h"
#include "onefold/runs.h"
#include "onefold/store.h"

namespace onefold::test {

/// Tells what another store's runs tell, but for what a test wants otherwise.
class WatchedRuns final : public Runs {
 public:
  struct Wishes {
    std::function<void()> before_bury = {};
    std::function<void(RunRecord&)> told = {};  ///< Changes what `open` returns.
    int failures = 0;                           ///< Of the next calls, whichever they are.
    int opened = 0;                             ///< How often there was one.
    std::vector<int> sizes_held = {};
  };

  WatchedRuns(std::unique_ptr<Runs> inner, Wishes& wishes)
      : inner_{std::move(inner)}, wishes_{wishes} {
    ++wishes_.opened;
  }
  RunId begin(const RunStart& start) override {
    fail_perhaps();
    return inner_->begin(start);
  }
  std::vector<RunRecord> open(ConsumerId consumer, std::string_view source) override {
    fail_perhaps();
    std::vector<RunRecord> found = inner_->open(consumer, source);
    if (wishes_.told) {
      for (RunRecord& run : found) wishes_.told(run);
    }
    return found;
  }
  bool bury(RunId id, const Burial& burial) override {
    fail_perhaps();
    if (wishes_.before_bury) std::exchange(wishes_.before_bury, {})();
    return inner_->bury(id, burial);
  }
  Caution caution(ConsumerId consumer, std::string_view source) override {
    fail_perhaps();
    return inner_->caution(consumer, source);
  }
  void hold(RunId id, int size, const std::optional<Key>& in_hand) override {
    fail_perhaps();
    wishes_.sizes_held.push_back(size);
    inner_->hold(id, size, in_hand);
  }
  void relax(ConsumerId consumer, std::string_view source, std::span<const Key> settled) override {
    fail_perhaps();
    inner_->relax(consumer, source, settled);
  }
  void end(RunId id) override {
    fail_perhaps();
    inner_->end(id);
  }

 private:
  void fail_perhaps() {
    if (wishes_.failures == 0) return;
    --wishes_.failures;
    throw Error{ErrorKind::unavailable, "the database is away, says the test"};
  }

  std::unique_ptr<Runs> inner_;
  Wishes& wishes_;
};

class WatchedStore final : public Store {
 public:
  WatchedStore(Store& inner, WatchedRuns::Wishes& wishes) : inner_{inner}, wishes_{wishes} {}
  StoreTraits traits() const override {
    StoreTraits traits = inner_.traits();
    traits.one_connection = one_connection;
    return traits;
  }
  std::unique_ptr<Session> connect() override { return inner_.connect(); }
  std::unique_ptr<Housekeeping> housekeeping() override { return inner_.housekeeping(); }
  std::unique_ptr<Records> records() override { return inner_.records(); }
  std::unique_ptr<Decisions> decisions() override { return inner_.decisions(); }
  std::unique_ptr<Replays> replays() override { return inner_.replays(); }
  std::unique_ptr<Runs> runs() override {
    return std::make_unique<WatchedRuns>(inner_.runs(), wishes_);
  }
  bool one_connection = false;

 private:
  Store& inner_;
  WatchedRuns::Wishes& wishes_;
};

}  // namespace onefold::test
