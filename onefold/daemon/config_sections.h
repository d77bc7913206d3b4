#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config.h"
#include "onefold/daemon/toml_reader.h"

/// The parts of `parse_config`, one source file each.
namespace onefold {

/// [source.NAME].
SourceConfig read_source(const std::string& name, const toml::table& table, ConfigReading& reading);

/// [consumer.NAME]; its sources must be among those that were declared.
ConsumerConfig read_consumer(const std::string& name, const toml::table& table,
                             const std::map<std::string, SourceConfig>& sources,
                             ConfigReading& reading);

/// [[consumer.NAME.handler]]. `label` names it in messages.
HandlerConfig read_handler(const toml::table& table, const std::string& label,
                           const RetryPolicy& retry_of_consumer, ConfigReading& reading);

/// `retry` of a consumer or a handler; what does not stand there is as `otherwise` says.
RetryPolicy read_retry(const TableReader& owner, const std::string& schema_path,
                       const RetryPolicy& otherwise);
/// [consumer.NAME.breaker].
BreakerRule read_breaker(const TableReader& consumer);
/// [consumer.NAME.order], if it is there.
std::optional<OrderRule> read_order(const TableReader& consumer);

/// [consumer.NAME.invariant.NAME], if there are any.
std::vector<InvariantConfig> read_invariants(const TableReader& consumer,
                                             const std::string& consumer_name);

/// `key`: what must happen once. Empty if it is absent, wrong, or the event alone.
std::vector<KeySpec> read_keys(const TableReader& reader);

/// `result`: what is kept as evidence, from the parameters and the last statement of a handler that
/// has been read so far.
void read_result(const TableReader& reader, HandlerConfig& handler);

/// Whether a name can stand behind a colon in a statement.
bool is_parameter_name(const std::string& name);

/// All that is in force, with where it comes from, in the order in which a file would have it.
std::vector<EffectiveKey> effective_keys(const toml::table& root, const ConfigReading& reading);

}  // namespace onefold
