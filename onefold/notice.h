#pragma once

#include <functional>
#include <string>

namespace onefold {

enum class Severity {
  info,     ///< Worth knowing: a file was replaced and is read from its start.
  warning,  ///< Something failed and is being repeated.
  problem,  ///< A person should look: input that could not be read. `run` then exits with 1.
};

/// Something a person should be told while the work goes on.
struct Notice {
  Severity severity = Severity::info;
  std::string text;  ///< What happened, where, what to do. Never an event's data.
};

/// Called on the thread that runs the worker, between its steps: what takes long holds it up. Must
/// not throw.
using Notify = std::function<void(const Notice&)>;

/// Writes "onefold: warning: ..." to standard error: what `Runner` does unless it is told
/// otherwise.
void to_standard_error(const Notice& notice);

}  // namespace onefold
