#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace onefold {

/// SQL NULL.
using Null = std::monostate;
/// A value on its way into or out of SQL. Decimals, timestamps and UUIDs travel as text. NaN is
/// refused (SQLite would store NULL); out of SQLite no `bool` comes, but the integers 0 and 1.
using Value = std::variant<Null, std::int64_t, double, bool, std::string, std::vector<std::byte>>;
struct Parameter {
  std::string_view name;  ///< Without the colon. One that the statement does not use is ignored.
  Value value;
};

/// Parameters of one call: `{{"account", 7}, {"amount", 10}}`, a vector or a span. Lives until the
/// call returns.
class Parameters {
 public:
  Parameters() = default;
  Parameters(std::initializer_list<Parameter> list) : view_{list.begin(), list.size()} {}
  Parameters(std::span<const Parameter> view) : view_{view} {}
  Parameters(const std::vector<Parameter>& list) : view_{list} {}
  std::span<const Parameter> view() const noexcept { return view_; }

 private:
  std::span<const Parameter> view_;
};

using Rows = std::vector<std::vector<Value>>;

/// What a handler may use: SQL in the batch's transaction, with parameters named ":account".
///
/// One statement a call, prepared once and kept. A parameter that is not given is `permanent`; a
/// statement that the database cannot prepare is `bad_configuration`, and blames no event.
///
/// A call that threw has poisoned the transaction: every later call throws again until the runtime
/// has rolled back, even if the handler caught the first error (traps.md, four silent losses).
class Statements {
 public:
  virtual ~Statements() = default;
  /// May be queued. A failure, and a row count other than the one expected, surfaces at the next
  /// call that waits, at the runtime's savepoint, or at commit.
  virtual void execute(std::string_view sql, Parameters parameters,
                       std::optional<std::int64_t> expected_rows = {}) = 0;
  /// Waits, and returns the number of rows changed; those of triggers do not count.
  virtual std::int64_t change(std::string_view sql, Parameters parameters) = 0;
  /// Waits, and returns all rows: for SELECT and RETURNING. There is no limit but the statement's.
  virtual Rows query(std::string_view sql, Parameters parameters) = 0;
};

}  // namespace onefold
