#include "onefold/daemon/sql_handler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/daemon/sql_text.h"
#include "onefold/error.h"
#include "onefold/formats/fields.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

Value text_or_null(const std::string& text) {
  return text.empty() ? Value{Null{}} : Value{text};
}

/// Types whose data is text for the database too. Others may hold any bytes.
bool is_text(std::string_view content_type) noexcept {
  return is_json(content_type) || content_type.starts_with("text/");
}

Value data_value(const Event& event) {
  if (!event.data) return Null{};
  if (is_text(event.content_type)) return *event.data;
  const auto bytes = std::as_bytes(std::span{*event.data});
  return std::vector<std::byte>{bytes.begin(), bytes.end()};
}

Value builtin_value(std::string_view name, const Event& event) {
  if (name == "event_id") return event.id;
  if (name == "event_source") return event.source;
  if (name == "event_type") return event.type;
  if (name == "event_subject") return text_or_null(event.subject);
  if (name == "event_time") {
    return event.time ? Value{format_rfc3339(*event.time)} : Value{Null{}};
  }
  return data_value(event);
}

class SqlHandler {
 public:
  explicit SqlHandler(const HandlerConfig& config) : config_{config} {
    for (const StatementConfig& statement : config_.statements) {
      for (const std::string& name : statement.parameters) use(name);
    }
  }

  Answer handle(const Event& event, Context& context) {
    try {
      read(event);
    } catch (const Error& error) {
      // An answer, not an exception: nothing has been executed that would have to be undone.
      if (error.kind() != ErrorKind::permanent) throw;
      return Answer::reject(error.what());
    }
    for (std::size_t i = 0; i < config_.statements.size(); ++i) run(i, context);
    return Answer::done();
  }

 private:
  /// A parameter that some statement uses: from the data, or built in if it has no definition.
  struct Slot {
    std::string name;
    const ParameterConfig* definition = nullptr;
  };

  void use(const std::string& name) {
    if (std::ranges::find(slots_, name, &Slot::name) != slots_.end()) return;
    const auto defined = std::ranges::find(config_.parameters, name, &ParameterConfig::name);
    const bool from_data = defined != config_.parameters.end();
    slots_.push_back({name, from_data ? &*defined : nullptr});
    needs_data_ = needs_data_ || from_data;
  }

  /// All parameters of all statements: each statement finds its own by name.
  void read(const Event& event) {
    if (needs_data_) parse(event);
    parameters_.clear();
    for (const Slot& slot : slots_) {
      parameters_.push_back({slot.name, slot.definition == nullptr
                                            ? builtin_value(slot.name, event)
                                            : field_value(*slot.definition)});
    }
  }

  void parse(const Event& event) {
    if (!event.data) throw Error{ErrorKind::permanent, "the event has no data to read from"};
    if (!is_json(event.content_type)) {
      throw Error{ErrorKind::permanent, "the event's data is " + printable(event.content_type, 80) +
                                            ", and parameters are read from JSON only"};
    }
    if (!document_.parse(*event.data)) {
      throw Error{ErrorKind::permanent, "the event's data cannot be read: " + document_.defect()};
    }
  }

  Value field_value(const ParameterConfig& parameter) {
    std::string why;
    try {
      if (auto value = extract(document_.root(), parameter.at, parameter.type)) return *value;
      if (!parameter.required) return Null{};
      why = "there is no value at \"" + parameter.at + "\", and it is required";
    } catch (const Error& error) {
      why = error.what();
    }
    throw Error{ErrorKind::permanent, "parameter :" + parameter.name + ": " + why};
  }

  void run(std::size_t index, Context& context) {
    const StatementConfig& statement = config_.statements[index];
    try {
      context.sql().execute(statement.sql, parameters_, statement.expect_rows);
    } catch (const Error& error) {
      // Other failures are not this event's; nobody is helped by blaming its handler.
      if (error.kind() != ErrorKind::permanent && !error.contract_violation()) throw;
      // The runtime says which handler it was, and the store how the statement begins.
      throw Error{error.kind(), "statement " + std::to_string(index + 1) + ": " + error.what()};
    }
  }

  const HandlerConfig config_;
  std::vector<Slot> slots_;
  bool needs_data_ = false;
  JsonDocument document_;
  std::vector<Parameter> parameters_;  ///< Of the event in hand; kept for its memory.
};

}  // namespace

HandlerSpec sql_handler(const HandlerConfig& config) {
  auto handler = std::make_shared<SqlHandler>(config);
  return {.name = config.name,
          .type = config.type,
          .version = config.version,
          .entity = config.entity,
          .handle = [handler = std::move(handler)](const Event& event, Context& context) {
            return handler->handle(event, context);
          }};
}

Consumer sql_consumer(const ConsumerConfig& config) {
  Consumer consumer;
  consumer.name = config.name;
  consumer.batch_max = config.batch_max;
  consumer.attempts_max = config.attempts_max;
  consumer.unsupported = config.unsupported;
  consumer.claim_first = config.claim_first;
  for (const HandlerConfig& handler : config.handlers) consumer.on(sql_handler(handler));
  return consumer;
}

}  // namespace onefold
