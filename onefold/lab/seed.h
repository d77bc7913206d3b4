#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/lab/choice.h"
#include "onefold/lab/world_spec.h"

namespace onefold::lab {

/// A schedule of a world, or of a smaller one made from it, as a text that finds it again:
///
///     A1:pg:k2:e3d1x0.4:NAME:7.2-13.1
///
/// is format A1; PostgreSQL; 2 workers; 3 events and 1 duplicate, after deliveries 0 and 4 of the
/// world were left out; the world's name; at the choice number 7 the option 2, at number 13 the
/// option 1, and 0 at all others.
struct Seed {
  std::string world;
  int workers = 0;
  std::vector<std::size_t> left_out;  ///< Deliveries, ascending.
  Schedule schedule;
};

/// The parts of a seed's text, or of one of its parts, without what stands between them.
std::vector<std::string_view> split_seed(std::string_view text, char by);
std::string to_text(const Seed& seed, const WorldSpec& whole);
/// Throws `std::invalid_argument` if it cannot be read.
Seed seed_from(std::string_view text);
/// The smaller world. What was expected of the whole one is not expected of it.
WorldSpec world_of(const Seed& seed, const WorldSpec& whole);
/// Throws `std::invalid_argument` if there is none of the seed's name.
const WorldSpec& find_world(std::span<const WorldSpec> worlds, const Seed& seed);

}  // namespace onefold::lab
