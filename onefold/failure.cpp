#include "onefold/failure.h"

#include <algorithm>

namespace onefold {
namespace {

constexpr std::array<const char*, failure_class_count> names{
    "undecodable", "unsupported", "key",  "rejected",  "transient",
    "constraint",  "data",        "rows", "statement", "crash"};

constexpr int attempts_limit = 1'000;
constexpr int window_limit = 1'000;
constexpr double factor_limit = 100;

}  // namespace

const char* to_string(FailureClass failure) noexcept {
  return names.at(static_cast<std::size_t>(failure));
}

std::optional<FailureClass> failure_class_from(std::string_view name) noexcept {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<FailureClass>(found - names.begin());
}

bool may_be_retried(FailureClass failure) noexcept {
  return failure >= FailureClass::transient;
}

bool trips_breaker(FailureClass failure) noexcept {
  return failure >= FailureClass::transient;
}

std::string_view defect_of(const RetryPolicy& policy) noexcept {
  if (policy.attempts < 1 || policy.attempts > attempts_limit) return "attempts: 1 to 1,000";
  if (policy.initial.count() < 1) return "initial: at least 1 ms";
  if (policy.longest < policy.initial) return "longest: not shorter than initial";
  // Neither can be said of what is not a number.
  const bool has_factor = policy.factor >= 1 && policy.factor <= factor_limit;
  const bool has_jitter = policy.jitter >= 0 && policy.jitter <= 1;
  if (!has_factor) return "factor: 1 to 100";
  if (!has_jitter) return "jitter: 0 to 1";
  const bool chosen = std::ranges::all_of(policy.permanent, may_be_retried);
  return chosen ? "" : "permanent: transient, constraint, data, rows, statement or crash";
}

std::string_view defect_of(const BreakerRule& rule) noexcept {
  if (rule.window < 0 || rule.window > window_limit) return "window: 0 to 1,000";
  if (rule.window == 0) return {};
  if (rule.failures < 1 || rule.failures >= rule.window) {
    return "failures: at least 1, and less than the window";
  }
  return rule.probe.count() < 1 ? "probe: at least 1 ms" : "";
}

}  // namespace onefold
