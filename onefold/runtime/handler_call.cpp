#include "onefold/runtime/handler_call.h"

#include <exception>
#include <string>
#include <utility>

#include "onefold/error.h"

namespace onefold {
namespace {

std::vector<Answer> call(std::span<const Event* const> events, const HandlerSpec& handler,
                         Context& context) {
  if (!handler.handle_batch) return {handler.handle(*events.front(), context)};
  std::vector<Answer> answers = handler.handle_batch(events, context);
  if (answers.empty()) answers.resize(events.size());
  if (answers.size() != events.size()) {
    throw Error{ErrorKind::bad_configuration,
                "handler '" + handler.name + "' gave " + std::to_string(answers.size()) +
                    " answers for " + std::to_string(events.size()) +
                    " events: it must give one for each, or none at all if all are done"};
  }
  return answers;
}

}  // namespace

Answer answer_to(const Event& event, const HandlerSpec& handler, Context& context) {
  const Event* const alone = &event;
  try {
    return std::move(call({&alone, 1}, handler, context).front());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::permanent) throw;
    return Answer::fail(error.failure(), error.what());
  } catch (const Interruption&) {
    throw;
  } catch (const std::exception& error) {
    return Answer::retry(std::string{"the handler threw: "} + error.what());
  } catch (...) {
    return Answer::retry("the handler threw something that is no std::exception");
  }
}

std::optional<std::vector<Answer>> answers_to(std::span<const Event* const> events,
                                              const HandlerSpec& handler, Context& context) {
  try {
    return call(events, handler, context);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::permanent) throw;
    return {};
  } catch (const Interruption&) {
    throw;
  } catch (...) {
    return {};  // A rerun asks again for each event, and keeps what is thrown then.
  }
}

}  // namespace onefold
