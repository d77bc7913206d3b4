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
  /// Makes room for one more delivery, and lets `fill` write it where it stays.
  template <class Fill>
  void add(Fill&& fill) {
    if (deliveries_.empty()) deliveries_.reserve(limit_ < reserved_max ? limit_ : reserved_max);
    Delivery& delivery = deliveries_.emplace_back();
    std::forward<Fill>(fill)(delivery);
    bytes_ += delivery.raw.size();
  }
  bool full() const noexcept { return deliveries_.size() >= limit_ || bytes_ >= bytes_max; }
  bool empty() const noexcept { return deliveries_.empty(); }
  std::vector<Delivery> release() { return std::move(deliveries_); }

 private:
  static constexpr std::size_t reserved_max = 1024;

  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::vector<Delivery> deliveries_;
};

/// Makes deliveries of elements. Used by one thread.
class Intake {
 public:
  explicit Intake(const Options& options);

  /// Fills a new delivery, but for its position.
  void deliver(const Element& element, Delivery& delivery);
  /// Gives a delivery its position, and its id if that is made of it.
  void place(Delivery& delivery, Position position) const;
  /// Whether a last line without line end is one JSON value: then the end of the file ends it.
  bool is_complete(const Element& element);

 private:
  std::unique_ptr<Decoder> decoder_;
  JsonDocument document_;
  std::size_t event_bytes_max_;
  bool id_from_position_;
};

/// What to tell a person about what was left at the end of `path`. Only if it is not clean.
std::string describe(const Rest& rest, const std::string& path);
/// The same about an array in a file that is followed: more may come.
std::string describe_stuck(const Rest& rest, const std::string& path);

}  // namespace onefold::file
