#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/error.h"

namespace onefold::file {

/// For tests: a source with the surroundings it needs, and a database that knows positions alone.
class Subject {
 public:
  explicit Subject(Options options) : factory_{source(std::move(options))} { open(); }

  /// As after a restart of the process.
  void open() {
    source_.reset();
    source_ =
        factory_.open({.positions = [this] { return look_up(); },
                       .notify = [this](const Notice& notice) { notices.push_back(notice); }});
  }
  Source& operator*() const { return *source_; }
  Source* operator->() const { return source_.get(); }

  std::vector<Delivery> receive(std::size_t limit = 1000, int patience_ms = 0) {
    return source_->receive(limit, std::chrono::milliseconds{patience_ms});
  }
  /// Everything there is, however many calls it takes.
  std::vector<Delivery> drain(std::size_t limit = 1000) {
    std::vector<Delivery> all;
    do {
      for (Delivery& delivery : receive(limit)) all.push_back(std::move(delivery));
    } while (!source_->at_end());
    return all;
  }
  /// As the store does: forward, never back.
  void commit(const Delivery& delivery) {
    const Position& reached = delivery.position.value();
    for (Position& position : stored) {
      if (*position.partition != *reached.partition) continue;
      if (reached.next <= position.next) return;
      position.next = position.at = reached.next;
      position.mark = reached.mark;
      return;
    }
    stored.push_back({reached.partition, reached.next, reached.next, reached.mark});
  }
  void commit(const std::vector<Delivery>& deliveries) {
    for (const Delivery& delivery : deliveries) commit(delivery);
  }
  std::size_t count(Severity severity) const {
    return static_cast<std::size_t>(std::ranges::count(
        notices, severity, [](const Notice& notice) { return notice.severity; }));
  }

  std::vector<Position> stored;
  std::vector<Notice> notices;
  int failures = 0;  ///< So many look-ups fail.

 private:
  std::vector<Position> look_up() {
    if (failures > 0) {
      --failures;
      throw Error{ErrorKind::unavailable, "the database is away"};
    }
    return stored;
  }

  SourceFactory factory_;
  std::unique_ptr<Source> source_;
};

/// One event of the plain kind that the tests use.
inline std::string event(const std::string& id) {
  return R"({"id":")" + id + R"(","type":"t"})";
}
inline Options options(const std::string& path) {
  return {.name = "orders",
          .path = path,
          .format = Format::json,
          .identity = {.id = "/id", .source = "literal:shop", .type = "/type"}};
}
/// The ids, or the code of the defect.
inline std::vector<std::string> ids(const std::vector<Delivery>& deliveries) {
  std::vector<std::string> result;
  for (const Delivery& delivery : deliveries) {
    result.push_back(delivery.defect.empty()
                         ? delivery.event.id
                         : delivery.defect.substr(0, delivery.defect.find(':')));
  }
  return result;
}
using Ids = std::vector<std::string>;

}  // namespace onefold::file
