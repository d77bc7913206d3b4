#include "onefold/cli/lab_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "onefold/cli/json_text.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

std::string number(std::uint64_t count) {
  return grouped(static_cast<std::int64_t>(count));
}

/// "1,234 schedules of 6 events, 9 kinds of faults, ..."
std::string explored(const lab::TrialReport& report, std::uint64_t seed) {
  const auto kinds =
      std::ranges::count_if(report.faults, [](const auto& f) { return f.second > 0; });
  const double seconds = std::max(report.seconds, 1e-6);
  const auto rate = static_cast<std::int64_t>(static_cast<double>(report.schedules) / seconds);
  return counted(static_cast<std::int64_t>(report.schedules), "schedule") + " of " +
         counted(static_cast<std::int64_t>(report.events), "event") + ", " +
         counted(kinds, "kind") + " of faults, " + number(report.duplicates_before) +
         " duplicates before and " + number(report.duplicates_after) + " after commit, " +
         counted(static_cast<std::int64_t>(report.commits), "commit") + ", " +
         seconds_text(report.seconds) + " (" + grouped(rate) + " a second), seed " +
         std::to_string(seed);
}

std::string faults_text(const lab::TrialReport& report) {
  std::string text;
  for (const auto& [name, count] : report.faults) {
    text += (text.empty() ? "" : ", ") + number(count) + " " + name;
  }
  return text;
}

void print_failure(const lab::TrialFailure& failure, const std::string& replay_arguments) {
  print(failure.timeline + "\n" + emphasized("fails: " + failure.what) + "\n");
  for (const std::string& line : failure.differences) print("  " + line + "\n");
  print("cause: " + failure.cause + "\n");
  print("what to do: " + failure.advice + "\n");
  print("again: onefold lab replay " + failure.seed + replay_arguments + "\n");
}

void tell_notices(const std::vector<std::string>& notices) {
  for (const std::string& each : notices) note(each);
}

/// A kind that never came up has shown nothing.
void tell_missing(const lab::TrialReport& report) {
  std::vector<std::string> missing;
  for (const auto& [name, count] : report.faults) {
    if (count == 0) missing.push_back(name);
  }
  if (!missing.empty()) note("never came up, so that it was not tried: " + joined(missing));
}

Json failure_json(const std::optional<lab::TrialFailure>& failure) {
  if (!failure) return nullptr;
  Json timeline = Json::array();
  for (std::size_t at = 0; at < failure->timeline.size();) {
    const std::size_t end = std::min(failure->timeline.find('\n', at), failure->timeline.size());
    timeline.push_back(json_text(failure->timeline.substr(at, end - at)));
    at = end + 1;
  }
  Json differences = Json::array();
  for (const std::string& line : failure->differences) differences.push_back(json_text(line));
  return {{"kind", failure->kind},          {"what", json_text(failure->what)},
          {"seed", failure->seed},          {"cause", json_text(failure->cause)},
          {"choices", failure->deviations}, {"differences", differences},
          {"advice", failure->advice},      {"timeline", timeline}};
}

}  // namespace

void print_lab_report(const lab::TrialReport& report, std::uint64_t seed,
                      const std::string& replay_arguments) {
  tell_notices(report.notices);
  if (report.failure) {
    print_failure(*report.failure, replay_arguments);
    print("found by " + explored(report, seed) + "\n");
    return;
  }
  if (report.schedules == 0) return print("nothing was tried: it was stopped before\n");
  tell_missing(report);
  print(emphasized("converges") + ": " + explored(report, seed) + "\n");
  print("faults: " + faults_text(report) + "\n");
}

void print_lab_report_json(const lab::TrialReport& report, std::uint64_t seed) {
  Json object;
  object["verdict"] = report.failure          ? "fails"
                      : report.schedules == 0 ? "nothing tried"
                                              : "converges";
  object["schedules"] = report.schedules;
  object["events"] = report.events;
  object["steps"] = report.steps;
  object["commits"] = report.commits;
  object["duplicates_before_commit"] = report.duplicates_before;
  object["duplicates_after_commit"] = report.duplicates_after;
  object["faults"] = Json::object();
  for (const auto& [name, count] : report.faults) object["faults"][name] = count;
  object["seed"] = seed;
  object["seconds"] = std::round(report.seconds * 1000) / 1000;
  object["notices"] = report.notices;
  object["failure"] = failure_json(report.failure);
  print(dumped(object));
}

void print_lab_replay(const lab::TrialReplay& replay, const std::string& replay_arguments) {
  tell_notices(replay.notices);
  if (replay.failure) return print_failure(*replay.failure, replay_arguments);
  print(replay.timeline + "\n" + emphasized("fine") + ": this schedule ends as it has to\n");
}

void print_lab_replay_json(const lab::TrialReplay& replay) {
  Json object;
  object["verdict"] = replay.failure ? "fails" : "fine";
  object["notices"] = replay.notices;
  object["failure"] = failure_json(replay.failure);
  print(dumped(object));
}

}  // namespace onefold::cli
