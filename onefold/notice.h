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
/// not throw. Without one, what is said is lost: a database that is away is waited for in silence.
using Notify = std::function<void(const Notice&)>;

}  // namespace onefold
