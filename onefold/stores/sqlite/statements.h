#pragma once

#include "onefold/statements.h"
#include "onefold/stores/sqlite/connection.h"
#include "onefold/stores/sqlite/health.h"

namespace onefold::sqlite {

/// A handler's SQL. Nothing is queued: SQLite is in this process, and waiting costs nothing.
class HandlerStatements final : public Statements {
 public:
  HandlerStatements(Connection& connection, Health& health) noexcept
      : connection_{connection}, health_{health} {}

  void execute(std::string_view sql, Parameters parameters,
               std::optional<std::int64_t> expected_rows) override;
  std::int64_t change(std::string_view sql, Parameters parameters) override;
  Rows query(std::string_view sql, Parameters parameters) override;

 private:
  std::int64_t run(HandlerStatement& prepared, Parameters parameters);

  Connection& connection_;
  Health& health_;
};

}  // namespace onefold::sqlite
