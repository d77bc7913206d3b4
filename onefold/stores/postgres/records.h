#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "onefold/records.h"
#include "onefold/stores/postgres/connection.h"

namespace onefold::postgres {

/// Opens a connection of its own.
std::unique_ptr<Records> open_records(const Options& options);

std::optional<InboxRecord> select_evidence(Connection& connection, const Key& key);

/// The committed positions of a consumer; of one source, or of all if `source` has no value.
std::vector<Position> select_positions(Connection& connection, ConsumerId consumer,
                                       std::optional<std::string_view> source);

}  // namespace onefold::postgres
