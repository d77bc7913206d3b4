#include "onefold/lab/trial/advice.h"

#include <algorithm>

#include "onefold/lab/trial/trial_faults.h"

namespace onefold::lab {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool makes_ids_of_places(const TrialSpec& spec) {
  return std::ranges::any_of(spec.sources, &TrialSource::id_is_place);
}

}  // namespace

std::string advice_for(std::string_view kind, std::string_view cause, const TrialSpec& spec) {
  if (kind == "invariant") {
    return "The invariant has to hold after every commit, for that is what other readers see: "
           "change what belongs together in the handlers of one event, or let the invariant allow "
           "for what is still to come.";
  }
  if (kind == "liveness") return "The schedule does not come to its end: report it with its seed.";
  if (kind == "stopped") {
    return "A consumer stops here, and would in production: the message says what it needs.";
  }
  if (kind == "determinism") {
    return "Look for functions, loaded extensions or attached files that the statements use.";
  }
  const bool twice = has(cause, "is sent once more");
  if (twice && makes_ids_of_places(spec)) {
    return "The event was taken for two, because its id is made of its place in the file: choose "
           "an id that both copies have (identity.id), or a business key (key).";
  }
  if (!twice && order_is_free(spec)) {
    return "The result depends on the order in which events come, and nobody promises this order. "
           "Add instead of overwriting, or let the statement keep what is newer (WHERE version < "
           ":version).";
  }
  if (twice) {
    return "An event that came twice was not the same effect both times: give both copies one key "
           "(key, fingerprint_ignore).";
  }
  return "The result depends on where a batch ends or is run again: look for statements that read "
         "what other events have written.";
}

}  // namespace onefold::lab
