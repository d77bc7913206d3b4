#pragma once

#include <string>
#include <vector>

#include "onefold/lab/lab.h"

/// Worlds of the disorder lab that the tests explore, named after what they are about.
namespace onefold::lab::worlds {

/// An event that adds `amount` to `cell`. Where there is no such cell its handler refuses it, after
/// it has touched the database.
Delivery payment(const std::string& id, const std::string& cell = "A", int amount = 10);
Delivery undecodable(const std::string& raw);
/// The same of another type.
Delivery typed(Delivery delivery, const std::string& type);
/// 3 events and a duplicate; two workers; batches of two.
WorldSpec payments(std::string name, SourceClass source);
/// Applies payments.
Consumer billing(std::size_t batch_max);

/// One or several events each, two workers, all of the faults that matter to the promise.
std::vector<WorldSpec> of_effects();     ///< P1, P3: queues, logs, zombies, broken sessions.
std::vector<WorldSpec> of_answers();     ///< P2, P4: commits and acknowledgements.
std::vector<WorldSpec> of_refusals();    ///< P9: reruns and dead letters.
std::vector<WorldSpec> of_restores();    ///< P10.
std::vector<WorldSpec> of_identities();  ///< P11, keys and scopes.
std::vector<WorldSpec> of_dialects();    ///< Deadlocks, turns.
/// Retry, release, replay and redelivery of what waits.
std::vector<WorldSpec> of_waiting();
std::vector<WorldSpec> of_waiting_in_order();  ///< P5.

std::vector<WorldSpec> all();

}  // namespace onefold::lab::worlds
