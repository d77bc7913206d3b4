#pragma once

#include <memory>
#include <vector>

#include "onefold/evidence.h"
#include "onefold/lab/trial/copies.h"
#include "onefold/lab/trial/reader.h"
#include "onefold/lab/trial/sqlite_time.h"
#include "onefold/lab/trial/trial.h"
#include "onefold/store.h"

namespace onefold::lab {

/// What all schedules of a trial start from: the events that were chosen, and a copy of the
/// database that knows the consumers and none of the events.
class Setting {
 public:
  /// Throws `Error`.
  explicit Setting(const TrialSpec& spec);

  /// With the chosen events alone.
  const TrialSpec& spec() const noexcept { return spec_; }
  std::size_t events() const noexcept;
  Copies& copies() noexcept { return copies_; }
  SqliteTime& time() noexcept { return time_; }
  Store& store() noexcept { return *store_; }
  ConsumerId consumer_id(std::size_t consumer) const { return consumer_ids_[consumer]; }
  /// Whether the subscription's consumer has claimed the event.
  bool is_decided(Reader& reader, std::size_t subscription, std::size_t event) const;

 private:
  using Keys = std::vector<Key>;
  std::vector<SourceFactory> sources_of(std::size_t consumer) const;
  void adopt();
  void choose_events();
  void choose_events(std::size_t source, Reader& reader);
  Keys keys_of(std::size_t subscription, const Delivery& delivery);
  void forget_evidence();

  TrialSpec spec_;
  SqliteTime time_;
  Copies copies_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Session> session_;
  std::vector<ConsumerId> consumer_ids_;
  std::vector<std::vector<Keys>> keys_;  ///< By subscription and event.
};

}  // namespace onefold::lab
