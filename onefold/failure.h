#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// Why an event could not be applied, and what is done about it. docs/failures.md has the table.
namespace onefold {

/// What kind of thing failed. Stored with the event; the circuit breaker counts each by itself.
enum class FailureClass {
  undecodable,  ///< The bytes are no event.
  unsupported,  ///< No handler wants its type.
  key,          ///< It does not have what its key is made of.
  rejected,     ///< The handler has decided so.
  transient,    ///< The handler asks for another try, or has thrown.
  constraint,   ///< A constraint of the business tables refuses.
  data,         ///< A value is missing, or does not fit.
  rows,         ///< A statement has changed another number of rows than expected.
  statement,    ///< Another failure of a handler's statement.
  crash,        ///< The process has died while handling it.
};
inline constexpr std::size_t failure_class_count = 10;

/// The stable name, as stored, printed and configured.
const char* to_string(FailureClass failure) noexcept;
/// The reverse of `to_string`; absent for an unknown name.
std::optional<FailureClass> failure_class_from(std::string_view name) noexcept;

/// What may be tried again at all: what a handler has met, and not what the event itself lacks.
bool may_be_retried(FailureClass failure) noexcept;
/// What many events can have in common without being at fault: a bad deployment, a missing column.
/// What is wrong with the events themselves never trips the breaker.
bool trips_breaker(FailureClass failure) noexcept;

/// When an event that failed is tried again, and how often. Only failures under the event's own
/// claim count; what is the database's or the network's fault uses up nobody's attempts.
struct RetryPolicy {
  int attempts = 5;                                   ///< In all, 1 to 1,000; then it is dead.
  std::chrono::milliseconds initial{1'000};           ///< Before the second one.
  double factor = 2;                                  ///< By which each pause is longer, 1 to 100.
  std::chrono::milliseconds longest{5 * 60 * 1'000};  ///< Not shorter than `initial`.
  double jitter = 0.2;  ///< By what part pauses differ, 0 to 1, so that not all return at once.
  /// Dead at the first failure. Of these only `transient`, `constraint`, `data`, `rows`,
  /// `statement` and `crash` can be chosen; others always are.
  std::vector<FailureClass> permanent = {FailureClass::constraint, FailureClass::data,
                                         FailureClass::rows, FailureClass::statement};

  bool operator==(const RetryPolicy&) const = default;
};

/// Why a policy cannot work; empty if it can.
std::string_view defect_of(const RetryPolicy& policy) noexcept;

/// When a consumer pauses by itself: if more than `failures` of its last `window` different events
/// failed for the same class, it is not the events' fault.
struct BreakerRule {
  int failures = 25;
  int window = 50;                          ///< At most 1,000; 0: never.
  std::chrono::milliseconds probe{30'000};  ///< Between two tries of one event while it is paused.

  bool operator==(const BreakerRule&) const = default;
};

/// Why a rule cannot work; empty if it can.
std::string_view defect_of(const BreakerRule& rule) noexcept;

}  // namespace onefold
