#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"

namespace onefold::cli {

/// What becomes of events that were set aside while a command applies them.
class Fates {
 public:
  /// Remembers what they are, before anybody takes them. `opened` must outlive this.
  Fates(const OpenedStore& opened, const std::vector<std::int64_t>& ids);

  /// About these of them.
  void find_out(const std::vector<std::int64_t>& ids);
  /// "2 applied, 1 dead"; ends with a line break. Empty if there are no events.
  std::string text() const;
  /// How many ended how, and the numbers of those that are still set aside.
  Json json() const;
  /// Tells why, of those that are still set aside.
  void complain_about_failures() const;
  bool all_applied() const noexcept { return left_.empty(); }
  /// The consumers of those that are still set aside.
  const std::set<std::string>& consumers_left() const noexcept { return consumers_left_; }

 private:
  struct Left {
    std::int64_t id = 0;
    std::string why;
  };

  const OpenedStore& opened_;
  std::map<std::int64_t, Key> events_;
  std::map<std::string, std::int64_t> counts_;  ///< By the name of an outcome, or "settled".
  std::vector<Left> left_;
  std::set<std::string> consumers_left_;
};

}  // namespace onefold::cli
