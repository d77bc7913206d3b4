#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/lab/choice.h"
#include "onefold/lab/trial/trial.h"

namespace onefold::lab {

/// A schedule of a trial as a text that finds it again:
///
///     T1:kept:e6x0.4:d20788:3fa2c1d0:7.2-13.1
///
/// is format 1; sources keep their order ("any": they do not); at most 6 events of each source,
/// without the events 0 and 4; the day that SQL takes for today; a digest of the events; at the
/// choice number 7 the option 2, at number 13 the option 1, and 0 at all others ("0": at all).
struct TrialSeed {
  bool any_order = false;
  std::size_t events_max = 0;
  std::vector<std::size_t> left_out = {};  ///< Ascending.
  std::int64_t day = 0;
  std::uint32_t digest = 0;
  Schedule schedule = {};
};

std::string to_text(const TrialSeed& seed);
/// Throws `std::invalid_argument` if it cannot be read.
TrialSeed trial_seed_from(std::string_view text);
/// Of the events that were chosen.
std::uint32_t digest_of(const TrialSpec& spec);

}  // namespace onefold::lab
