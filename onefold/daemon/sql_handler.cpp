#include "onefold/daemon/sql_handler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/daemon/sql_result.h"
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

/// Times are UTC, with or without its letter.
Value time_value(std::string text, bool without_zone) {
  if (without_zone && text.ends_with('Z')) text.pop_back();
  return text;
}

Value builtin_value(std::string_view name, const Event& event, bool without_zone) {
  if (name == "event_id") return event.id;
  if (name == "event_source") return event.source;
  if (name == "event_type") return event.type;
  if (name == "event_subject") return text_or_null(event.subject);
  if (name == "event_time") {
    return event.time ? time_value(format_rfc3339(*event.time), without_zone) : Value{Null{}};
  }
  return data_value(event);
}

class SqlHandler {
 public:
  explicit SqlHandler(const HandlerConfig& config) : config_{config} {
    for (const StatementConfig& statement : config_.statements) {
      for (const std::string& name : statement.parameters) use(name);
    }
    for (const ResultField& field : config_.result) {
      if (field.column) {
        returns_row_ = true;
      } else {
        use(field.parameter);
      }
    }
  }

  Answer handle(const Event& event, Context& context) {
    try {
      read(event);
    } catch (const Error& error) {
      // An answer, not an exception: nothing has been executed that would have to be undone.
      if (error.kind() != ErrorKind::permanent) throw;
      return Answer::fail(FailureClass::data, error.what());
    }
    const std::size_t last = config_.statements.size() - 1;
    for (std::size_t i = 0; i < last; ++i) run(i, context);
    if (returns_row_) {
      attempt(last, [&] { query(config_.statements[last], context); });
    } else {
      run(last, context);
    }
    if (config_.result.empty()) return Answer::done();
    return Answer::done(result_text(config_, parameters_, row_));
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
      parameters_.push_back(
          {slot.name, slot.definition == nullptr
                          ? builtin_value(slot.name, event, config_.times_without_zone)
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
      if (auto value = extract(document_.root(), parameter.at, parameter.type)) {
        if (parameter.type != FieldType::timestamp) return *value;
        return time_value(std::get<std::string>(*value), config_.times_without_zone);
      }
      if (!parameter.required) return Null{};
      why = "there is no value at \"" + parameter.at + "\", and it is required";
    } catch (const Error& error) {
      why = error.what();
    }
    throw Error{ErrorKind::permanent, "parameter :" + parameter.name + ": " + why};
  }

  void run(std::size_t index, Context& context) {
    const StatementConfig& statement = config_.statements[index];
    attempt(index,
            [&] { context.sql().execute(statement.sql, parameters_, statement.expect_rows); });
  }

  /// The last statement, for the sake of its row. As many rows are returned as are changed.
  void query(const StatementConfig& statement, Context& context) {
    Rows rows = context.sql().query(statement.sql, parameters_);
    if (rows.size() != 1) {
      throw Error{ErrorKind::permanent,
                  "expected 1 row for the result, got " + std::to_string(rows.size()) + ": " +
                      sql_beginning(statement.sql),
                  FailureClass::rows};
    }
    row_ = std::move(rows.front());
    if (row_.size() == statement.returning.size()) return;
    throw Error{ErrorKind::bad_configuration,
                "the database returns " + std::to_string(row_.size()) +
                    " columns, where the text of the statement names " +
                    std::to_string(statement.returning.size()) + ": " +
                    sql_beginning(statement.sql)};
  }

  template <typename Work>
  static void attempt(std::size_t index, Work work) {
    try {
      work();
    } catch (const Error& error) {
      // Other failures are not this event's; nobody is helped by blaming its handler.
      if (error.kind() != ErrorKind::permanent && !error.contract_violation()) throw;
      // The runtime says which handler it was, and the store how the statement begins.
      throw Error{error.kind(), "statement " + std::to_string(index + 1) + ": " + error.what(),
                  error.failure()};
    }
  }

  const HandlerConfig config_;
  std::vector<Slot> slots_;
  bool needs_data_ = false;
  bool returns_row_ = false;  ///< The last statement, and the result needs it.
  JsonDocument document_;
  // Of the event in hand; kept for their memory.
  std::vector<Parameter> parameters_;
  std::vector<Value> row_;
};

bool has_business_key(const std::vector<KeySpec>& keys) {
  return std::ranges::any_of(keys, [](const KeySpec& key) { return !key.rule.empty(); });
}

}  // namespace

HandlerSpec sql_handler(const HandlerConfig& config) {
  auto handler = std::make_shared<SqlHandler>(config);
  HandlerSpec spec;
  spec.name = config.name;
  spec.type = config.type;
  spec.version = config.version;
  spec.entity = config.entity;
  spec.keys = config.keys;
  spec.retry = config.retry;
  spec.handle = [handler = std::move(handler)](const Event& event, Context& context) {
    return handler->handle(event, context);
  };
  return spec;
}

Consumer sql_consumer(const ConsumerConfig& config) {
  Consumer consumer;
  consumer.name = config.name;
  consumer.batch_max = config.batch_max;
  consumer.retry = config.retry;
  consumer.breaker = config.breaker;
  consumer.crashes_max = config.crashes_max;
  consumer.order = config.order;
  consumer.unsupported = config.unsupported;
  consumer.claim = config.claim;
  consumer.keys = config.keys;
  consumer.scope = config.scope;
  consumer.fingerprint = config.fingerprint;
  for (const HandlerConfig& handler : config.handlers) {
    HandlerSpec spec = sql_handler(handler);
    if (has_business_key(spec.keys.empty() ? config.keys : spec.keys)) {
      // Another event of the same payment differs in id and time: only what the handler reads of it
      // must be the same (semantics 1.4).
      for (const ParameterConfig& each : handler.parameters) spec.fingerprint_of.push_back(each.at);
    }
    consumer.on(std::move(spec));
  }
  return consumer;
}

}  // namespace onefold
