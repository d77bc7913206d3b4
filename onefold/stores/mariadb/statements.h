#pragma once

#include "onefold/statements.h"
#include "onefold/stores/mariadb/connection.h"
#include "onefold/stores/mariadb/health.h"

namespace onefold::mariadb {

/// A handler's SQL. Nothing is queued: the protocol answers each statement before the next.
class HandlerStatements final : public Statements {
 public:
  HandlerStatements(Connection& connection, Health& health) noexcept
      : connection_{connection}, health_{health} {}

  void execute(std::string_view sql, Parameters parameters,
               std::optional<std::int64_t> expected_rows) override;
  std::int64_t change(std::string_view sql, Parameters parameters) override;
  Rows query(std::string_view sql, Parameters parameters) override;

 private:
  HandlerStatement& bind(std::string_view sql, Parameters parameters);
  std::int64_t run(HandlerStatement& prepared);

  Connection& connection_;
  Health& health_;
};

}  // namespace onefold::mariadb
