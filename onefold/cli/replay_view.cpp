#include "onefold/cli/replay_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "onefold/cli/replay_range.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/replay_text.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

std::string line(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  std::string padded{label};
  padded.resize(13, ' ');
  return padded + text + "\n";
}

/// Of which something has become.
std::int64_t settled(const ReplayRecord& replay) noexcept {
  return replay.is_of_range() ? replay.due : replay.applied + replay.failed + replay.gone;
}

/// Until it ends: those that are not settled yet. Rows that left before their turn count too, as
/// nobody knows of them before.
std::int64_t remaining(const ReplayRecord& replay) noexcept {
  return has_ended(replay) || replay.is_of_range() ? 0 : replay.selected - settled(replay);
}

double elapsed_seconds(const ReplayRecord& replay, Timestamp now) {
  const auto elapsed = replay.ended_at.value_or(now) - replay.started_at;
  return std::max(0.0, std::chrono::duration<double>(elapsed).count());
}

/// Settled so far, on average.
double events_per_second(const ReplayRecord& replay, Timestamp now) {
  const double seconds = elapsed_seconds(replay, now);
  return seconds > 0 ? static_cast<double>(settled(replay)) / seconds : 0;
}

/// Absent while nothing tells.
std::optional<std::int64_t> seconds_left(const ReplayRecord& replay, Timestamp now) {
  const double rate = events_per_second(replay, now);
  const bool is_known = replay.state == ReplayState::running && !replay.is_of_range();
  if (!is_known || !(rate > 0)) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(remaining(replay)) / rate));
}

std::string duration_words(std::int64_t seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  if (seconds < minute) return std::to_string(seconds) + " s";
  if (seconds < hour) {
    return std::to_string(seconds / minute) + " min " + std::to_string(seconds % minute) + " s";
  }
  return grouped(seconds / hour) + " h " + std::to_string(seconds % hour / minute) + " min";
}

std::string state_text(const ReplayRecord& replay) {
  std::string text = to_string(replay.state);
  if (!replay.note.empty()) text += ": " + printable(replay.note, 500);
  return text;
}

std::string counts_of_range(const ReplayRecord& replay) {
  return line("received", grouped(replay.due)) + line("applied", grouped(replay.applied)) +
         line("duplicate", grouped(replay.duplicate)) + line("stale", grouped(replay.stale)) +
         line("deferred", grouped(replay.deferred)) +
         line("dead", grouped(replay.failed - replay.conflict)) +
         line("conflict", grouped(replay.conflict)) + line("ignored", grouped(replay.ignored));
}

std::string counts_text(const ReplayRecord& replay) {
  if (replay.is_of_range()) return counts_of_range(replay);
  return line("selected", grouped(replay.selected) + "; what came later is no part of it") +
         line("made due", grouped(replay.due)) + line("applied", grouped(replay.applied)) +
         line("failed again", grouped(replay.failed)) +
         line("gone", grouped(replay.gone) + (replay.gone == 0 ? "" : ", settled by a person")) +
         line("skipped",
              grouped(replay.skipped()) + (has_ended(replay) ? "" : "; known when it has ended")) +
         line("open", grouped(replay.open()));
}

std::string pace_text(const ReplayRecord& replay, Timestamp now) {
  const auto rate = static_cast<std::int64_t>(std::llround(events_per_second(replay, now)));
  std::string pace = grouped(rate) + " events a second";
  pace += replay.rate == 0 ? "" : ", at most " + grouped(replay.rate);
  const auto left = seconds_left(replay, now);
  return line("pace", pace) +
         line("ramp", replay.ramp.empty() ? "none" : text_of_ramp(replay.ramp)) +
         line("elapsed", duration_words(std::llround(elapsed_seconds(replay, now)))) +
         line("to go", left ? "about " + duration_words(*left) : "");
}

}  // namespace

bool has_ended(const ReplayRecord& replay) noexcept {
  return replay.state == ReplayState::done || replay.state == ReplayState::cancelled;
}

std::string selection_text(const ReplayRecord& replay) {
  return replay.is_of_range() ? range_text(replay.consumer, replay.range)
                              : filter_text(replay.filter);
}

std::string replay_text(const ReplayRecord& replay, Timestamp now) {
  std::string text = line("replay", printable(replay.id));
  text += line("state", state_text(replay));
  text += line("events", selection_text(replay));
  text += line("started", format_rfc3339(replay.started_at) + " by " + printable(replay.who) +
                              ": " + printable(replay.reason, 500));
  if (replay.ended_at) text += line("ended", format_rfc3339(*replay.ended_at));
  return text + counts_text(replay) + pace_text(replay, now);
}

Json replay_json(const ReplayRecord& replay, Timestamp now) {
  Json json;
  json["id"] = json_text(replay.id);
  json["state"] = to_string(replay.state);
  json["note"] = json_text(replay.note);
  json["consumer"] = json_text(replay.consumer);
  json["filter"] = json_text(selection_text(replay));
  json["range"] = range_json(replay.range);
  json["up_to"] = replay.up_to;
  json["selected"] = replay.selected;
  json["due"] = replay.due;
  json["applied"] = replay.applied;
  json["failed"] = replay.failed;
  json["gone"] = replay.gone;
  json["skipped"] = replay.skipped();
  json["open"] = replay.open();
  json["duplicate"] = replay.duplicate;
  json["stale"] = replay.stale;
  json["deferred"] = replay.deferred;
  json["conflict"] = replay.conflict;
  json["ignored"] = replay.ignored;
  json["rate"] = replay.rate;
  json["ramp"] = replay.ramp;
  json["started_at"] = json_time(replay.started_at);
  json["ended_at"] = json_time(replay.ended_at);
  json["elapsed_seconds"] = std::round(elapsed_seconds(replay, now) * 1000) / 1000;
  json["events_per_second"] = std::round(events_per_second(replay, now) * 1000) / 1000;
  const auto left = seconds_left(replay, now);
  json["seconds_left"] = left ? Json(*left) : Json(nullptr);
  json["who"] = json_text(replay.who);
  json["reason"] = json_text(replay.reason);
  return json;
}

const std::vector<ListColumn>& replay_columns() {
  constexpr auto right = Table::Align::right;
  static const std::vector<ListColumn> columns{{.name = "id"},
                                               {.name = "state"},
                                               {.name = "consumer", .width_max = 24},
                                               {.name = "selected", .align = right},
                                               {.name = "due", .align = right},
                                               {.name = "applied", .align = right},
                                               {.name = "failed", .align = right},
                                               {.name = "gone", .align = right},
                                               {.name = "skipped", .align = right},
                                               {.name = "open", .align = right},
                                               {.name = "duplicate", .in_table = false},
                                               {.name = "stale", .in_table = false},
                                               {.name = "deferred", .in_table = false},
                                               {.name = "conflict", .in_table = false},
                                               {.name = "ignored", .in_table = false},
                                               {.name = "started_at"},
                                               {.name = "ended_at", .in_table = false},
                                               {.name = "filter", .in_table = false},
                                               {.name = "who", .in_table = false},
                                               {.name = "reason"},
                                               {.name = "note", .in_table = false}};
  return columns;
}

std::string replay_progress(const ReplayRecord& replay, Timestamp now) {
  if (replay.is_of_range()) {
    return std::string{to_string(replay.state)} + "  " + grouped(replay.due) + " read again  " +
           grouped(replay.applied) + " applied, " + grouped(replay.failed) + " failed";
  }
  const std::int64_t all = std::max<std::int64_t>(replay.selected, 1);
  std::string text = std::string{to_string(replay.state)} + "  " + grouped(settled(replay)) +
                     " of " + grouped(replay.selected) + " (" +
                     std::to_string(settled(replay) * 100 / all) + " %)  " +
                     grouped(replay.applied) + " applied, " + grouped(replay.failed) + " failed";
  if (const auto left = seconds_left(replay, now)) text += "  " + duration_words(*left) + " to go";
  return text;
}

std::string filter_text(const DeferredFilter& filter) {
  std::string text = "consumer " + printable(filter.consumer);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string{", "} + name + " " + printable(value);
  };
  add("kind", filter.reason);
  add("class", filter.failure);
  add("handler", filter.handler);
  add("type", filter.event_type);
  add("source", filter.source);
  if (filter.since) text += ", since " + format_rfc3339(*filter.since);
  return text;
}

}  // namespace onefold::cli
