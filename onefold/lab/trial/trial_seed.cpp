#include "onefold/lab/trial/trial_seed.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "onefold/formats/state_digest.h"
#include "onefold/lab/seed.h"

namespace onefold::lab {
namespace {

constexpr std::string_view format = "T1";
constexpr std::uint64_t choices_max = 20'000;
constexpr std::uint64_t days_max = 1'000'000;
constexpr std::size_t parts_count = 6;

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument{"\"" + std::string{text} +
                              "\" is no seed: it looks like T1:kept:e6:d20788:3fa2c1d0:7.2-13.1"};
}

std::uint64_t number_from(std::string_view text, std::string_view whole, std::uint64_t most,
                          int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size() || number > most) refuse(whole);
  return number;
}

void read_events(std::string_view part, std::string_view whole, TrialSeed& seed) {
  const std::size_t mark = std::min(part.find('x'), part.size());
  seed.events_max = number_from(part.substr(0, mark), whole, choices_max);
  if (mark == part.size()) return;
  for (const auto number : split_seed(part.substr(mark + 1), '.')) {
    seed.left_out.push_back(number_from(number, whole, choices_max));
  }
}

void read_schedule(std::string_view part, std::string_view whole, Schedule& schedule) {
  if (part == "0") return;
  for (const auto choice : split_seed(part, '-')) {
    const auto pair = split_seed(choice, '.');
    if (pair.size() != 2) refuse(whole);
    const std::size_t place = number_from(pair[0], whole, choices_max);
    if (schedule.size() <= place) schedule.resize(place + 1);
    schedule[place] = static_cast<std::uint8_t>(number_from(pair[1], whole, UINT8_MAX));
  }
}

}  // namespace

std::string to_text(const TrialSeed& seed) {
  std::string text =
      fmt::format("{}:{}:e{}", format, seed.any_order ? "any" : "kept", seed.events_max);
  for (std::size_t i = 0; i < seed.left_out.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "x" : ".", seed.left_out[i]);
  }
  text += fmt::format(":d{}:{:08x}:", seed.day, seed.digest);
  bool first = true;
  for (std::size_t i = 0; i < seed.schedule.size(); ++i) {
    if (seed.schedule[i] == 0) continue;
    text += fmt::format("{}{}.{}", first ? "" : "-", i, seed.schedule[i]);
    first = false;
  }
  return first ? text + "0" : text;
}

TrialSeed trial_seed_from(std::string_view text) {
  const auto parts = split_seed(text, ':');
  if (parts.size() != parts_count || parts[0] != format) refuse(text);
  if (parts[1] != "any" && parts[1] != "kept") refuse(text);
  if (!parts[2].starts_with('e') || !parts[3].starts_with('d')) refuse(text);
  TrialSeed seed{.any_order = parts[1] == "any"};
  read_events(parts[2].substr(1), text, seed);
  seed.day = static_cast<std::int64_t>(number_from(parts[3].substr(1), text, days_max));
  seed.digest = static_cast<std::uint32_t>(number_from(parts[4], text, UINT32_MAX, 16));
  read_schedule(parts[5], text, seed.schedule);
  return seed;
}

std::uint32_t digest_of(const TrialSpec& spec) {
  StateDigest digest;
  for (const TrialSource& source : spec.sources) {
    digest.add(source.source.name);
    for (const Delivery& delivery : source.deliveries) {
      digest.add(delivery.event.id);
      digest.add(delivery.raw);
    }
  }
  return static_cast<std::uint32_t>(digest.value());
}

}  // namespace onefold::lab
