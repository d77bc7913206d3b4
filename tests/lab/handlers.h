#pragma once

#include "onefold/consumer.h"

/// What the consumers of the lab's worlds do. None of them keeps anything between calls.
namespace onefold::lab::worlds {

/// Adds the event's amount to the cell that its subject names.
Answer credit(const Event& event, Context& context);
/// The cell becomes the event's amount: the last one wins.
Answer replace(const Event& event, Context& context);
/// As `credit`, and then it refuses the event after all.
Answer credit_and_regret(const Event& event, Context& context);
/// As `credit` for several events; refuses those for cell "none", after it has applied the others.
std::vector<Answer> credit_together(std::span<const Event* const> events, Context& context);
/// Counts in cell C; refuses events for cell "B".
Answer count_most(const Event& event, Context& context);
/// Refuses without having touched the database: for ever, or as a retry.
Answer reject(const Event& event, Context& context);
Answer ask_for_retries(const Event& event, Context& context);
/// As `credit`, once there is something in cell B; until then it asks for a retry, before or after
/// it has touched what it changes.
Answer credit_after_b(const Event& event, Context& context);
Answer credit_and_ask_for_b(const Event& event, Context& context);
/// As `replace`, and asks for B as `credit_after_b` does.
Answer replace_after_b(const Event& event, Context& context);
/// Ignores that its statement has failed.
Answer swallow_a_failure(const Event& event, Context& context);
/// As if it had ended the transaction.
Answer break_the_contract(const Event& event, Context& context);

}  // namespace onefold::lab::worlds
