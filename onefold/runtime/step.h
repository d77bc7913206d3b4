#pragma once

namespace onefold {

/// The life of a batch, one step at a time: the order of these names is the guarantee.
enum class Step {
  receive,
  identify,
  begin,
  claim,
  handle,
  seal,  ///< Reruns only: the event's statements have finished, so that exactly it is to blame.
  record,
  advance,
  commit,
  acknowledge,
  stopped,
};
const char* to_string(Step step) noexcept;

enum class StepResult {
  progressed,
  idle,     ///< The source had nothing.
  waiting,  ///< After a failure: it is not time yet.
};

}  // namespace onefold
