#pragma once

#include "onefold/consumer.h"
#include "onefold/daemon/config.h"

namespace onefold {

/// A handler that runs the statements of `config` with typed parameters from the event's data.
///
/// All parameters are read before the first statement runs, so that an event with a missing or
/// mistyped one is rejected without touching the database. Built in are :event_id, :event_source,
/// :event_type, :event_subject (NULL if absent), :event_time (UTC text, NULL if absent) and :data
/// (text for JSON and text types, otherwise bytes; NULL if absent).
///
/// With a `result`, the last statement must return exactly one row if a column of it is needed; the
/// answer then carries the evidence as one JSON object.
///
/// What a statement's failure means is the store's to say; here it only gets the statement's
/// number added. Copies share one parser: used by one thread.
HandlerSpec sql_handler(const HandlerConfig& config);

/// The whole consumer, with all its handlers. Under a business key, two events are compared by the
/// handler's parameters alone.
Consumer sql_consumer(const ConsumerConfig& config);

}  // namespace onefold
