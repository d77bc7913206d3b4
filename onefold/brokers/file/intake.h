#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/brokers/file/splitter.h"

namespace onefold::file {

/// Deliveries on their way out of one call of `receive`.
class Batch {
 public:
  /// Beside the number of deliveries their bytes are limited too, so that a batch of the largest
  /// events does not need gigabytes (P12).
  static constexpr std::size_t bytes_max = 8 << 20;

  explicit Batch(std::size_t limit) : limit_{limit} {}
  void add(Delivery delivery);
  bool full() const noexcept { return deliveries_.size() >= limit_ || bytes_ >= bytes_max; }
  bool empty() const noexcept { return deliveries_.empty(); }
  std::vector<Delivery> release() { return std::move(deliveries_); }

 private:
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::vector<Delivery> deliveries_;
};

/// Makes deliveries of elements. Used by one thread.
class Intake {
 public:
  explicit Intake(const Options& options);

  /// Without a position.
  Delivery deliver(const Element& element);
  /// Whether a last line without line end is one JSON value: then the end of the file ends it.
  bool is_complete(const Element& element);

 private:
  std::unique_ptr<Decoder> decoder_;
  JsonDocument document_;
  std::size_t event_bytes_max_;
};

/// What to tell a person about what was left at the end of `path`. Only if it is not clean.
std::string describe(const Rest& rest, const std::string& path);

}  // namespace onefold::file
