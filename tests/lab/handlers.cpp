#include "tests/lab/handlers.h"

#include "onefold/error.h"
#include "onefold/formats/fields.h"

namespace onefold::lab::worlds {
namespace {

constexpr std::string_view update_cell =
    "UPDATE cell SET amount = amount + :amount WHERE name = :name";

void add(Context& context, std::int64_t amount, const std::string& cell) {
  context.sql().execute(update_cell, {{"amount", amount}, {"name", cell}}, 1);
}

}  // namespace

Answer credit(const Event& event, Context& context) {
  add(context, Fields{event}.int64("/n"), event.subject);
  return Answer::done();
}

Answer replace(const Event& event, Context& context) {
  context.sql().execute("UPDATE cell SET amount = :amount WHERE name = :name",
                        {{"amount", Fields{event}.int64("/n")}, {"name", event.subject}}, 1);
  return Answer::done();
}

Answer credit_and_regret(const Event& event, Context& context) {
  credit(event, context);
  return Answer::reject("it should not have been");
}

std::vector<Answer> credit_together(std::span<const Event* const> events, Context& context) {
  std::vector<Answer> answers;
  for (const Event* event : events) {
    const bool refused = event->subject == "none";
    answers.push_back(refused ? Answer::reject("there is no such cell") : credit(*event, context));
  }
  return answers;
}

Answer count_most(const Event& event, Context& context) {
  add(context, 1, event.subject == "B" ? "no such cell" : "C");
  return Answer::done("counted");
}

Answer reject(const Event& /*event*/, Context& /*context*/) {
  return Answer::reject("it will never do");
}

Answer ask_for_retries(const Event& /*event*/, Context& /*context*/) {
  return Answer::retry("not yet");
}

namespace {

bool has_b(Context& context) {
  const Rows rows =
      context.sql().query("SELECT amount FROM cell WHERE name = :name", {{"name", "B"}});
  return std::get<std::int64_t>(rows.front().front()) > 0;
}

}  // namespace

Answer credit_after_b(const Event& event, Context& context) {
  return has_b(context) ? credit(event, context) : Answer::retry("there is nothing in B yet");
}

Answer credit_and_ask_for_b(const Event& event, Context& context) {
  credit(event, context);
  return has_b(context) ? Answer::done() : Answer::retry("there is nothing in B yet");
}

Answer replace_after_b(const Event& event, Context& context) {
  return has_b(context) ? replace(event, context) : Answer::retry("there is nothing in B yet");
}

Answer swallow_a_failure(const Event& event, Context& context) {
  add(context, Fields{event}.int64("/n"), event.subject);
  try {
    context.sql().change(update_cell, {{"amount", 1}});
  } catch (const Error&) {
    return Answer::done();  // A parameter was missing, and it makes nothing of it.
  }
  return Answer::done();
}

Answer break_the_contract(const Event& event, Context& context) {
  credit(event, context);
  throw Error{ErrorKind::contract_violation, "the handler has ended the transaction"};
}

}  // namespace onefold::lab::worlds
