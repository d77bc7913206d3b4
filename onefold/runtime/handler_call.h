#pragma once

#include <optional>
#include <span>
#include <vector>

#include "onefold/consumer.h"

namespace onefold {

/// Calls a handler for one event. What it throws becomes an answer: `permanent` a reject, anything
/// that is no `Error` a retry. Other errors are nobody's fault and pass through.
Answer answer_to(const Event& event, const HandlerSpec& handler, Context& context);

/// Calls a batch handler for several events, one answer for each. Absent if it has thrown what
/// would be a reject or a retry: whose fault it is, a call for each alone will tell. Throws
/// `bad_configuration` if it gives another number of answers.
std::optional<std::vector<Answer>> answers_to(std::span<const Event* const> events,
                                              const HandlerSpec& handler, Context& context);

}  // namespace onefold
