#pragma once

#include "onefold/statements.h"
#include "onefold/stores/postgres/connection.h"
#include "onefold/stores/postgres/health.h"

namespace onefold::postgres {

/// A handler's SQL. `execute` is queued.
class HandlerStatements final : public Statements {
 public:
  HandlerStatements(Connection& connection, Health& health) noexcept
      : connection_{connection}, health_{health} {}

  void execute(std::string_view sql, Parameters parameters,
               std::optional<std::int64_t> expected_rows) override;
  std::int64_t change(std::string_view sql, Parameters parameters) override;
  Rows query(std::string_view sql, Parameters parameters) override;

 private:
  Command command_for(std::string_view sql, Parameters parameters);

  Connection& connection_;
  Health& health_;
};

}  // namespace onefold::postgres
