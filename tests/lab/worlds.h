#pragma once

#include <string>
#include <vector>

#include "onefold/lab/lab.h"

/// Worlds of the disorder lab that the tests explore, each named after the promises it is about.
namespace onefold::lab::worlds {

/// An event that adds `amount` to `cell`; what is no cell is refused.
Delivery payment(const std::string& id, const std::string& cell = "A", int amount = 10);
Delivery undecodable(const std::string& raw);
/// Adds what `payment` says.
Consumer billing(std::size_t batch_max);

/// 2 workers, 3 events and a duplicate: a crash, a commit in doubt and a lost acknowledgement.
WorldSpec p1_queue();
WorldSpec p1_log();

/// All of the above and more, each of which closes.
std::vector<WorldSpec> closed();

}  // namespace onefold::lab::worlds
